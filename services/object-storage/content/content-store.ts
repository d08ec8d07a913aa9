import type { Ids } from "../../kit/ids/ids.ts";
import { StoreWriteError } from "../../kit/store/errors.ts";
import { GatheredBytes } from "../../kit/wire/gathered-bytes.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { BlobStore } from "../blobs/blob-store.ts";
import { BlobCorruptError, BlobMissingError } from "../blobs/blob-store.ts";
import type { BlobPins } from "../blobs/pins.ts";
import type { ChecksumMembers } from "../domain/checksum-algorithm.ts";
import { fault } from "../faults.ts";
import type { ContentExpectation, ContentFacts, Meter } from "./meter.ts";
import { openMeter } from "./meter.ts";

/** Content as it comes from a caller. */
export interface IncomingContent {
  /** Can be read once. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Checksums that came after the content; asked for when the body has ended. */
  trailer(): ChecksumMembers;
}

/** Content that is stored and that no manifest refers to yet. */
export interface ReceivedContent extends ContentFacts {
  /** Undefined when there is no content. */
  readonly blob: NewBlob | undefined;
}

/** A blob that was just made: a file, or bytes that are to be put into the database. */
export interface NewBlob {
  readonly blobId: string;
  readonly sizeBytes: number;
  readonly inlineBody: Uint8Array | undefined;
}

/** A stretch of a blob that is to be read. */
export interface ContentStretch {
  readonly blobId: string;
  readonly offsetBytes: number;
  readonly lengthBytes: number;
  /** The whole blob when it lies in the database; undefined when it is a file. */
  readonly inlineBody: Uint8Array | undefined;
}

/** What a content store is made of. */
export interface ContentStoreOptions {
  readonly blobs: BlobStore;
  readonly pins: BlobPins;
  readonly ids: Ids;
  /** Content up to this size goes into the database. */
  readonly inlineBytesMax: number;
}

/** Takes content in and gives it out; where it lies is decided here alone. */
export class ContentStore {
  readonly #options: ContentStoreOptions;

  constructor(options: ContentStoreOptions) {
    this.#options = options;
  }

  /**
   * Stores content and gives it to `commit`, which must make a manifest refer to it. Small content is held in memory;
   * larger content is durable in a blob file by then. When anything fails, the content's own expectation, the caller or
   * the commit, the file is removed; only after a StoreWriteError, when nobody knows whether the manifest was written,
   * is it left to the sweep.
   */
  async receive<T>(
    incoming: IncomingContent,
    expectation: ContentExpectation,
    signal: AbortSignal,
    commit: (content: ReceivedContent) => Promise<T>,
  ): Promise<T> {
    const blobId = this.#options.ids.hex(32);
    const unpin = this.#options.pins.pin([blobId]);
    try {
      const content = await this.#store(blobId, incoming, expectation, signal);
      try {
        return await commit(content);
      } catch (error) {
        const isFile = content.blob !== undefined && content.blob.inlineBody === undefined;
        if (isFile && !(error instanceof StoreWriteError)) await this.#options.blobs.remove(blobId);
        throw error;
      }
    } finally {
      unpin();
    }
  }

  /**
   * The bytes of the stretches, verified. Files are opened one after the other as they are needed, and their blobs stay
   * until the reading ends. Throws CONTENT_MISSING and CONTENT_CORRUPT; no wrong byte is given out before.
   */
  async *read(stretches: readonly ContentStretch[]): AsyncGenerator<Uint8Array> {
    const { blobs, pins } = this.#options;
    const unpin = pins.pin(stretches.map((stretch) => stretch.blobId));
    try {
      for (const stretch of stretches) {
        const { blobId, offsetBytes, lengthBytes, inlineBody } = stretch;
        if (inlineBody === undefined) yield* await blobs.open(blobId, stretch);
        else yield inlineBody.subarray(offsetBytes, offsetBytes + lengthBytes);
      }
    } catch (error) {
      throw declared(error);
    } finally {
      unpin();
    }
  }

  async #store(
    blobId: string,
    incoming: IncomingContent,
    expectation: ContentExpectation,
    signal: AbortSignal,
  ): Promise<ReceivedContent> {
    const { inlineBytesMax, blobs } = this.#options;
    const meter = await openMeter(expectation);
    const source = incoming.body[Symbol.asyncIterator]();
    try {
      const { pieces, isEnd } = await takeBeginning(source, meter, inlineBytesMax);
      if (isEnd) {
        signal.throwIfAborted();
        return inline(blobId, pieces, meter.finish(incoming.trailer()));
      }
      let facts: ContentFacts | undefined;
      const rest = restOf(pieces, source, meter, () => {
        facts = meter.finish(incoming.trailer());
      });
      const { sizeBytes } = await blobs.write(blobId, rest, signal);
      if (facts === undefined) throw new Error("the blob store ended before its source");
      return { ...facts, blob: { blobId, sizeBytes, inlineBody: undefined } };
    } finally {
      await source.return?.();
    }
  }
}

/** Takes pieces until there are more bytes than go into the database, or no more pieces. */
const takeBeginning = async (
  source: AsyncIterator<Uint8Array>,
  meter: Meter,
  bytesMax: number,
): Promise<{ readonly pieces: Uint8Array[]; readonly isEnd: boolean }> => {
  const bytes = new GatheredBytes();
  while (bytes.size <= bytesMax) {
    const next = await source.next();
    if (next.done === true) return { pieces: bytes.takeParts(), isEnd: true };
    meter.take(next.value);
    bytes.add(next.value);
  }
  return { pieces: bytes.takeParts(), isEnd: false };
};

/** The pieces already taken and those to come. What `onEnd` throws ends the blob's writing as a broken source does. */
async function* restOf(
  pieces: Uint8Array[],
  source: AsyncIterator<Uint8Array>,
  meter: Meter,
  onEnd: () => void,
): AsyncGenerator<Uint8Array> {
  yield* pieces.splice(0);
  for (let next = await source.next(); next.done !== true; next = await source.next()) {
    meter.take(next.value);
    yield next.value;
  }
  onEnd();
}

const inline = (blobId: string, pieces: readonly Uint8Array[], facts: ContentFacts): ReceivedContent => ({
  ...facts,
  blob:
    facts.sizeBytes === 0
      ? undefined
      : { blobId, sizeBytes: facts.sizeBytes, inlineBody: Buffer.concat(pieces, facts.sizeBytes) },
});

const declared = (error: unknown): unknown => {
  if (error instanceof BlobMissingError)
    return fault(ErrorReason.CONTENT_MISSING, { blob_id: error.blobId }, { cause: error });
  if (error instanceof BlobCorruptError)
    return fault(ErrorReason.CONTENT_CORRUPT, { blob_id: error.blobId }, { cause: error });
  return error;
};
