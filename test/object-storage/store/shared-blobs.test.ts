import { expect, test } from "vitest";

import { blobs } from "../../../services/object-storage/store/layout.ts";
import { sharedBlobs } from "../../../services/object-storage/store/shared-blobs.ts";
import { scrubRecords } from "../../../services/object-storage/work/scrub-records.ts";
import type { Harness } from "../harness.ts";
import { alice, as, get, put, startWithBucket } from "../harness.ts";

const bucket = "photos";

/** The references in the record of the one blob, and the further ones. */
const references = ({ opened }: Harness) =>
  opened.app.store.read(async (reader) => {
    const [blob] = await reader.list(blobs, { limit: 2 });
    const [shared] = await reader.list(sharedBlobs, { limit: 2 });
    return [blob && Number(blob.value.references), shared && Number(shared.value.references)];
  });

const pace = { spend: async () => undefined };
const damages = async ({ opened }: Harness) =>
  (await scrubRecords(opened.app.store, pace, new AbortController().signal)).damages;

test("content in the database is not written again when it is shared, and goes with its last reference", async () => {
  const harness = await startWithBucket();
  const { client } = harness;
  const copy = (key: string) => client.copyObject({ bucket, key, copySource: "photos/a" }, as(alice));
  const remove = (key: string) => client.deleteObject({ bucket, key }, as(alice));
  await put(harness, { bucket, key: "a" }, "meow");
  await copy("b");
  await copy("c");
  expect(await references(harness)).toEqual([1, 2]);
  expect(await damages(harness)).toEqual([]);
  await remove("a");
  expect(await references(harness)).toEqual([1, 1]);
  await remove("b");
  expect(await references(harness)).toEqual([1, undefined]);
  expect((await get(harness, { bucket, key: "c" })).body.toString()).toBe("meow");
  await remove("c");
  expect(await references(harness)).toEqual([undefined, undefined]);
});

test("content that older releases counted in its own record is released from there", async () => {
  const harness = await startWithBucket();
  const { client, opened } = harness;
  await put(harness, { bucket, key: "a" }, "meow");
  await client.copyObject({ bucket, key: "b", copySource: "photos/a" }, as(alice));
  await opened.app.store.transact(async (transaction) => {
    const [blob] = await transaction.list(blobs, { limit: 1 });
    if (blob !== undefined) transaction.put(blobs, blob.key, { ...blob.value, references: 2n });
    await transaction.deleteRange(sharedBlobs, {});
  });
  await client.copyObject({ bucket, key: "c", copySource: "photos/a" }, as(alice));
  expect(await references(harness)).toEqual([2, 1]);
  const after: unknown[] = [];
  for (const key of ["a", "b", "c"]) {
    await client.deleteObject({ bucket, key }, as(alice));
    after.push(await references(harness));
  }
  expect(after).toEqual([
    [2, undefined],
    [1, undefined],
    [undefined, undefined],
  ]);
});

test("a wrong number of further references, and ones of no blob, are damage", async () => {
  const harness = await startWithBucket();
  await put(harness, { bucket, key: "a" }, "meow");
  const [blob] = await harness.opened.app.store.read((reader) => reader.list(blobs, { limit: 1 }));
  await harness.opened.app.store.transact((transaction) => {
    transaction.put(sharedBlobs, [blob?.key[0] ?? ""], { references: 1n });
    transaction.put(sharedBlobs, ["00"], { references: 1n });
  });
  expect((await damages(harness)).map(({ reason }) => reason)).toEqual([
    "its blob has no record",
    "its record says 2 references, and there are 1",
  ]);
});
