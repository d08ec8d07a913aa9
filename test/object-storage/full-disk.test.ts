import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { ConnectError } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test } from "vitest";

import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { eventually } from "../support/eventually.ts";
import { canMount, fillDisk, smallDisk } from "../support/small-disk.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import type { ObjectStorageService } from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { ServiceProcess } from "../support/service-process.ts";
import { startProcess } from "./harness.ts";

type Service = ServiceProcess<typeof ObjectStorageService>;

const mebibyte = 1024 * 1024;
const settings = { QUARTET_OBJECT_STORAGE_FREE_MEBIBYTES_MIN: "48" };

/** Content that differs from object to object, from within a record to several blobs' worth of chunks. */
const contentOf = (number: number): Buffer =>
  Buffer.alloc([20_000, 300_000, 4 * mebibyte][number % 3] as number, `${number}.`);

async function* messages(key: string, content: Buffer) {
  yield { bucket: "photos", key };
  for (let at = 0; at < content.length; at += 65_536) yield { body: content.subarray(at, at + 65_536) };
}

const put = (service: Service, number: number) =>
  service.client.putObject(messages(`object-${number}`, contentOf(number)));

const reasonOf = (answer: Promise<unknown>): Promise<string | undefined> =>
  answer.then(
    () => undefined,
    (error: unknown) => ConnectError.from(error).findDetails(ErrorInfoSchema)[0]?.reason ?? String(error),
  );

const isWhole = async (service: Service, number: number): Promise<boolean> => {
  const pieces: Uint8Array[] = [];
  for await (const { body } of service.client.getObject({ bucket: "photos", key: `object-${number}` }))
    pieces.push(body);
  return Buffer.concat(pieces).equals(contentOf(number));
};

/** Puts objects until one is refused; returns how many were stored, and the refusal. */
const putUntilRefused = async (service: Service) => {
  for (let stored = 0; ; stored += 1) {
    const reason = await reasonOf(put(service, stored));
    if (reason !== undefined) return { stored, reason };
  }
};

const remove = (service: Service, number: number) =>
  service.client.deleteObject({ bucket: "photos", key: `object-${number}` });

describe.skipIf(!canMount())("when the disk is full", () => {
  test.each([
    // whose disk    it holds the data, the log    a put is refused with
    ["of the data", true, false, "STORAGE_FULL"],
    ["of the log", false, true, undefined],
    ["of both", true, true, "STORAGE_FULL"],
  ])(
    "%s, reads and deletions are served, and puts once there is room",
    async (_which, holdsData, holdsLog, refusal) => {
      const disk = await smallDisk(192);
      const dataDir = holdsData ? join(disk, "data") : await temporaryDirectory();
      const logFile = join(holdsLog ? disk : await temporaryDirectory(), "log");
      const output = openSync(logFile, "a");
      onTestFinished(() => closeSync(output));
      const service = await startProcess(dataDir, { settings, output });
      await service.client.createBucket({ bucket: "photos" });
      for (let number = 0; number < 6; number += 1) await put(service, number);
      const filling = await fillDisk(disk);

      expect(await reasonOf(put(service, 6))).toBe(refusal);
      for (let number = 0; number < 6; number += 1) expect(await isWhole(service, number)).toBe(true);
      for (const number of [0, 1, 2])
        await eventually(() => remove(service, number).then(() => true), "a deletion is served");
      expect(await reasonOf(isWhole(service, 0))).toBe("NO_SUCH_KEY");
      expect(service.hasEnded()).toBe(false);

      await filling.remove();
      await eventually(() => put(service, 6).then(() => true), "there is room again");
      for (const number of [3, 4, 5, 6]) expect(await isWhole(service, number)).toBe(true);
      const lines = await eventually(async () => {
        const text = await readFile(logFile, "utf8");
        return text.includes("PutObject") && text.endsWith("\n") && text.trim().split("\n");
      }, "the log has lines again");
      for (const line of lines) expect(() => JSON.parse(line) as unknown).not.toThrow();
      expect(service.hasEnded()).toBe(false);
    },
  );

  test("uploads fill it to the limit and no further, and none that was answered is lost", async () => {
    const disk = await smallDisk(160);
    const service = await startProcess(join(disk, "data"), { settings });
    await service.client.createBucket({ bucket: "photos" });
    const outcomes = await Promise.all([putUntilRefused(service), putUntilRefused(service), putUntilRefused(service)]);
    expect(outcomes.map(({ reason }) => reason)).toEqual(["STORAGE_FULL", "STORAGE_FULL", "STORAGE_FULL"]);
    const stored = Math.max(...outcomes.map((outcome) => outcome.stored));
    expect(stored).toBeGreaterThan(10);
    for (let number = 0; number < stored; number += 1) expect(await isWhole(service, number)).toBe(true);
    for (let number = 0; number < stored; number += 1) await remove(service, number);
    const { contents } = await service.client.listObjectsV2({ bucket: "photos" });
    expect(contents).toEqual([]);
    expect(service.hasEnded()).toBe(false);
  });

  test("without a ballast, what the database has no room for is refused, and the service goes on", async () => {
    const disk = await smallDisk(160);
    const options = { settings: { ...settings, QUARTET_OBJECT_STORAGE_BALLAST_MEBIBYTES: "0" } };
    const service = await startProcess(join(disk, "data"), options);
    await service.client.createBucket({ bucket: "photos" });
    await put(service, 0);
    const filling = await fillDisk(disk);
    expect(await reasonOf(remove(service, 0))).toBe("STORAGE_FULL");
    expect(await isWhole(service, 0)).toBe(true);
    await filling.remove();
    await eventually(() => remove(service, 0).then(() => true), "there is room again");
    expect(service.hasEnded()).toBe(false);
  });

  test("a service that was killed starts again, reads and deletes", async () => {
    const disk = await smallDisk(160);
    const dataDir = join(disk, "data");
    const first = await startProcess(dataDir, { settings });
    await first.client.createBucket({ bucket: "photos" });
    for (let number = 0; number < 6; number += 1) await put(first, number);
    await first.kill();
    const filling = await fillDisk(disk);

    const second = await startProcess(dataDir, { settings });
    for (let number = 0; number < 6; number += 1) expect(await isWhole(second, number)).toBe(true);
    expect(await reasonOf(put(second, 6))).toBe("STORAGE_FULL");
    await remove(second, 0);
    expect(await reasonOf(isWhole(second, 0))).toBe("NO_SUCH_KEY");
    await filling.remove();
    await eventually(() => put(second, 6).then(() => true), "there is room again");
  });
});
