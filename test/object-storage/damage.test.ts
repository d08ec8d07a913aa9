import { randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";

import { Level } from "level";
import { expect, onTestFinished, test } from "vitest";

import { ServerSideEncryption } from "../../gen/quartet/objectstorage/v1/encryption_pb.ts";
import { systemClock } from "../../services/kit/clock/clock.ts";
import { openStore } from "../../services/kit/store/store.ts";
import type { KeyTuple, Table } from "../../services/kit/store/table.ts";
import { accessLogs } from "../../services/object-storage/store/access-logs.ts";
import {
  blobs,
  counts,
  finishedUploadTimes,
  lifecycleProgress,
  parts,
  quarantine,
  scrubProgress,
  versions,
  wrappingKeys,
} from "../../services/object-storage/store/layout.ts";
import { openAmounts } from "../../services/object-storage/store/stored-amounts.ts";
import { sweepBlobs } from "../../services/object-storage/work/blob-sweep.ts";
import { expireFinishedUploads } from "../../services/object-storage/work/finished-upload-expiry.ts";
import { scrubPace } from "../../services/object-storage/work/scrub-pace.ts";
import { FoundDamages, scrubRecords } from "../../services/object-storage/work/scrub-records.ts";
import { openScrub } from "../../services/object-storage/work/scrub.ts";
import { storedWrappingKeys } from "../../services/object-storage/work/wrapping-key-rewrap.ts";
import { damageStoredRecord } from "../support/damaged-record.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import type { Harness } from "./harness.ts";
import { alice, as, get, put, refusalOf, startHarness, startWithBucket } from "./harness.ts";
import { sendPart, startUpload } from "./multipart.ts";
import { amounts, shown } from "./support/amounts.ts";
import { damageRecord } from "./support/damage.ts";

const cat = { bucket: "photos", key: "cat.jpg" };
const dog = { bucket: "photos", key: "dog.jpg" };
const dayMs = 24 * 60 * 60 * 1000;
const going = new AbortController().signal;

const keysIn = <K extends KeyTuple>({ opened }: Harness, table: Table<K>): Promise<K[]> =>
  opened.app.store.read(async (reader) => (await reader.list(table, { limit: 10 })).map(({ key }) => key));

test("a damaged record of a blob keeps its file, and those that are not needed are swept", async () => {
  const clock = new FakeClock();
  const first = await startWithBucket({ clock });
  await put(first, cat, randomBytes(300_000));
  const [kept] = await keysIn(first, blobs);
  await put(first, dog, randomBytes(300_000));
  await first.client.deleteObject(dog, as(alice));
  const harness = await damageRecord(first, blobs, kept as [string], { clock });
  clock.advance(2 * dayMs);
  expect(await sweepBlobs(harness.opened.sweep)).toEqual({ unreferencedRemoved: 1, orphansRemoved: 0, missing: [] });
  const files = await readdir(harness.blobsDirectory, { recursive: true });
  expect(files.filter((name) => name.length > 2)).toEqual([join(kept![0].slice(0, 2), kept![0])]);
});

test("a damaged entry of the list of damages keeps neither the start nor the check from going on", async () => {
  const first = await startWithBucket();
  await first.opened.app.store.transact((transaction) =>
    transaction.put(quarantine, ["blob/ab"], { reason: "its file is missing", foundMs: 1n, seenMs: 1n }),
  );
  const harness = await damageRecord(first, quarantine, ["blob/ab"]);
  const scrub = await openScrub({
    ...harness.opened.scrub,
    intervalMs: 0,
    bytesPerSecond: Number.POSITIVE_INFINITY,
  });
  expect(scrub.stats().quarantined).toBe(1);
  await scrub.run(going);
  await scrub.run(going);
  expect(await keysIn(harness, quarantine)).toEqual([]);
});

test("a damaged note of how far the check is begins another round instead of ending all checks", async () => {
  const first = await startWithBucket();
  await first.opened.app.store.transact((transaction) =>
    transaction.put(scrubProgress, ["scrub"], { roundBeganMs: 5n, nextStep: 3 }),
  );
  const harness = await damageRecord(first, scrubProgress, ["scrub"]);
  const scrub = await openScrub({
    ...harness.opened.scrub,
    intervalMs: 0,
    bytesPerSecond: Number.POSITIVE_INFINITY,
  });
  await scrub.run(going);
  const progress = await harness.opened.app.store.read((reader) => reader.get(scrubProgress, ["scrub"]));
  expect(progress?.nextStep).toBe(257);
});

test("of many damages 100,000 of a step are listed, and the others counted", () => {
  const found = new FoundDamages();
  for (let count = 0; count < 100_003; count += 1) found.add(`blob/${count}`, "its file is missing");
  expect([found.listed.length, found.listed.at(-1)?.subject, found.unlistedCount]).toEqual([100_000, "blob/99999", 3]);
});

test("a damaged wrapping key takes its content away, and not that of the others", async () => {
  const first = await startWithBucket();
  await put(first, cat, "a");
  await put(first, { ...dog, serverSideEncryption: ServerSideEncryption.KMS }, "b");
  const harness = await damageRecord(first, wrappingKeys, ["managed"]);
  expect((await get(harness, cat)).body.toString()).toBe("a");
  const neverStale = { isStale: () => false } as unknown as Parameters<typeof storedWrappingKeys>[1];
  expect(await storedWrappingKeys(harness.opened.app.store, neverStale).listStale()).toEqual(["managed"]);
});

test("a damaged entry of an access log holds up no other", async () => {
  const first = await startWithBucket();
  await first.opened.app.store.transact((transaction) => {
    for (const bucketId of ["a", "b"])
      transaction.put(accessLogs, [bucketId, 1, "i"], { bucket: "gone", lines: [{ timeMs: 1n, text: "a line" }] });
  });
  const harness = await damageRecord(first, accessLogs, ["a", 1, "i"]);
  await harness.opened.logDelivery?.run(going);
  expect(harness.opened.app.accessLogs.dropped).toBe(1);
  const left = harness.opened.app.store.read((reader) => reader.list(accessLogs, { prefix: ["b"], limit: 1 }));
  expect(await left).toEqual([]);
});

test("a damaged part keeps its upload open, and no other", async () => {
  const clock = new FakeClock(Date.UTC(2026, 0, 1));
  const first = await startWithBucket({ clock });
  const rule = { status: "Enabled", filter: {}, abortIncompleteMultipartUpload: { daysAfterInitiation: 1 } };
  const lifecycleConfiguration = { rules: [rule] };
  await first.client.putBucketLifecycleConfiguration({ bucket: "photos", lifecycleConfiguration }, as(alice));
  const damaged = await startUpload(first);
  await sendPart(first, damaged, 1, Buffer.alloc(100_000));
  await first.client.createMultipartUpload({ bucket: "photos", key: "zebra" }, as(alice));
  const harness = await damageRecord(first, parts, [damaged, 1], { clock });
  clock.advance(3 * dayMs);
  await harness.opened.lifecycle.run(going);
  const { uploads } = await harness.client.listMultipartUploads({ bucket: "photos" }, as(alice));
  expect(uploads.map(({ uploadId }) => uploadId)).toEqual([damaged]);
});

test("a damaged version is not counted, and the others are", async () => {
  const first = await startWithBucket();
  await put(first, cat, "one");
  await put(first, dog, "three");
  const [damaged] = await keysIn(first, versions);
  const harness = await damageRecord(first, versions, damaged as [string, string, number]);
  const { store } = harness.opened.app;
  await store.transact((transaction) => {
    for (const name of ["objects", "bytes"]) transaction.delete(counts, [name]);
  });
  await openAmounts(store);
  const [bytes, objects] = await store.read((reader) => reader.list(counts, { limit: 2 }));
  expect([objects?.value.value, bytes?.value.value]).toEqual([1n, 5n]);
});

test("a damaged instant of a finished upload is deleted with the others", async () => {
  const directory = await temporaryDirectory();
  const open = () => openStore({ directory: join(directory, "leveldb"), sync: false });
  const first = await open();
  await first.transact((transaction) => {
    for (const uploadId of ["u1", "u2", "u3"]) transaction.put(finishedUploadTimes, [1, "b", "k", uploadId], {});
  });
  await first.close();
  await damageStoredRecord(directory, finishedUploadTimes, [1, "b", "k", "u2"]);
  const store = await open();
  onTestFinished(() => store.close());
  expect(await expireFinishedUploads(store, 2)).toBe(3);
});

test("damaged counts hold up neither the start nor objects, and are counted again by the next start", async () => {
  const first = await startWithBucket();
  await put(first, cat, "one");
  const harness = await damageRecord(first, counts, ["objects"]);
  expect(await amounts(harness)).toEqual(shown(1, 3));
  await put(harness, dog, "three");
  expect(await amounts(harness)).toEqual(shown(2, 8));
});

test("a damaged key of the service takes its content away and keeps nobody from putting more, until it is restored", async () => {
  const first = await startWithBucket();
  await put(first, cat, "a");
  const second = await damageRecord(first, wrappingKeys, ["service"]);
  expect(await refusalOf(get(second, cat))).toBe("CONTENT_CORRUPT");
  await put(second, dog, "b");
  expect((await get(second, dog)).body.toString()).toBe("b");
  expect(await keysIn(second, wrappingKeys).catch(() => "damaged")).toBe("damaged");
  // The same bit again: the record is as it was.
  const third = await damageRecord(second, wrappingKeys, ["service"]);
  expect(await keysIn(third, wrappingKeys)).toEqual([["service"], ["service#2"]]);
  expect([(await get(third, cat)).body.toString(), (await get(third, dog)).body.toString()]).toEqual(["a", "b"]);
});

test("the check of stored data counts a record with a damaged key, and goes on past it", async () => {
  const first = await startWithBucket();
  await put(first, cat, "one");
  await first.stop();
  const level = new Level<Buffer, Buffer>(join(first.directory, "leveldb"), {
    keyEncoding: "buffer",
    valueEncoding: "buffer",
  });
  await level.put(Buffer.from([0, versions.number, 0xff]), Buffer.from("no record"));
  await level.close();
  const harness = await startHarness({ directory: first.directory });
  const { store } = harness.opened.app;
  const report = await scrubRecords(store, scrubPace(systemClock, Number.POSITIVE_INFINITY, going), going);
  expect(report.damages).toEqual([{ subject: "versions/0x0004ff", reason: "the record's key is damaged" }]);
  expect((await get(harness, cat)).body.toString()).toBe("one");
});

test("a damaged note of how far lifecycle rules were applied begins them again", async () => {
  const clock = new FakeClock(Date.UTC(2026, 0, 1));
  const first = await startWithBucket({ clock });
  const rule = { status: "Enabled", filter: {}, abortIncompleteMultipartUpload: { daysAfterInitiation: 1 } };
  const lifecycleConfiguration = { rules: [rule] };
  await first.client.putBucketLifecycleConfiguration({ bucket: "photos", lifecycleConfiguration }, as(alice));
  await startUpload(first);
  await first.opened.app.store.transact((transaction) =>
    transaction.put(lifecycleProgress, ["lifecycle"], { bucket: "photos", key: "z" }),
  );
  const [progress] = await keysIn(first, lifecycleProgress);
  const harness = await damageRecord(first, lifecycleProgress, progress as [string], { clock });
  clock.advance(3 * dayMs);
  await harness.opened.lifecycle.run(going);
  expect((await harness.client.listMultipartUploads({ bucket: "photos" }, as(alice))).uploads).toEqual([]);
  expect(await keysIn(harness, lifecycleProgress)).toEqual([]);
});
