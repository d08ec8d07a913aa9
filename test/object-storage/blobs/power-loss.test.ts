import { randomBytes } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { mkdir, readdir, readFile, readlink, stat, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import { BlobMissingError } from "../../../services/object-storage/blobs/blob-store.ts";
import type { DiskSync } from "../../../services/object-storage/blobs/file-blob-store.ts";
import { openFileBlobStore } from "../../../services/object-storage/blobs/file-blob-store.ts";
import { blobKey } from "../../support/blob-key.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

/**
 * A disk that keeps nothing that was not synced: the bytes of a file as they were at its last sync, the names of a
 * directory as they were at its own.
 */
class ForgetfulDisk implements DiskSync {
  readonly #contents = new Map<number, Buffer>();
  readonly #names = new Map<string, Map<string, number>>();

  async file(handle: FileHandle): Promise<void> {
    const path = await pathOf(handle);
    this.#contents.set((await stat(path)).ino, await readFile(path));
  }

  async directory(handle: FileHandle): Promise<void> {
    const path = await pathOf(handle);
    const names = new Map<string, number>();
    for (const name of await readdir(path)) names.set(name, (await stat(join(path, name))).ino);
    this.#names.set(path, names);
  }

  /** Builds what is left of a directory after the power was lost. */
  async restore(from: string, to: string): Promise<void> {
    await mkdir(to, { recursive: true });
    for (const [name, inode] of this.#names.get(from) ?? []) {
      const isDirectory = this.#names.has(join(from, name));
      if (isDirectory) await this.restore(join(from, name), join(to, name));
      else await writeFile(join(to, name), this.#contents.get(inode) ?? "");
    }
  }
}

const pathOf = (handle: FileHandle): Promise<string> => readlink(`/proc/self/fd/${handle.fd}`);

const blobIds = ["aa01", "aa02", "bb01", "cc01"];
const content = randomBytes(600_000);

async function* pieces(): AsyncGenerator<Uint8Array> {
  yield content.subarray(0, 400_000);
  yield content.subarray(400_000);
}

/** Writes blobs, loses the power, and opens what is left. */
const storeAfterPowerLoss = async (sync: (disk: ForgetfulDisk) => DiskSync) => {
  const directory = await temporaryDirectory();
  const disk = new ForgetfulDisk();
  const before = await openFileBlobStore({ directory, sync: sync(disk) });
  for (const blobId of blobIds) await before.write(blobId, blobKey(), pieces());
  await before.close();
  const left = join(await temporaryDirectory(), "left");
  await disk.restore(directory, left);
  expect(relative(directory, left)).not.toBe("");
  const after = await openFileBlobStore({ directory: left });
  onTestFinished(() => after.close());
  return after;
};

describe("after the power was lost", () => {
  test("every blob whose write had ended is whole", async () => {
    const after = await storeAfterPowerLoss((disk) => disk);
    for (const blobId of blobIds) {
      const read: Uint8Array[] = [];
      for await (const piece of await after.open(blobId, { offsetBytes: 0, lengthBytes: content.length }, blobKey()))
        read.push(piece);
      expect(Buffer.concat(read).equals(content)).toBe(true);
    }
  });

  test("a blob is there whose directory was created before, and then could not be synced", async () => {
    const directory = await temporaryDirectory();
    const disk = new ForgetfulDisk();
    let failures = 1;
    const sync: DiskSync = {
      file: (handle) => disk.file(handle),
      directory: async (handle) => {
        const isOfShard = (await readdir(await pathOf(handle))).includes("aa");
        if (isOfShard && failures-- > 0) throw Object.assign(new Error("i/o error"), { code: "EIO" });
        await disk.directory(handle);
      },
    };
    const before = await openFileBlobStore({ directory, sync });
    await expect(before.write("aa01", blobKey(), pieces())).rejects.toThrow("blob aa01 could not be stored");
    await before.write("aa02", blobKey(), pieces());
    await before.close();
    const left = join(await temporaryDirectory(), "left");
    await disk.restore(directory, left);
    expect(await readdir(join(left, "v2", "aa"))).toEqual(["aa02"]);
  });

  test("none is there when directories are not synced, and none is whole when files are not", async () => {
    const namesLost = await storeAfterPowerLoss((disk) => ({
      file: (handle) => disk.file(handle),
      directory: async () => undefined,
    }));
    await expect(namesLost.open("aa01", { offsetBytes: 0, lengthBytes: 1 }, blobKey())).rejects.toThrow(
      BlobMissingError,
    );

    const bytesLost = await storeAfterPowerLoss((disk) => ({
      file: async () => undefined,
      directory: (handle) => disk.directory(handle),
    }));
    const reading = (await bytesLost.open("aa01", { offsetBytes: 0, lengthBytes: 1 }, blobKey()))[
      Symbol.asyncIterator
    ]();
    await expect(reading.next()).rejects.toThrow("the file ends before it");
  });
});
