/**
 * Where content lies that is too large for the database. A blob is written once, whole, under an id of its own and
 * never changed. Whether anything refers to it is not the blob store's business: the database alone knows.
 */
export interface BlobStore {
  /**
   * Stores the pieces as a blob; when it resolves they survive a crash and a power loss. Takes the next piece only when
   * the disk has taken the ones before. On any failure, the source's own and the signal's among them, nothing remains.
   * Throws BlobWriteError when the disk fails.
   */
  write(blobId: string, pieces: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<StoredBlob>;
  /**
   * Opens a stretch of a blob. The pieces are verified before they are given out and read as they are taken. The bytes
   * stay readable when the blob is removed meanwhile. Throws BlobMissingError; while reading, BlobCorruptError.
   */
  open(blobId: string, stretch: BlobStretch): Promise<AsyncIterable<Uint8Array>>;
  /** Removes a blob; one that is not there is no error. */
  remove(blobId: string): Promise<void>;
  /** The blobs whose ids begin with these two hexadecimal digits, in the order of their ids. */
  list(shard: string): Promise<readonly BlobFile[]>;
  /** Closes what is held open. Blobs that are being read stay readable. */
  close(): Promise<void>;
}

/** What a write stored. */
export interface StoredBlob {
  readonly sizeBytes: number;
}

/** Which bytes of a blob; both are whole numbers, and the stretch lies inside the blob. */
export interface BlobStretch {
  readonly offsetBytes: number;
  readonly lengthBytes: number;
}

/** A blob as it lies on the disk. */
export interface BlobFile {
  readonly blobId: string;
  /** When it was last written; undefined when it is gone meanwhile. */
  modifiedMs(): Promise<number | undefined>;
}

/** Whatever is wrong with a blob. */
export abstract class BlobError extends Error {
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

/** The blob's bytes are not the ones that were written. None of them has been given out. */
export class BlobCorruptError extends BlobError {
  override readonly name = "BlobCorruptError";

  constructor(blobId: string, chunk: number, reason: string) {
    super(blobId, `chunk ${chunk} of blob ${blobId} is corrupt: ${reason}`);
  }
}

/** The disk failed to store the blob, so it is not stored. Trying the same file again could hide the loss. */
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
