import { createHash, randomBytes } from "node:crypto";
import { mkdir, open, readdir, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import type { BlobStore } from "../../../services/object-storage/blobs/blob-store.ts";
import {
  BlobCorruptError,
  BlobMissingError,
  BlobWriteError,
} from "../../../services/object-storage/blobs/blob-store.ts";
import type { DiskSync } from "../../../services/object-storage/blobs/file-blob-store.ts";
import { openFileBlobStore } from "../../../services/object-storage/blobs/file-blob-store.ts";
import { blobKey } from "../../support/blob-key.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const chunkBytes = 262_144;
const key = blobKey();
const blobId = "ab00000000000000000000000000cafe";

const opened = async (sync?: DiskSync): Promise<{ directory: string; blobs: BlobStore; path: string }> => {
  const directory = await temporaryDirectory();
  const blobs = await openFileBlobStore({ directory, ...(sync === undefined ? {} : { sync }) });
  onTestFinished(() => blobs.close());
  return { directory, blobs, path: join(directory, "v2", "ab", blobId) };
};

async function* piecesOf(content: Buffer, pieceBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += pieceBytes) yield content.subarray(at, at + pieceBytes);
}

const readAll = async (blobs: BlobStore, offsetBytes: number, lengthBytes: number): Promise<Buffer> => {
  const pieces: Uint8Array[] = [];
  for await (const piece of await blobs.open(blobId, { offsetBytes, lengthBytes }, key)) pieces.push(piece);
  return Buffer.concat(pieces);
};

const digest = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

describe("a blob", () => {
  test.each([
    // content bytes, piece bytes, file bytes
    [0, 100, 0],
    [1, 100, 21],
    [chunkBytes, 100_000, chunkBytes + 20],
    [chunkBytes + 1, 7_919, chunkBytes + 41],
    [5 * chunkBytes + 77, 1_048_576, 5 * chunkBytes + 77 + 120],
  ])("of %i bytes in pieces of %i is read back whole", async (contentBytes, pieceBytes, fileBytes) => {
    const { blobs, path } = await opened();
    const content = randomBytes(contentBytes);

    const stored = await blobs.write(blobId, key, piecesOf(content, pieceBytes));

    expect(stored.sizeBytes).toBe(contentBytes);
    expect((await readFile(path)).length).toBe(fileBytes);
    expect(digest(await readAll(blobs, 0, contentBytes))).toBe(digest(content));
  });

  test.each([
    // offset, length
    [0, 1],
    [chunkBytes - 1, 2],
    [chunkBytes, chunkBytes],
    [3 * chunkBytes + 5, 2 * chunkBytes],
    [6 * chunkBytes - 1, 1],
    [17, 0],
  ])("gives the stretch at %i of %i bytes", async (offsetBytes, lengthBytes) => {
    const { blobs } = await opened();
    const content = randomBytes(6 * chunkBytes);
    await blobs.write(blobId, key, piecesOf(content, 300_000));

    const read = await readAll(blobs, offsetBytes, lengthBytes);

    expect(digest(read)).toBe(digest(content.subarray(offsetBytes, offsetBytes + lengthBytes)));
  });

  test("is listed in its shard and gone from it when it was removed, twice if need be", async () => {
    const { blobs } = await opened();
    await blobs.write(blobId, key, piecesOf(randomBytes(10), 10));
    expect((await blobs.list("ab")).map((file) => file.blobId)).toEqual([blobId]);
    expect(await blobs.list("ac")).toEqual([]);

    await blobs.remove(blobId);
    await blobs.remove(blobId);

    expect(await blobs.list("ab")).toEqual([]);
    await expect(blobs.open(blobId, { offsetBytes: 0, lengthBytes: 10 }, key)).rejects.toThrow(BlobMissingError);
  });

  test("that is being read stays readable when it is removed", async () => {
    const { blobs } = await opened();
    const content = randomBytes(3 * chunkBytes);
    await blobs.write(blobId, key, piecesOf(content, chunkBytes));
    const reading = await blobs.open(blobId, { offsetBytes: 0, lengthBytes: content.length }, key);

    await blobs.remove(blobId);
    const pieces: Uint8Array[] = [];
    for await (const piece of reading) pieces.push(piece);

    expect(digest(Buffer.concat(pieces))).toBe(digest(content));
  });
});

describe("a blob at rest", () => {
  test("is ciphertext: no byte of the content is found in the file", async () => {
    const { blobs, path } = await opened();
    const content = Buffer.alloc(2 * chunkBytes, "the quick brown fox ");
    await blobs.write(blobId, key, piecesOf(content, 100_000));

    const stored = await readFile(path);

    expect(stored.includes("quick")).toBe(false);
    expect(stored.subarray(0, chunkBytes).equals(stored.subarray(chunkBytes + 20, 2 * chunkBytes + 20))).toBe(false);
  });

  test("is not read with another key", async () => {
    const { blobs } = await opened();
    await blobs.write(blobId, key, piecesOf(randomBytes(10), 10));
    const reading = await blobs.open(blobId, { offsetBytes: 0, lengthBytes: 10 }, blobKey(8));
    await expect(Array.fromAsync(reading)).rejects.toThrow("it was encrypted with another key");
  });

  test("is checked without its key, and damage is found", async () => {
    const { blobs, path } = await opened();
    await blobs.write(blobId, key, piecesOf(randomBytes(chunkBytes + 9), 100_000));
    const checked = await Array.fromAsync(await blobs.verify(blobId, chunkBytes + 9, true));
    expect(checked.map((piece) => piece.length)).toEqual([chunkBytes, 9]);

    const stored = await readFile(path);
    stored.writeUInt8(stored.readUInt8(chunkBytes + 3) ^ 1, chunkBytes + 3);
    await writeFile(path, stored);

    const damaged = Array.fromAsync(await blobs.verify(blobId, chunkBytes + 9, true));
    await expect(damaged).rejects.toThrow("its checksum does not hold");
  });
});

describe("a blob that was stored before blobs were encrypted", () => {
  const content = Buffer.from("abc");
  // CRC32 of "ab00000000000000000000000000cafe/0abc".
  const stored = Buffer.concat([content, Buffer.from("6569de68", "hex")]);

  const openedWithOld = async () => {
    const found = await opened();
    const path = join(found.directory, "v1", "ab", blobId);
    await mkdir(join(found.directory, "v1", "ab"), { recursive: true });
    await writeFile(path, stored);
    return { ...found, path };
  };

  test("is read, listed, checked and removed", async () => {
    const { blobs } = await openedWithOld();
    const range = { offsetBytes: 1, lengthBytes: 2 };
    expect(Buffer.concat(await Array.fromAsync(await blobs.open(blobId, range, undefined))).toString()).toBe("bc");
    expect((await Array.fromAsync(await blobs.verify(blobId, 3, false))).length).toBe(1);
    expect((await blobs.list("ab")).map((file) => file.blobId)).toEqual([blobId]);

    await blobs.remove(blobId);

    expect(await blobs.list("ab")).toEqual([]);
  });

  test("is corrupt when a byte has changed", async () => {
    const { blobs, path } = await openedWithOld();
    await writeFile(path, Buffer.concat([Buffer.from("abd"), stored.subarray(3)]));
    const reading = await blobs.open(blobId, { offsetBytes: 0, lengthBytes: 3 }, undefined);
    await expect(Array.fromAsync(reading)).rejects.toThrow("its checksum does not hold");
  });
});

describe("a damaged blob", () => {
  test("gives no byte of a chunk whose bytes changed, and the chunks before it", async () => {
    const { blobs, path } = await opened();
    await blobs.write(blobId, key, piecesOf(randomBytes(3 * chunkBytes), chunkBytes));
    const file = await open(path, "r+");
    await file.write(Buffer.from([0x5a, 0xa5, 0x5a, 0xa5]), 0, 4, chunkBytes + 20 + 1_000);
    await file.close();
    let read = 0;

    const reading = (async () => {
      for await (const piece of await blobs.open(blobId, { offsetBytes: 0, lengthBytes: 3 * chunkBytes }, key))
        read += piece.length;
    })();

    await expect(reading).rejects.toThrow(BlobCorruptError);
    expect(read).toBe(chunkBytes);
    expect((await readAll(blobs, 2 * chunkBytes, 10)).length).toBe(10);
  });

  test("is corrupt when it is cut off at a chunk's end, and when it holds another blob's bytes", async () => {
    const { blobs, path, directory } = await opened();
    const content = randomBytes(2 * chunkBytes);
    await blobs.write(blobId, key, piecesOf(content, chunkBytes));
    await blobs.write("ab00000000000000000000000000beef", key, piecesOf(content, chunkBytes));
    await truncate(path, chunkBytes + 20);
    await expect(readAll(blobs, 0, 2 * chunkBytes)).rejects.toThrow("the file ends before it");

    await writeFile(path, await readFile(join(directory, "v2", "ab", "ab00000000000000000000000000beef")));

    await expect(readAll(blobs, 0, 2 * chunkBytes)).rejects.toThrow("its checksum does not hold");
  });

  test("is corrupt when its last chunk is whole and shorter than the manifest says", async () => {
    const { blobs } = await opened();
    await blobs.write(blobId, key, piecesOf(randomBytes(chunkBytes + 9), chunkBytes));
    await expect(readAll(blobs, 0, chunkBytes + 10)).rejects.toThrow("it is shorter than its blob");
    await expect(readAll(blobs, chunkBytes, 10)).rejects.toThrow("it is shorter than its blob");
    expect((await readAll(blobs, chunkBytes, 9)).length).toBe(9);
  });
});

/** The files below the directory. */
const remains = async (directory: string): Promise<string[]> =>
  (await readdir(directory, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name);

const fail = (isFailing: boolean): void => {
  if (isFailing) throw new Error("EIO");
};

const failing = (what: "file" | "directory", failures: { left: number }): DiskSync => ({
  file: async () => fail(what === "file" && failures.left-- > 0),
  directory: async () => fail(what === "directory" && failures.left-- > 0),
});

async function* broken(): AsyncGenerator<Uint8Array> {
  yield randomBytes(2_000_000);
  throw new Error("the caller went away");
}

describe("a write that fails leaves nothing behind", () => {
  test("when the source fails, with the source's own error", async () => {
    const { blobs, directory } = await opened();
    await expect(blobs.write(blobId, key, broken())).rejects.toThrow("the caller went away");
    expect(await remains(directory)).toEqual([]);
  });

  test("when the signal ends it", async () => {
    const { blobs, directory } = await opened();
    const abort = new AbortController();
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (let count = 0; ; count += 1) {
        if (count === 5) abort.abort(new Error("stopped"));
        yield randomBytes(100_000);
      }
    }

    await expect(blobs.write(blobId, key, endless(), abort.signal)).rejects.toThrow("stopped");
    expect(await remains(directory)).toEqual([]);
  });

  test.each(["file", "directory"] as const)("when the sync of the %s fails", async (what) => {
    const failures = { left: 0 };
    const { blobs, directory } = await opened(failing(what, failures));
    failures.left = 1;

    await expect(blobs.write(blobId, key, piecesOf(randomBytes(10), 10))).rejects.toThrow(BlobWriteError);
    expect(await remains(directory)).toEqual([]);
  });

  test("when the process ended in the middle: the next start removes the draft", async () => {
    const { directory } = await opened();
    await writeFile(join(directory, "temporary", blobId), "half");

    const again = await openFileBlobStore({ directory });
    onTestFinished(() => again.close());

    expect(await remains(directory)).toEqual([]);
  });
});
