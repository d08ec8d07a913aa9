import type { KeyObject } from "node:crypto";

import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { SealBrokenError } from "../../kit/keyring/sealed.ts";
import type { Clock } from "../../kit/clock/clock.ts";
import type { Ids } from "../../kit/ids/ids.ts";
import { StoreWriteError } from "../../kit/store/errors.ts";
import { GatheredBytes } from "../../kit/wire/gathered-bytes.ts";
import type { BlobStore } from "../blobs/blob-store.ts";
import { BlobCorruptError, BlobMissingError } from "../blobs/blob-store.ts";
import type { BlobPins } from "../blobs/pins.ts";
import { fileBlobId, inlineBlobId } from "../domain/blob-id.ts";
import type { ChecksumMembers } from "../domain/checksum-algorithm.ts";
import type { BlobRange, NewBlob } from "../domain/extent.ts";
import type { ContentKey } from "../encryption/content-key.ts";
import { createBlobKey, openBlobKey, openInlineBody, sealInlineBody } from "../encryption/content-key.ts";
import { fault } from "../faults.ts";
import type { ContentExpectation, ContentFacts, ContentVerifier } from "./content-verifier.ts";
import { openContentVerifier } from "./content-verifier.ts";

/** Content as it arrives from a caller. */
export interface IncomingContent {
  /** Can be read once. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Stored before the body in the same blob, and not part of what is verified and digested. Unset: nothing. */
  readonly prefix?: Uint8Array;
  /** No checksum comes after the content. Unset: one may. */
  readonly hasNoTrailer?: boolean;
  /** The checksums that came after the content; called when the body has ended. */
  trailer(): ChecksumMembers;
}

/** Content that is stored and that no manifest refers to yet. */
export interface ReceivedContent extends ContentFacts {
  /** Undefined: there is no content. */
  readonly blob: NewBlob | undefined;
}

/** What a content store is opened from. */
export interface ContentStoreOptions {
  readonly blobs: BlobStore;
  readonly pins: BlobPins;
  readonly ids: Ids;
  readonly clock: Clock;
  /** Content of up to so many bytes is stored in the database. */
  readonly inlineBytesMax: number;
}

/**
 * Stores content encrypted and reads it; only it decides whether content is stored in the database or in a file. Each
 * blob has a data key of its own, which is stored with it, sealed under the content key.
 */
export class ContentStore {
  readonly #options: ContentStoreOptions;

  constructor(options: ContentStoreOptions) {
    this.#options = options;
  }

  /**
   * Stores content and passes it to `commit`, which must make a manifest refer to it. Small content is held in memory;
   * larger content is durable in a blob file by then. If anything fails (the content's own expectation, the caller, the
   * commit), the file is removed. Only after a StoreWriteError, when it is unknown whether the manifest was written, is
   * it left to the sweep.
   */
  async receive<T>(
    incoming: IncomingContent,
    expectation: ContentExpectation,
    contentKey: ContentKey,
    signal: AbortSignal,
    commit: (content: ReceivedContent) => Promise<T>,
  ): Promise<T> {
    const { blobs, pins, ids } = this.#options;
    let unpin = (): void => {};
    const beginFile = (): string => {
      const blobId = fileBlobId(ids);
      unpin = pins.pin([blobId]);
      return blobId;
    };
    try {
      const content = await this.#store(incoming, expectation, contentKey, beginFile, signal);
      try {
        return await commit(content);
      } catch (error) {
        const isFile = content.blob !== undefined && content.blob.inlineBody === undefined;
        if (isFile && !(error instanceof StoreWriteError)) await blobs.remove(content.blob.blobId);
        throw error;
      }
    } finally {
      unpin();
    }
  }

  /**
   * The bytes of the ranges, decrypted and verified. Files are opened one after the other as they are needed, and their
   * blobs are kept until the reading ends. Throws CONTENT_MISSING and CONTENT_CORRUPT, and yields no wrong byte before.
   */
  async *read(ranges: readonly BlobRange[], contentKey: ContentKey): AsyncGenerator<Uint8Array> {
    const { blobs, pins } = this.#options;
    const unpin = pins.pin(ranges.map((range) => range.blobId));
    let reading = "";
    try {
      for (const range of ranges) {
        const { offsetBytes, lengthBytes, inlineBody } = range;
        reading = range.blobId;
        const key = blobKeyOf(range, contentKey);
        if (inlineBody === undefined) yield* await blobs.open(reading, range, key);
        else {
          const body = key === undefined ? inlineBody : openInlineBody(key, reading, inlineBody);
          yield body.subarray(offsetBytes, offsetBytes + lengthBytes);
        }
      }
    } catch (error) {
      throw declared(reading, error);
    } finally {
      unpin();
    }
  }

  async #store(
    incoming: IncomingContent,
    expectation: ContentExpectation,
    contentKey: ContentKey,
    beginFile: () => string,
    signal: AbortSignal,
  ): Promise<ReceivedContent> {
    const { inlineBytesMax, blobs, ids, clock } = this.#options;
    const verifier = await openContentVerifier(expectation, incoming.hasNoTrailer !== true);
    const source = incoming.body[Symbol.asyncIterator]();
    try {
      const { pieces, isEnd } = await readBeginning(source, verifier, incoming.prefix, inlineBytesMax);
      if (isEnd) {
        signal.throwIfAborted();
        const facts = verifier.finish(incoming.trailer());
        return { ...facts, blob: inlineBlob(inlineBlobId(ids, clock.now()), contentKey, pieces) };
      }
      const blobId = beginFile();
      const key = createBlobKey(contentKey, blobId);
      let facts: ContentFacts | undefined;
      const all = beginningAndRest(pieces, source, verifier, () => {
        facts = verifier.finish(incoming.trailer());
      });
      const { sizeBytes } = await blobs.write(blobId, key.key, all, signal);
      if (facts === undefined) throw new Error("the blob store ended before its source");
      return { ...facts, blob: { blobId, sizeBytes, dataKey: key.sealed, inlineBody: undefined } };
    } finally {
      verifier.close();
      await source.return?.();
    }
  }
}

/** Reads pieces after the prefix until there are more bytes than are stored in the database, or no more pieces. */
const readBeginning = async (
  source: AsyncIterator<Uint8Array>,
  verifier: ContentVerifier,
  prefix: Uint8Array | undefined,
  bytesMax: number,
): Promise<{ readonly pieces: Uint8Array[]; readonly isEnd: boolean }> => {
  const bytes = new GatheredBytes();
  if (prefix !== undefined) bytes.add(prefix);
  while (bytes.size <= bytesMax) {
    const next = await source.next();
    if (next.done === true) return { pieces: bytes.takeParts(), isEnd: true };
    verifier.add(next.value);
    bytes.add(next.value);
  }
  return { pieces: bytes.takeParts(), isEnd: false };
};

/**
 * The pieces already read and the following ones. If `onEnd` throws, the blob's writing fails as for a broken source.
 */
async function* beginningAndRest(
  pieces: Uint8Array[],
  source: AsyncIterator<Uint8Array>,
  verifier: ContentVerifier,
  onEnd: () => void,
): AsyncGenerator<Uint8Array> {
  yield* pieces.splice(0);
  for (let next = await source.next(); next.done !== true; next = await source.next()) {
    verifier.add(next.value);
    yield next.value;
  }
  onEnd();
}

/** Content that is stored in the database; undefined if there is none. */
const inlineBlob = (blobId: string, contentKey: ContentKey, pieces: readonly Uint8Array[]): NewBlob | undefined => {
  const [only] = pieces;
  const content = pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
  const sizeBytes = content.length;
  if (sizeBytes === 0) return undefined;
  const { key, sealed } = createBlobKey(contentKey, blobId);
  return { blobId, sizeBytes, dataKey: sealed, inlineBody: sealInlineBody(key, blobId, content) };
};

/** The data key of a blob; undefined if it is not encrypted. Throws SealBrokenError. */
const blobKeyOf = ({ blobId, dataKey }: BlobRange, contentKey: ContentKey): KeyObject | undefined =>
  dataKey.length === 0 ? undefined : openBlobKey(contentKey, blobId, dataKey);

const declared = (blobId: string, error: unknown): unknown => {
  if (error instanceof SealBrokenError)
    return fault(ErrorReason.CONTENT_CORRUPT, { blob_id: blobId }, { cause: error });
  if (error instanceof BlobMissingError)
    return fault(ErrorReason.CONTENT_MISSING, { blob_id: error.blobId }, { cause: error });
  if (error instanceof BlobCorruptError)
    return fault(ErrorReason.CONTENT_CORRUPT, { blob_id: error.blobId }, { cause: error });
  return error;
};
