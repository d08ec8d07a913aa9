import type { KeyObject } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

import { hasCode } from "../../kit/files/error-code.ts";
import type { ByteRange } from "../domain/byte-range.ts";
import type { BlobFile, BlobStore, StoredBlob } from "./blob-store.ts";
import { BlobMissingError, BlobWriteError, shardOf } from "./blob-store.ts";
import { readBlobRange } from "./blob-reader.ts";
import { writeChunks } from "./blob-writer.ts";
import type { ChunkReader } from "./chunk-format.ts";
import { plainChunks, sealedChunks, storedChunks } from "./chunk-format.ts";

/** The disk calls that durability depends on, so that a test can fail or watch them. */
export interface DiskSync {
  /** Makes a file's bytes durable. */
  file(handle: FileHandle): Promise<void>;
  /** Makes the names in a directory durable. */
  directory(handle: FileHandle): Promise<void>;
}

const diskSync: DiskSync = {
  file: (handle) => handle.datasync(),
  directory: (handle) => handle.sync(),
};

/** How a blob store on files is opened. */
export interface FileBlobStoreOptions {
  /** Used by this blob store only; created if it does not exist. */
  readonly directory: string;
  readonly sync?: DiskSync;
}

const versionDirectory = "v2";
const formerVersionDirectory = "v1";

/** Where the file of a blob is, below the directory of its store. Those of before encryption are in another place. */
export const blobPath = (blobId: string, isEncrypted: boolean): string =>
  `${isEncrypted ? versionDirectory : formerVersionDirectory}/${shardOf(blobId)}/${blobId}`;

/** Whether the file of a blob is encrypted, by its path below the directory of its store. */
export const isEncryptedPath = (path: string): boolean => path.startsWith(`${versionDirectory}/`);

/**
 * Blobs as files, in up to 256 directories by the first two digits of the id, below a directory that names the version
 * of the chunk format: `v2` for encrypted ones, `v1` for those of before. A blob is written in the directory
 * `temporary` and renamed when it is durable, so every file outside it is whole; files that a crash left in `temporary`
 * are removed at the next start.
 */
export const openFileBlobStore = async (options: FileBlobStoreOptions): Promise<BlobStore> => {
  const { directory, sync = diskSync } = options;
  const temporary = join(directory, "temporary");
  const root = join(directory, versionDirectory);
  await rm(temporary, { recursive: true, force: true });
  for (const path of [temporary, root]) await createDirectory(path, sync);

  const handles = new Map<string, Promise<FileHandle>>();
  /** The open directory of a shard, which is created durably when a blob first needs it. */
  const shardHandle = (shard: string): Promise<FileHandle> => {
    const known = handles.get(shard);
    if (known !== undefined) return known;
    const path = join(root, shard);
    const handle = createDirectory(path, sync).then(() => open(path));
    handles.set(shard, handle);
    handle.catch(() => handles.delete(shard));
    return handle;
  };
  const pathOf = (blobId: string): string => join(directory, blobPath(blobId, true));
  const formerPathOf = (blobId: string): string => join(directory, blobPath(blobId, false));
  const read = async (
    blobId: string,
    isEncrypted: boolean,
    chunks: ChunkReader,
    range: ByteRange,
  ): Promise<AsyncIterable<Uint8Array>> => {
    const handle = await openExisting(blobId, isEncrypted ? pathOf(blobId) : formerPathOf(blobId));
    return readBlobRange(blobId, handle, chunks, range);
  };

  const write = async (
    blobId: string,
    key: KeyObject,
    pieces: AsyncIterable<Uint8Array>,
    signal?: AbortSignal,
  ): Promise<StoredBlob> => {
    const draft = join(temporary, blobId);
    const path = pathOf(blobId);
    try {
      const sizeBytes = await writeDraft(blobId, key, draft, pieces, sync, signal);
      await disk(blobId, async () => {
        const shard = await shardHandle(shardOf(blobId));
        await rename(draft, path);
        await sync.directory(shard);
      });
      return { sizeBytes };
    } catch (error) {
      await rm(draft, { force: true });
      await rm(path, { force: true });
      throw error;
    }
  };

  return {
    write,
    open: (blobId, range, key) =>
      read(blobId, key !== undefined, key === undefined ? plainChunks(blobId) : sealedChunks(blobId, key), range),
    verify: (blobId, sizeBytes, isEncrypted) => {
      const chunks = isEncrypted ? storedChunks(blobId) : plainChunks(blobId);
      return read(blobId, isEncrypted, chunks, { offsetBytes: 0, lengthBytes: sizeBytes });
    },
    async remove(blobId: string) {
      await rm(pathOf(blobId), { force: true });
      await rm(formerPathOf(blobId), { force: true });
    },
    async list(shard: string) {
      const files = await Promise.all([
        listShard(join(root, shard)),
        listShard(join(directory, formerVersionDirectory, shard)),
      ]);
      return files.flat().toSorted((one, other) => (one.blobId < other.blobId ? -1 : 1));
    },
    async close() {
      await Promise.all([...handles.values()].map(async (handle) => (await handle).close()));
      handles.clear();
    },
  };
};

/** Writes and syncs the draft, and does not rename it. Throws the source's own errors unchanged. */
const writeDraft = async (
  blobId: string,
  key: KeyObject,
  draft: string,
  pieces: AsyncIterable<Uint8Array>,
  sync: DiskSync,
  signal: AbortSignal | undefined,
): Promise<number> => {
  const handle = await disk(blobId, () => open(draft, "wx", 0o600));
  try {
    const sizeBytes = await writeChunks(blobId, key, handle, pieces, signal);
    await disk(blobId, () => sync.file(handle));
    return sizeBytes;
  } finally {
    await handle.close();
  }
};

/** Runs a step on the disk. Throws BlobWriteError if it fails. */
const disk = async <T>(blobId: string, step: () => Promise<T>): Promise<T> => {
  try {
    return await step();
  } catch (error) {
    throw new BlobWriteError(blobId, error);
  }
};

const openExisting = async (blobId: string, path: string): Promise<FileHandle> => {
  try {
    return await open(path);
  } catch (error) {
    if (isNotFound(error)) throw new BlobMissingError(blobId, { cause: error });
    throw error;
  }
};

const modifiedMsOf = async (path: string): Promise<number | undefined> => {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
};

/**
 * Creates a directory and the missing ones above it, each durably. The name of one that exists already is synced as
 * well, because whoever created it may have failed or ended before that.
 */
const createDirectory = async (path: string, sync: DiskSync): Promise<void> => {
  const absolute = resolve(path);
  const first = (await mkdir(absolute, { recursive: true })) ?? absolute;
  for (let created = absolute; created.length >= first.length; created = dirname(created))
    await syncDirectory(dirname(created), sync);
};

const syncDirectory = async (directory: string, sync: DiskSync): Promise<void> => {
  const handle = await open(directory);
  try {
    await sync.directory(handle);
  } finally {
    await handle.close();
  }
};

const listShard = async (directory: string): Promise<BlobFile[]> => {
  const names = await readdir(directory).catch(emptyWhenAbsent);
  return names.map((blobId) => ({ blobId, modifiedMs: () => modifiedMsOf(join(directory, blobId)) }));
};

const emptyWhenAbsent = (error: unknown): string[] => {
  if (isNotFound(error)) return [];
  throw error;
};

const isNotFound = (error: unknown): boolean => hasCode(error, "ENOENT");
