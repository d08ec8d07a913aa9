import type { FileHandle } from "node:fs/promises";

import { KeptBuffers } from "../../kit/wire/kept-buffers.ts";
import { lendToFree } from "../../kit/wire/lent-memory.ts";
import type { ByteRange } from "../domain/byte-range.ts";
import { BlobCorruptError } from "./blob-store.ts";
import type { ChunkReader } from "./chunk-format.ts";
import { chunkBytes, chunkOf, sealedChunkBytes } from "./chunk-format.ts";

/** Chunks that one call to the disk reads. */
const readChunksMax = 4;

interface Batch {
  readonly first: number;
  readonly read: Buffer;
  /** What was read into. */
  readonly buffer: Buffer;
}

/** For batches whose chunks are opened by copying them, so that nobody refers to what was read. */
const readBuffers = new KeptBuffers(readChunksMax * sealedChunkBytes, 8);

/**
 * The verified bytes of a range, in pieces of up to one chunk. The next batch is read while the current one is
 * consumed, and no further one. Owns the handle: it is closed when the reading ends, however it ends. An iterator of
 * which nothing is read must be returned.
 */
export const readBlobRange = (
  blobId: string,
  handle: FileHandle,
  chunks: ChunkReader,
  { offsetBytes, lengthBytes }: ByteRange,
): AsyncIterable<Uint8Array> => {
  const { storedChunkBytes } = chunks;
  const endBytes = offsetBytes + lengthBytes;
  const last = chunkOf(Math.max(offsetBytes, endBytes - 1));
  let isBegun = false;

  const readBatch = async (first: number): Promise<Batch> => {
    const count = Math.min(readChunksMax, last - first + 1);
    const bytes = count * storedChunkBytes;
    const isKept = chunks.isCopying && count === readChunksMax;
    const buffer = isKept ? readBuffers.take() : Buffer.allocUnsafeSlow(bytes);
    const filled = await fill(handle, buffer.subarray(0, bytes), first * storedChunkBytes);
    return { first, read: buffer.subarray(0, filled), buffer };
  };

  async function* pieces(): AsyncGenerator<Uint8Array> {
    isBegun = true;
    let ahead: Promise<Batch> | undefined;
    try {
      if (lengthBytes === 0) return;
      ahead = readBatch(chunkOf(offsetBytes));
      while (ahead !== undefined) {
        const { first, read, buffer }: Batch = await ahead;
        const next: number = first + readChunksMax;
        ahead = next <= last ? readBatch(next) : undefined;
        ahead?.catch(() => undefined);
        for (let chunk = first; chunk < next && chunk <= last; chunk += 1) {
          const at = (chunk - first) * storedChunkBytes;
          const opened = chunks.open(chunk, read.subarray(at, at + storedChunkBytes));
          if ("fault" in opened) throw new BlobCorruptError(blobId, chunk, opened.fault);
          const chunkStart = chunk * chunkBytes;
          const until = Math.min(endBytes - chunkStart, chunkBytes);
          if (opened.bytes.length < until) throw new BlobCorruptError(blobId, chunk, "it is shorter than its blob");
          // Only the next reader refers to a copy.
          if (chunks.isCopying) lendToFree(opened.bytes);
          yield opened.bytes.subarray(Math.max(0, offsetBytes - chunkStart), until);
        }
        if (chunks.isCopying) readBuffers.put(buffer);
      }
    } finally {
      await ahead?.catch(() => undefined);
      await handle.close();
    }
  }

  const iterator = pieces();
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => iterator.next(),
      async return() {
        if (!isBegun) await handle.close();
        await iterator.return(undefined);
        return { done: true, value: undefined };
      },
    }),
  };
};

/** Reads until the buffer is full or the file ends; returns how many bytes were read. */
const fill = async (handle: FileHandle, buffer: Buffer, position: number): Promise<number> => {
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
};
