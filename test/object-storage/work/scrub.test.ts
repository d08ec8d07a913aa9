import { randomBytes } from "node:crypto";
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import type { KeyTuple, Table } from "../../../services/kit/store/table.ts";
import { directoryEntries } from "../../../services/object-storage/store/directory-entries.ts";
import {
  blobs,
  currentVersions,
  quarantine,
  scrubProgress,
  versions,
} from "../../../services/object-storage/store/layout.ts";
import { openScrub } from "../../../services/object-storage/work/scrub.ts";
import { searchEntries } from "../../../services/object-storage/store/search-entries.ts";
import { scrubPace } from "../../../services/object-storage/work/scrub-pace.ts";
import { scrubRecords } from "../../../services/object-storage/work/scrub-records.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import type { Harness } from "../harness.ts";
import { alice, as, get, put, startWithBucket } from "../harness.ts";
import { damageRecord } from "../support/damage.ts";

const cat = { bucket: "photos", key: "cat.jpg" };
const dog = { bucket: "photos", key: "dog.jpg" };
const going = new AbortController().signal;
const dayMs = 86_400_000;

/** The check of a service, which begins a round whenever it is run. */
const scrubOf = async ({ opened }: Harness) => {
  const { log, lines } = capturingLogger();
  const scrub = await openScrub({ ...opened.scrub, log, intervalMs: 0, bytesPerSecond: Number.POSITIVE_INFINITY });
  return { scrub, lines };
};

/**
 * A service whose own check has looked once and stands still from then on, and a clock for the check of the test:
 * rounds of both would go on with each other's steps.
 */
const startBesideOwnCheck = async (): Promise<{ readonly harness: Harness; readonly clock: FakeClock }> => {
  const harness = await startWithBucket({ clock: new FakeClock() });
  const { store } = harness.opened.scrub;
  await eventually(
    async () => (await store.read((reader) => reader.get(scrubProgress, ["scrub"]))) !== undefined,
    "the service has noted when its first round is due",
  );
  return { harness, clock: new FakeClock() };
};

/** The quarantine after one round: subjects and reasons. */
const findingsOf = async (harness: Harness): Promise<[string, string][]> => {
  const { scrub } = await scrubOf(harness);
  await scrub.run(going);
  const entries = await harness.opened.scrub.store.read((reader) => reader.list(quarantine, { limit: 100 }));
  expect(scrub.stats().quarantined).toBe(entries.length);
  return entries.map(({ key, value }) => [key[0], value.reason]);
};

const files = async ({ blobsDirectory }: Harness): Promise<string[]> => {
  const entries = await readdir(blobsDirectory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
};

const theFile = async (harness: Harness): Promise<{ readonly path: string; readonly blobId: string }> => {
  const [path = ""] = await files(harness);
  return { path, blobId: path.split("/").at(-1) ?? "" };
};

const onlyKey = async <K extends KeyTuple>(harness: Harness, table: Table<K>): Promise<K> => {
  const [entry] = await harness.opened.scrub.store.read((reader) => reader.list(table, { limit: 1 }));
  if (entry === undefined) throw new Error(`${table.name} is empty`);
  return entry.key;
};

test("finds nothing in what is whole: in the database, in files, shared by copies and deleted", async () => {
  const harness = await startWithBucket();
  await put(harness, cat, randomBytes(300_000));
  await put(harness, dog, "dog");
  await harness.client.copyObject({ ...cat, key: "copy.jpg", copySource: "photos/cat.jpg" }, as(alice));
  await put(harness, { ...cat, key: "gone.jpg" }, randomBytes(300_000));
  await harness.client.deleteObject({ ...cat, key: "gone.jpg" }, as(alice));

  const { scrub, lines } = await scrubOf(harness);
  await scrub.run(going);
  expect(scrub.stats()).toMatchObject({ blobs: 1, bytes: 300_000, quarantined: 0 });
  expect(lines.map(({ level, msg }) => [level, msg])).toEqual([[30, "all stored data was checked"]]);
});

describe("a blob file", () => {
  test.each([
    // what, bytes before, bytes after, reason
    [
      "has a flipped bit",
      600_000,
      (file: Buffer) => ((file[599_000] = (file[599_000] as number) ^ 4), file),
      /chunk 2 .* checksum/,
    ],
    ["is cut", 600_000, (file: Buffer) => file.subarray(0, 500_000), /chunk 1 .* checksum/],
    [
      "has bytes at its end",
      600_000,
      (file: Buffer) => Buffer.concat([file, Buffer.from("more")]),
      /chunk 2 .* checksum/,
    ],
    ["is empty", 600_000, () => Buffer.alloc(0), /chunk 0 .* ends before it/],
  ])("that %s is put on the list, and stays", async (_what, size, change, reason) => {
    const harness = await startWithBucket();
    await put(harness, cat, randomBytes(size));
    const { path, blobId } = await theFile(harness);
    await writeFile(path, change(await readFile(path)));
    expect(await findingsOf(harness)).toEqual([[`blob/${blobId}`, expect.stringMatching(reason)]]);
    expect(await files(harness)).toEqual([path]);
  });

  test("that is missing is on the list until it is there again; when it was found is kept", async () => {
    const clock = new FakeClock();
    const harness = await startWithBucket({ clock });
    const content = randomBytes(300_000);
    await put(harness, cat, content);
    const { path, blobId } = await theFile(harness);
    await rename(path, `${harness.directory}/aside`);
    expect(await findingsOf(harness)).toEqual([[`blob/${blobId}`, "its file is missing"]]);
    clock.advance(60_000);
    expect(await findingsOf(harness)).toHaveLength(1);
    const [entry] = await harness.opened.scrub.store.read((reader) => reader.list(quarantine, { limit: 1 }));
    expect(clock.now() - Number(entry?.value.foundMs)).toBe(60_000);

    clock.advance(60_000);
    await rename(`${harness.directory}/aside`, path);
    expect(await findingsOf(harness)).toEqual([]);
    expect((await get(harness, cat)).body.equals(content)).toBe(true);
  });

  test("is not missed if it was deleted before it was read", async () => {
    const harness = await startWithBucket();
    await put(harness, cat, randomBytes(300_000));
    const { store, blobs: stored } = harness.opened.scrub;
    const deleting = {
      ...stored,
      verify: async (...range: Parameters<typeof stored.verify>) => {
        await harness.client.deleteObject(cat, as(alice));
        await rm((await theFile(harness)).path);
        return stored.verify(...range);
      },
    };
    const { log } = capturingLogger();
    const options = { ...harness.opened.scrub, log, blobs: deleting, intervalMs: 0, bytesPerSecond: Infinity };
    const scrub = await openScrub(options);
    await scrub.run(going);
    expect(await store.read((reader) => reader.list(blobs, { limit: 1 }))).toEqual([]);
    expect(await store.read((reader) => reader.list(quarantine, { limit: 1 }))).toEqual([]);
  });
});

describe("a record", () => {
  test("that is damaged is put on the list, with those around it checked", async () => {
    const first = await startWithBucket();
    for (const key of ["a", "b", "c"]) await put(first, { ...cat, key }, key);
    const [bucketId] = await onlyKey(first, currentVersions);
    const harness = await damageRecord(first, currentVersions, [bucketId, "b"]);
    expect(await findingsOf(harness)).toEqual([[`current_versions/"${bucketId}"/"b"`, "the record is damaged"]]);
  });

  test("of small content that is damaged is put on the list", async () => {
    const first = await startWithBucket();
    await put(first, cat, "small");
    const key = await onlyKey(first, blobs);
    const harness = await damageRecord(first, blobs, key);
    expect(await findingsOf(harness)).toEqual([[`blobs/"${key[0]}"`, "the record is damaged"]]);
  });

  test("of a version that is damaged hides references, which is no second damage", async () => {
    const first = await startWithBucket();
    await put(first, cat, "small");
    const key = await onlyKey(first, versions);
    const harness = await damageRecord(first, versions, key);
    expect((await findingsOf(harness)).map(([, reason]) => reason)).toEqual(["the record is damaged"]);
  });

  test.each([
    // what, reason
    ["lost", "its record says 2 references, and there are 1"],
    ["gained", "its record says 0 references, and there are 1"],
  ])("of a blob that has %s references is put on the list", async (what, reason) => {
    const harness = await startWithBucket();
    await put(harness, cat, "small");
    const { store } = harness.opened.scrub;
    const [blobId] = await onlyKey(harness, blobs);
    await store.transact(async (transaction) => {
      const record = await transaction.get(blobs, [blobId]);
      if (record !== undefined) transaction.put(blobs, [blobId], { ...record, references: what === "lost" ? 2n : 0n });
    });
    expect(await findingsOf(harness)).toEqual([[`blob/${blobId}`, reason]]);
  });

  test("of a blob that is referred to and of a version that is listed are missed", async () => {
    const harness = await startWithBucket();
    await put(harness, cat, "small");
    await put(harness, dog, "small");
    const { store } = harness.opened.scrub;
    const [bucketId] = await onlyKey(harness, currentVersions);
    const entries = await store.read((reader) => reader.list(versions, { limit: 2 }));
    const [ofCat, ofDog] = entries;
    if (ofCat === undefined || ofDog === undefined) throw new Error("both have a version");
    const blobIds = entries.map(({ value }) => value.extents[0]?.blobId ?? "");
    await store.transact((transaction) => {
      transaction.delete(blobs, [blobIds[0] ?? ""]);
      transaction.delete(versions, ofDog.key);
    });
    expect(await findingsOf(harness)).toEqual([
      [`blob/${blobIds[1]}`, "its record says 1 references, and there are 0"],
      [`current_versions/"${bucketId}"/"dog.jpg"`, "its version is missing"],
      [`versions/"${bucketId}"/"cat.jpg"/${ofCat.key[2]}`, `blob ${blobIds[0]} has no record`],
    ]);
  });
});

test("a key that its directory has no entry for is damage", async () => {
  const harness = await startWithBucket();
  await put(harness, { ...cat, key: "a/b" }, "small");
  const [bucketId] = await onlyKey(harness, currentVersions);
  await harness.opened.scrub.store.transact((transaction) =>
    transaction.delete(directoryEntries, [bucketId, "a/", "b"]),
  );
  expect(await findingsOf(harness)).toEqual([
    [`current_versions/"${bucketId}"/"a/b"`, "its directory has no entry for it"],
  ]);
});

test("entries of a search index that are missing or have no object are damage", async () => {
  const harness = await startWithBucket();
  const attributes = [{ source: "Tag", name: "kind" }, { source: "ContentType" }];
  const { bucket } = cat;
  await harness.client.putBucketSearchIndex({ bucket, searchIndexConfiguration: { attributes } }, as(alice));
  await harness.opened.jobs.idle();
  await put(harness, { ...cat, tagging: "kind=cat" }, "small");
  const { store } = harness.opened.scrub;
  const [bucketId] = await onlyKey(harness, currentVersions);
  const [entry] = await store.read((reader) => reader.list(searchEntries, { limit: 1 }));
  const [indexId = "", attribute] = entry?.key ?? [];
  expect(attribute).toBe("content-type");
  await store.transact((transaction) => {
    transaction.delete(searchEntries, [indexId, "content-type", "binary/octet-stream", "cat.jpg"]);
    transaction.put(searchEntries, [indexId, "tag/kind", "dog", "cat.jpg"], {});
    transaction.put(searchEntries, [indexId, "tag/kind", "dog", "dog.jpg"], {});
  });
  expect(await findingsOf(harness)).toEqual([
    [`current_versions/"${bucketId}"/"cat.jpg"`, "the search index lacks an entry of it"],
    [`search_entries/"${indexId}"/"tag/kind"/"dog"/"cat.jpg"`, "no current version has this value"],
    [`search_entries/"${indexId}"/"tag/kind"/"dog"/"dog.jpg"`, "no current version has this value"],
  ]);
});

test("references are counted in as many passes as memory needs", async () => {
  const harness = await startWithBucket();
  for (let index = 0; index < 10; index += 1) await put(harness, { ...cat, key: `${index}` }, `${index}`);
  await harness.client.copyObject({ ...cat, key: "copy", copySource: "photos/3" }, as(alice));
  const { store, clock } = harness.opened.scrub;
  const pace = scrubPace(clock, Number.POSITIVE_INFINITY, going);
  expect((await scrubRecords(store, pace, going, 3)).damages).toEqual([]);
});

test("a round begins when it is due, first one interval after the first start", async () => {
  const { harness, clock } = await startBesideOwnCheck();
  const { log, lines } = capturingLogger();
  const scrub = await openScrub({ ...harness.opened.scrub, clock, log, bytesPerSecond: Number.POSITIVE_INFINITY });
  await scrub.run(going);
  clock.advance(14 * dayMs - 1);
  await scrub.run(going);
  expect(lines).toEqual([]);
  clock.advance(1);
  await scrub.run(going);
  expect(lines.map(({ msg }) => msg)).toEqual(["all stored data was checked"]);
});

test("a round that began by a clock that was set far ahead holds up the next one no longer than the interval", async () => {
  const { harness, clock } = await startBesideOwnCheck();
  await put(harness, cat, randomBytes(300_000));
  const { path } = await theFile(harness);
  const { log } = capturingLogger();
  const scrub = await openScrub({ ...harness.opened.scrub, clock, log, bytesPerSecond: Number.POSITIVE_INFINITY });
  clock.advance(3_650 * dayMs);
  await rename(path, `${harness.directory}/aside`);
  await scrub.run(going);
  await rename(`${harness.directory}/aside`, path);
  clock.setBack(3_640 * dayMs);
  expect(scrub.stats()).toMatchObject({ quarantined: 1 });
  await scrub.run(going);
  expect(scrub.stats()).toMatchObject({ quarantined: 0 });
});

test("steps that are done are not repeated after a restart", async () => {
  const harness = await startWithBucket();
  await put(harness, cat, randomBytes(300_000));
  const { blobId } = await theFile(harness);
  const { store, clock } = harness.opened.scrub;
  const nextStep = 1 + Number.parseInt(blobId.slice(0, 2), 16);
  const save = (step: number) =>
    store.transact((transaction) =>
      transaction.put(scrubProgress, ["scrub"], { roundBeganMs: BigInt(clock.now()), nextStep: step }),
    );
  await save(nextStep);
  const before = await scrubOf(harness);
  await before.scrub.run(going);
  expect(before.scrub.stats()).toMatchObject({ records: 0, blobs: 1 });
  await save(nextStep + 1);
  const after = await scrubOf(harness);
  await after.scrub.run(going);
  expect(after.scrub.stats()).toMatchObject({ records: 0, blobs: 0 });
});

test("an aborted round goes on where it was, and has not judged what it did not read", async () => {
  const harness = await startWithBucket();
  await put(harness, cat, "small");
  const aborted = await scrubOf(harness);
  await aborted.scrub.run(AbortSignal.abort());
  const progress = await harness.opened.scrub.store.read((reader) => reader.get(scrubProgress, ["scrub"]));
  expect([aborted.scrub.stats().quarantined, progress?.nextStep]).toEqual([0, 257]);
});

describe("the pace", () => {
  test("lets bytes through at its rate", async () => {
    const clock = new FakeClock();
    const pace = scrubPace(clock, 1_000, going);
    let isThrough = false;
    void pace.spend(500).then(() => (isThrough = true));
    clock.advance(499);
    await new Promise(setImmediate);
    expect(isThrough).toBe(false);
    clock.advance(1);
    await eventually(() => isThrough, "half a second has passed");
  });

  test("is the same after the clock was set back", async () => {
    const clock = new FakeClock();
    const pace = scrubPace(clock, 1_000, going);
    clock.setBack(86_400_000);
    void pace.spend(500);
    expect(clock.pending()).toEqual([clock.now() + 500]);
  });

  test("does not keep a stopping service waiting", async () => {
    const clock = new FakeClock();
    const stopping = new AbortController();
    onTestFinished(() => stopping.abort());
    const waiting = scrubPace(clock, 1, stopping.signal).spend(1_000_000);
    stopping.abort();
    await waiting;
    expect(clock.pending()).toEqual([]);
  });
});
