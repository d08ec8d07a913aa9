import { randomBytes } from "node:crypto";

import { describe, expect, onTestFinished, test } from "vitest";

import { randomIds } from "../../../services/kit/ids/ids.ts";
import { StoreWriteError } from "../../../services/kit/store/errors.ts";
import type { BlobStore } from "../../../services/object-storage/blobs/blob-store.ts";
import { blobShards, shardOf } from "../../../services/object-storage/blobs/blob-store.ts";
import { openFileBlobStore } from "../../../services/object-storage/blobs/file-blob-store.ts";
import { BlobPins } from "../../../services/object-storage/blobs/pins.ts";
import { ContentStore } from "../../../services/object-storage/content/content-store.ts";
import { blobKey } from "../../support/blob-key.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const blobId = "00000000000000000000000000000001";
const content = randomBytes(300_000);

/** The ids of files are all the same. */
const ids = { ...randomIds, hex: () => blobId };

const opened = async () => {
  const blobs = await openFileBlobStore({ directory: await temporaryDirectory() });
  onTestFinished(() => blobs.close());
  const pins = new BlobPins();
  const clock = new FakeClock();
  const store = new ContentStore({ blobs, pins, ids, clock, inlineBytesMax: 1_000 });
  return { blobs, pins, clock, store };
};

async function* body(bytes: number): AsyncGenerator<Uint8Array> {
  yield content.subarray(0, bytes);
}

const incoming = (bytes: number) => ({ body: body(bytes), trailer: () => ({}) });
const anything = {
  checksums: { algorithm: "CRC32", isRequested: false, expected: undefined, contentMd5: undefined },
  sizeBytes: undefined,
  sizeBytesMax: 1_000_000,
} as const;
const contentKey = { key: blobKey(), context: [] };
const { signal } = new AbortController();
const idsOf = async (blobs: BlobStore): Promise<string[]> => (await blobs.list("00")).map((blob) => blob.blobId);

describe("content that is received", () => {
  test("is in a file, and pinned against the sweep, while it is committed", async () => {
    const { blobs, pins, store } = await opened();
    const seen = await store.receive(incoming(300_000), anything, contentKey, signal, async ({ blob, sizeBytes }) => ({
      id: blob?.blobId,
      sizeBytes,
      files: await idsOf(blobs),
      isPinned: pins.isPinned(blobId),
    }));
    expect(seen).toEqual({ id: blobId, sizeBytes: 300_000, files: [blobId], isPinned: true });
    expect(await idsOf(blobs)).toEqual([blobId]);
    expect(pins.isPinned(blobId)).toBe(false);
  });

  test.each([
    // what the commit fails with, the files that are left
    ["a refusal", new Error("the bucket is gone"), []],
    ["a write of which it is unknown whether it is stored", new StoreWriteError(new Error("EIO")), [blobId]],
  ] as const)("and whose commit fails with %s is removed unless a manifest may name it", async (_what, error, left) => {
    const { blobs, pins, store } = await opened();
    const received = store.receive(incoming(300_000), anything, contentKey, signal, () => Promise.reject(error));
    await expect(received).rejects.toBe(error);
    expect(await idsOf(blobs)).toEqual(left);
    expect(pins.isPinned(blobId)).toBe(false);
  });

  test("and is small never has a file", async () => {
    const { blobs, store } = await opened();
    const files = await store.receive(incoming(1_000), anything, contentKey, signal, () => idsOf(blobs));
    expect(files).toEqual([]);
  });

  test("and is small is stored before all that came earlier, and in no directory of files", async () => {
    const { store, clock } = await opened();
    const receive = () =>
      store.receive(incoming(1_000), anything, contentKey, signal, async ({ blob }) => blob?.blobId ?? "");
    const received: string[] = [];
    for (let each = 0; each < 3; each += 1) {
      received.push(await receive());
      clock.advance(1);
    }
    expect(received.toReversed()).toEqual(received.toSorted());
    expect(received.map(shardOf).filter((shard) => blobShards.includes(shard))).toEqual([]);
  });
});

test.each([
  // what is wrong, how it is made so, the refusal
  ["is missing", (blobs: BlobStore) => blobs.remove(blobId), "CONTENT_MISSING"],
  ["is the one of another key", async () => {}, "CONTENT_CORRUPT"],
] as const)("content whose file %s is not read", async (what, spoil, reason) => {
  const { blobs, store } = await opened();
  const blob = await store.receive(incoming(300_000), anything, contentKey, signal, async (received) => received.blob);
  await spoil(blobs);
  const key = what === "is missing" ? contentKey : { key: blobKey(), context: ["another"] };
  const range = { ...blob!, offsetBytes: 0, lengthBytes: 300_000 };
  await expect(Array.fromAsync(store.read([range], key))).rejects.toMatchObject({ facts: { reason } });
});
