import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";

import { ExportRecordsResponseSchema } from "../../../gen/quartet/kit/backup/v1/backup_service_pb.ts";
import type { ExportRecordsResponse } from "../../../gen/quartet/kit/backup/v1/backup_service_pb.ts";
import type { BackedUpProcess } from "../../../services/kit/backup/backup-part.ts";
import { backUpPart } from "../../../services/kit/backup/backup-part.ts";
import { encodeEntry, recordFileEnd, recordFileStart } from "../../../services/kit/backup/record-file.ts";
import type { StoredData } from "../../../services/kit/backup/stored-data.ts";
import { eventually } from "../../support/eventually.ts";
import { openFilesBelow } from "../../support/open-files.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const entry = { key: "\u0000\u0001a", payload: Buffer.from("two litres") };
const records = Buffer.concat([recordFileStart(), encodeEntry(entry), recordFileEnd(1)]);
const message = (chunk: Buffer, isComplete: boolean, damagedKeys: Uint8Array[] = []): ExportRecordsResponse =>
  create(ExportRecordsResponseSchema, { chunk, isComplete, damagedKeys });

type Content = StoredData["content"];
type Export = (request: unknown, options: { readonly signal: AbortSignal }) => AsyncGenerator<ExportRecordsResponse>;

/** Backs a process up whose export is this; its record refers to the file `shelf/milk`. */
const backUp = async (exported: Export, content?: Content) => {
  const base = await temporaryDirectory();
  for (const name of ["from/shelf", "snapshot"]) mkdirSync(join(base, name), { recursive: true });
  writeFileSync(join(base, "from/shelf/milk"), "milk");
  const source = {
    name: "dairy",
    directory: join(base, "from"),
    stored: { layout: [], ...(content && { content }) },
    client: { exportRecords: exported } as unknown as BackedUpProcess["client"],
    token: async () => "token",
  };
  const [snapshot, pool, stage] = ["snapshot", "pool", "stage"].map((name) => join(base, name)) as [
    string,
    string,
    string,
  ];
  const task = { verb: "backup", snapshot, pool, stage, isLinked: false } as const;
  const reports: string[] = [];
  return { base, reports, done: backUpPart(task, source, (progress) => reports.push(progress)) };
};

const whole = async function* () {
  yield message(records.subarray(0, 30), false);
  yield message(records.subarray(30), true, [Buffer.from([1, 0xab])]);
};

test("the records of a process are written as it exports them, and damaged ones are named", async () => {
  const { base, reports, done } = await backUp(whole);
  expect(await done).toEqual({
    format: 1,
    records: 1,
    recordBytes: records.byteLength,
    files: 0,
    fileBytes: 0,
    newFiles: 0,
    damages: [{ subject: "record 01ab", reason: "the record is damaged" }],
  });
  expect(readFileSync(join(base, "snapshot/dairy.records"))).toEqual(records);
  expect([reports, openFilesBelow(base)]).toEqual([["1 records, 0.0 MiB"], []]);
});

test("a process that ends before its records are complete fails its backup", async () => {
  const { base, done } = await backUp(async function* () {
    yield message(records, false);
  });
  await expect(done).rejects.toThrow("dairy ended before its records were complete");
  expect(openFilesBelow(base)).toEqual([]);
});

test("a process whose records are not complete although it says so fails its backup", async () => {
  const { done } = await backUp(async function* () {
    yield message(records.subarray(0, 30), true);
  });
  await expect(done).rejects.toThrow("it was cut off after 0 records");
});

/** Content of which the check of a file waits. */
const heldContent = () => {
  const gate = Promise.withResolvers<void>();
  const state = { checks: 0 };
  const content: Content = {
    fileOf: () => ({ path: "shelf/milk", sizeBytes: 4 }),
    openCheck: async () => () => {
      state.checks += 1;
      return gate.promise;
    },
  };
  return { content, state, release: () => gate.resolve() };
};

test("content is copied while the process keeps it, until its call is ended", async () => {
  const { content, state, release } = heldContent();
  const { base, done } = await backUp(async function* (_request, { signal }) {
    yield* whole();
    await once(signal, "abort");
    throw signal.reason;
  }, content);
  await eventually(() => state.checks === 1, "the file is checked");
  release();
  expect(await done).toMatchObject({ files: 1, fileBytes: 4, newFiles: 1 });
  expect(readFileSync(join(base, "pool/shelf/milk"), "utf8")).toBe("milk");
});

test("a process that ends while its content is copied fails its backup", async () => {
  const { content, state, release } = heldContent();
  const ended = Promise.withResolvers<void>();
  const { done } = await backUp(async function* () {
    yield* whole();
    await ended.promise;
  }, content);
  await eventually(() => state.checks === 1, "the file is checked");
  ended.resolve();
  setImmediate(release);
  await expect(done).rejects.toThrow("the process ended while its content was copied");
});
