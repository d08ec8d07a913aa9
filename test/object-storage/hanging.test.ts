import { setTimeout as pause } from "node:timers/promises";

import { ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";

import { temporaryDirectory } from "../support/temporary-directory.ts";
import { startProcess } from "./harness.ts";

type ObjectStorageProcess = Awaited<ReturnType<typeof startProcess>>;

async function* messages(key: string, size: number) {
  yield { bucket: "photos", key };
  for (let at = 0; at < size; at += 65_536) yield { body: Buffer.alloc(Math.min(65_536, size - at), 1) };
}

const keysOf = async (service: ObjectStorageProcess): Promise<(string | undefined)[]> =>
  (await service.client.listObjectsV2({ bucket: "photos" })).contents.map(({ key }) => key);

const start = async (): Promise<ObjectStorageProcess> => {
  const service = await startProcess(await temporaryDirectory());
  await service.client.createBucket({ bucket: "photos" });
  await service.client.putObject(messages("kept", 4));
  return service;
};

/** How long callers wait. Longer than the store notices as a pause. */
const patienceMs = 2_500;

/** Stops the process, calls it, and lets it go on when the caller has given up; resolves with the caller's error. */
const callWhilePaused = async (service: ObjectStorageProcess, call: () => Promise<unknown>): Promise<string> => {
  service.pause();
  const outcome = await call().then(
    () => "answered",
    (error: unknown) => ConnectError.from(error).code.toString(),
  );
  service.resume();
  // Two writes in a row are answered only after everything that arrived before was carried out or refused.
  for (const key of ["later", "latest"]) await service.client.putObject(messages(key, 200_000));
  return outcome;
};

const deadlineExceeded = "4";
const canceled = "1";

test("a deletion that was told as failed is not carried out when the process goes on", async () => {
  const service = await start();
  const deleting = () => service.client.deleteObject({ bucket: "photos", key: "kept" }, { timeoutMs: patienceMs });
  expect(await callWhilePaused(service, deleting)).toBe(deadlineExceeded);
  expect(await keysOf(service)).toEqual(["kept", "later", "latest"]);
});

test.each([
  ["in the database", 4],
  ["in a file", 300_000],
])("an upload stored %s whose caller left is not carried out when the process goes on", async (_where, size) => {
  const service = await start();
  const leaving = new AbortController();
  const uploading = async () => {
    const upload = service.client.putObject(messages("lost", size), { signal: leaving.signal });
    await pause(patienceMs);
    leaving.abort();
    return upload;
  };
  expect(await callWhilePaused(service, uploading)).toBe(canceled);
  expect(await keysOf(service)).toEqual(["kept", "later", "latest"]);
});
