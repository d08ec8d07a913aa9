import type { KeyObject } from "node:crypto";

import type { ByteRange } from "../domain/byte-range.ts";

/**
 * Stores content that is too large for the database. A blob is written once, whole, under an id of its own, and never
 * changed. Which manifests refer to it is known to the database only.
 */
export interface BlobStore {
  /**
   * Stores the pieces as a blob, encrypted with its data key, which no other blob may have; when it resolves, the blob
   * survives a crash and a power loss. Reads the next piece only when the disk has taken the ones before. If anything
   * fails, the source and the signal included, nothing remains. Throws BlobWriteError when the disk fails.
   */
  write(blobId: string, key: KeyObject, pieces: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<StoredBlob>;
  /**
   * Opens a range of a blob, which must be inside the blob. The pieces are read on demand and verified before they are
   * yielded. They stay readable if the blob is removed meanwhile. Without a key the blob is one that was stored before
   * blobs were encrypted. Throws BlobMissingError; while reading, BlobCorruptError.
   */
  open(blobId: string, range: ByteRange, key: KeyObject | undefined): Promise<AsyncIterable<Uint8Array>>;
  /**
   * Opens a blob of this size to check it without its key: the pieces have the lengths of its content, and are verified
   * by their checksums. Throws as `open` does.
   */
  verify(blobId: string, sizeBytes: number, isEncrypted: boolean): Promise<AsyncIterable<Uint8Array>>;
  /** Removes a blob; succeeds if there is none. */
  remove(blobId: string): Promise<void>;
  /** The blobs whose ids begin with these two hexadecimal digits, in the order of their ids. */
  list(shard: string): Promise<readonly BlobFile[]>;
  /** Closes the open directories. Blobs that are being read stay readable. */
  close(): Promise<void>;
}

/** The result of a write. */
export interface StoredBlob {
  readonly sizeBytes: number;
}

/** A blob on the disk. */
export interface BlobFile {
  readonly blobId: string;
  /** When it was last written, in milliseconds; undefined if it was removed meanwhile. */
  modifiedMs(): Promise<number | undefined>;
}

/** Any failure of a blob. */
abstract class BlobError extends Error {
  readonly blobId: string;

  constructor(blobId: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.blobId = blobId;
  }
}

/** There is no blob of this id. */
export class BlobMissingError extends BlobError {
  override readonly name = "BlobMissingError";

  constructor(blobId: string, options?: ErrorOptions) {
    super(blobId, `blob ${blobId} is missing`, options);
  }
}

/** The blob's bytes are not the ones that were written. None of the wrong ones was returned. */
export class BlobCorruptError extends BlobError {
  override readonly name = "BlobCorruptError";

  constructor(blobId: string, chunk: number, reason: string) {
    super(blobId, `chunk ${chunk} of blob ${blobId} is corrupt: ${reason}`);
  }
}

/** The disk failed to store the blob, so it is not stored. Syncing the same file again could hide the loss. */
export class BlobWriteError extends BlobError {
  override readonly name = "BlobWriteError";

  constructor(blobId: string, cause: unknown) {
    super(blobId, `blob ${blobId} could not be stored`, { cause });
  }
}

/** All first two digits of blob ids: 00 to ff. */
export const blobShards: readonly string[] = Array.from({ length: 256 }, (_none, index) =>
  index.toString(16).padStart(2, "0"),
);

/** The shard of a blob id. */
export const shardOf = (blobId: string): string => blobId.slice(0, 2);
