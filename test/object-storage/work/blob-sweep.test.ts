import { randomBytes } from "node:crypto";
import { mkdir, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import type { BlobStore } from "../../../services/object-storage/blobs/blob-store.ts";
import type { KeyTuple } from "../../../services/kit/store/table.ts";
import type { Reader, Store } from "../../../services/kit/store/store.ts";
import { adoptBlob } from "../../../services/object-storage/store/blob.ts";
import { blobs, unreferencedBlobs } from "../../../services/object-storage/store/layout.ts";
import { removeUnreferencedBlobs, sweepBlobs } from "../../../services/object-storage/work/blob-sweep.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import type { Harness } from "../harness.ts";
import { alice, as, get, put, startWithBucket } from "../harness.ts";

const cat = { bucket: "photos", key: "cat.jpg" };
const content = randomBytes(300_000);
const minuteMs = 60_000;

const files = async (harness: Harness): Promise<string[]> =>
  (await readdir(harness.blobsDirectory, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name);

describe("the sweep of blobs", () => {
  test("removes the file of a deleted object after its grace period", async () => {
    const clock = new FakeClock();
    const harness = await startWithBucket({ clock });
    await put(harness, cat, content);
    await harness.client.deleteObject(cat, as(alice));

    expect((await sweepBlobs(harness.opened.sweep)).unreferencedRemoved).toBe(0);
    clock.advance(11 * minuteMs);
    expect(await sweepBlobs({ ...harness.opened.sweep, log: harness.opened.sweep.log })).toMatchObject({ missing: [] });

    expect(await files(harness)).toEqual([]);
  });

  test("leaves all files while a backup holds them", async () => {
    const clock = new FakeClock();
    const harness = await startWithBucket({ clock });
    await put(harness, cat, content);
    const release = harness.opened.holdContent();
    const releaseOther = harness.opened.holdContent();
    await harness.client.deleteObject(cat, as(alice));
    clock.advance(11 * minuteMs);

    await sweepBlobs(harness.opened.sweep);
    release();
    release();
    await sweepBlobs(harness.opened.sweep);
    expect(await files(harness)).toHaveLength(1);
    releaseOther();
    await sweepBlobs(harness.opened.sweep);
    expect(await files(harness)).toEqual([]);
  });

  test("leaves a file that is still being read", async () => {
    const clock = new FakeClock();
    const harness = await startWithBucket({ clock });
    await put(harness, cat, randomBytes(40_000_000));
    const reading = harness.client.getObject(cat, as(alice))[Symbol.asyncIterator]();
    await reading.next();
    await harness.client.deleteObject(cat, as(alice));
    clock.advance(11 * minuteMs);

    await sweepBlobs(harness.opened.sweep);
    expect(await files(harness)).toHaveLength(1);

    let bytes = 0;
    for (let next = await reading.next(); next.done !== true; next = await reading.next())
      bytes += next.value.body.length;
    expect(bytes).toBeGreaterThan(39_000_000);
  });

  test("removes a file whose reader went away in the middle", async () => {
    const clock = new FakeClock();
    const harness = await startWithBucket({ clock });
    await put(harness, cat, randomBytes(40_000_000));
    const abort = new AbortController();
    const reading = harness.client.getObject(cat, { ...as(alice), signal: abort.signal })[Symbol.asyncIterator]();
    await reading.next();
    abort.abort();
    await expect(reading.next()).rejects.toThrow("cancel");
    await harness.client.deleteObject(cat, as(alice));
    clock.advance(11 * minuteMs);

    await expect
      .poll(async () => {
        await sweepBlobs(harness.opened.sweep);
        return files(harness);
      })
      .toEqual([]);
  });

  test("removes a file that no record ever referred to, when it is old enough", async () => {
    const clock = new FakeClock(Date.now());
    const harness = await startWithBucket({ clock });
    await put(harness, cat, content);
    await mkdir(join(harness.blobsDirectory, "ab"), { recursive: true });
    await writeFile(join(harness.blobsDirectory, "ab", `ab${"0".repeat(30)}`), "orphan");

    expect((await sweepBlobs(harness.opened.sweep)).orphansRemoved).toBe(0);
    expect(await files(harness)).toHaveLength(2);
    clock.advance(61 * minuteMs);
    await sweepBlobs(harness.opened.sweep);

    expect(await files(harness)).toHaveLength(1);
    expect((await get(harness, cat)).body.equals(content)).toBe(true);
  });

  test("runs five seconds after the start", async () => {
    const clock = new FakeClock(Date.now());
    const harness = await startWithBucket({ clock });
    const directory = join(harness.blobsDirectory, "ab");
    const orphan = join(directory, `ab${"0".repeat(30)}`);
    await mkdir(directory, { recursive: true });
    await writeFile(orphan, "orphan");
    await utimes(orphan, new Date("2001-02-03"), new Date("2001-02-03"));
    clock.advance(4_999);
    expect(await files(harness)).toHaveLength(1);
    clock.advance(1);
    await eventually(async () => (await files(harness)).length === 0, "the orphan was swept");
  });

  test("leaves a file whose record was written after the records were read, however old it looks", async () => {
    const { opened } = await startWithBucket();
    const { store, blobs: stored } = opened.sweep;
    const blobId = `ab${"0".repeat(30)}`;
    const removed: string[] = [];
    const dataKey = new Uint8Array(60);
    const late = {
      blobId,
      modifiedMs: async () => {
        await store.transact((transaction) =>
          adoptBlob(transaction, { blobId, sizeBytes: 9, dataKey, inlineBody: undefined }),
        );
        return 0;
      },
    };
    const watched: BlobStore = {
      ...stored,
      list: async (shard) => (shard === "ab" ? [late] : []),
      remove: async (each) => void removed.push(each),
    };
    expect((await sweepBlobs({ ...opened.sweep, blobs: watched })).orphansRemoved).toBe(0);
    expect(removed).toEqual([]);
  });

  test("reports content that is gone and leaves its object listed", async () => {
    const harness = await startWithBucket();
    await put(harness, cat, content);
    const [name = ""] = await files(harness);
    await rm(join(harness.blobsDirectory, name.slice(0, 2), name));

    expect((await sweepBlobs(harness.opened.sweep)).missing).toEqual([name]);
    expect((await harness.client.listObjectsV2({ bucket: "photos" }, as(alice))).keyCount).toBe(1);
  });

  test("reads nothing of content that is stored in the database", async () => {
    const harness = await startWithBucket();
    for (const key of ["a", "b", "c"]) await put(harness, { bucket: "photos", key }, content.subarray(0, 1_000));
    await put(harness, cat, content);
    const [name = ""] = await files(harness);
    const { sweep } = harness.opened;
    const walked: KeyTuple[] = [];
    const read: Store["read"] = (run) => sweep.store.read((reader) => run(noting(reader, walked)));
    await sweepBlobs({ ...sweep, store: { ...sweep.store, read } });
    expect(walked).toEqual([[name]]);
  });
});

/** A reader that notes the keys of the blobs in the ranges that are read. */
const noting = (reader: Reader, walked: KeyTuple[]): Reader => ({
  ...reader,
  async *range(table, options) {
    for await (const entry of reader.range(table, options)) {
      if ((table as unknown) === blobs) walked.push(entry.key);
      yield entry;
    }
  },
});

describe("the removal of blobs without references", () => {
  const entriesIn = async ({ opened }: Harness): Promise<string[]> =>
    (await opened.app.store.read((reader) => reader.list(unreferencedBlobs, { limit: 3_000 }))).map(
      ({ key }) => key[0],
    );

  const addEntries = (harness: Harness, ids: readonly string[]) =>
    harness.opened.app.store.transact((transaction) => {
      for (const id of ids) transaction.put(unreferencedBlobs, [id], { unreferencedMs: 1n });
    });

  const idOf = (number: number) => number.toString(16).padStart(32, "0");

  test("removes the file of a deleted object after its grace period, and no file that nothing ever referred to", async () => {
    const clock = new FakeClock(Date.now());
    const harness = await startWithBucket({ clock });
    await put(harness, cat, content);
    await mkdir(join(harness.blobsDirectory, "ab"), { recursive: true });
    await writeFile(join(harness.blobsDirectory, "ab", `ab${"0".repeat(30)}`), "orphan");
    await harness.client.deleteObject(cat, as(alice));
    expect(await removeUnreferencedBlobs(harness.opened.sweep)).toBe(0);
    // The service's own clock stands, so its sweep does not run meanwhile.
    const later = new FakeClock(clock.now() + 100 * minuteMs);
    await removeUnreferencedBlobs({ ...harness.opened.sweep, clock: later });
    expect(await files(harness)).toEqual([`ab${"0".repeat(30)}`]);
    expect(await entriesIn(harness)).toEqual([]);
  });

  test("runs every ten minutes", async () => {
    const clock = new FakeClock(Date.now());
    const harness = await startWithBucket({ clock });
    const waitsFor = (ms: number) => () => clock.pending().includes(clock.now() + ms);
    clock.advance(5_000);
    await eventually(waitsFor(24 * 60 * minuteMs), "the sweep of all blobs has run");
    await put(harness, cat, content);
    await harness.client.deleteObject(cat, as(alice));
    clock.advance(10 * minuteMs - 5_000);
    await eventually(waitsFor(10 * minuteMs), "the first round has run");
    expect(await files(harness)).toHaveLength(1);
    clock.advance(10 * minuteMs);
    await eventually(async () => (await files(harness)).length === 0, "the file was removed");
  });

  test("removes more than it reads at a time", async () => {
    const harness = await startWithBucket();
    await addEntries(
      harness,
      Array.from({ length: 2_500 }, (_none, index) => idOf(index)),
    );
    expect(await removeUnreferencedBlobs(harness.opened.sweep)).toBe(2_500);
    expect(await entriesIn(harness)).toEqual([]);
  });

  test("goes on after a file that cannot be removed", async () => {
    const harness = await startWithBucket();
    await addEntries(harness, [idOf(1), idOf(2), idOf(3)]);
    const { sweep } = harness.opened;
    const remove = async (blobId: string) => {
      if (blobId === idOf(2)) throw new Error("EIO");
    };
    expect(await removeUnreferencedBlobs({ ...sweep, blobs: { ...sweep.blobs, remove } })).toBe(2);
    expect(await entriesIn(harness)).toEqual([idOf(2)]);
  });

  test("ends when the service stops", async () => {
    const harness = await startWithBucket();
    await addEntries(
      harness,
      Array.from({ length: 2_500 }, (_none, index) => idOf(index)),
    );
    expect(await removeUnreferencedBlobs(harness.opened.sweep, AbortSignal.abort())).toBe(1_000);
  });
});
