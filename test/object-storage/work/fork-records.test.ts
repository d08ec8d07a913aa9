import { expect, test } from "vitest";

import { findBucket } from "../../../services/object-storage/store/bucket.ts";
import { blobs, unreferencedBlobs, versions } from "../../../services/object-storage/store/layout.ts";
import { limits } from "../../../services/object-storage/limits.ts";
import { sweepBlobs } from "../../../services/object-storage/work/blob-sweep.ts";
import { copyBucketRecords, removeBucketRecords } from "../../../services/object-storage/work/fork-records.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import type { Harness } from "../harness.ts";
import { alice, as, put, startWithBucket } from "../harness.ts";

const bucket = "photos";
const { signal } = new AbortController();

const blobIds = ({ opened }: Harness) =>
  opened.app.store.read(async (reader) => (await reader.list(blobs, { limit: 10 })).map(({ key }) => key[0]));

test("what the source has lost since the state that is copied is shared again, and its files are kept", async () => {
  const clock = new FakeClock(Date.UTC(2026, 0, 2));
  const harness = await startWithBucket({ clock });
  const { client, opened } = harness;
  const { store } = opened.app;
  await put(harness, { bucket, key: "file" }, Buffer.alloc(100_000));
  await put(harness, { bucket, key: "inline" }, "one");
  const before = await blobIds(harness);
  const release = opened.holdContent();
  const copied = await store.read(async (former) => {
    const from = (await findBucket(former, bucket))?.bucketId ?? "";
    for (const key of ["file", "inline"]) await client.deleteObject({ bucket, key }, as(alice));
    expect(await blobIds(harness)).toEqual([]);
    clock.advance(2 * limits.unreferencedGraceMs);
    await sweepBlobs(opened.sweep);
    return copyBucketRecords(store, former, from, "copy", signal);
  });
  release();
  expect(copied).toBe(2);
  expect(await blobIds(harness)).toEqual(before);
  const { missing, unreferencedRemoved } = await sweepBlobs(opened.sweep);
  expect({ missing, unreferencedRemoved }).toEqual({ missing: [], unreferencedRemoved: 0 });
  expect(await store.read((reader) => reader.list(unreferencedBlobs, { limit: 1 }))).toEqual([]);
});

test("what an interrupted copy left is removed with its references, in as many slices as it needs", async () => {
  const harness = await startWithBucket();
  const { store } = harness.opened.app;
  await put(harness, { bucket, key: "a" }, Buffer.alloc(100_000));
  const from = await store.read(async (reader) => (await findBucket(reader, bucket))?.bucketId ?? "");
  await store.transact(async (transaction) => {
    const [entry] = await transaction.list(versions, { limit: 1 });
    const [blob] = await transaction.list(blobs, { limit: 1 });
    if (entry === undefined || blob === undefined) return;
    const count = 2 * limits.forkSliceRecords;
    for (let index = 0; index < count; index += 1) transaction.put(versions, ["copy", `${index}`, 1], entry.value);
    transaction.put(blobs, blob.key, { ...blob.value, references: BigInt(count + 1) });
  });
  await removeBucketRecords(store, "copy", 0, signal);
  const [blob] = await store.read((reader) => reader.list(blobs, { limit: 1 }));
  expect(blob?.value.references).toBe(1n);
  const left = await store.read((reader) => reader.list(versions, { limit: 10 }));
  expect(left.map(({ key }) => key[0])).toEqual([from]);
});
