import type { KeyObject } from "node:crypto";
import type { FileHandle } from "node:fs/promises";

import { giveBack } from "../../kit/wire/lent-memory.ts";
import { BlobWriteError } from "./blob-store.ts";
import type { ChunkWriter } from "./chunk-format.ts";
import { chunkBytes, writeChunk } from "./chunk-format.ts";

/** Bytes that are collected before the disk is called. */
const writeBytesMin = 1024 * 1024;
/** Buffers in one call, below the least limit of any system. */
const writeBuffersMax = 512;

/**
 * Writes the pieces as encrypted chunks and returns how many bytes the pieces had. One write runs while the next pieces
 * are read, and no more are read, so at most the bytes of two writes are held.
 */
export const writeChunks = async (
  blobId: string,
  key: KeyObject,
  handle: FileHandle,
  pieces: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<number> => {
  const sink = new Sink(blobId, handle);
  let writer: ChunkWriter | undefined;
  let chunk = 0;
  let chunkFill = 0;
  let sizeBytes = 0;
  const endChunk = (current: ChunkWriter): void => {
    sink.add(current.end());
    writer = undefined;
    chunk += 1;
    chunkFill = 0;
  };
  try {
    for await (const piece of pieces) {
      signal?.throwIfAborted();
      for (let at = 0; at < piece.length;) {
        const part = piece.subarray(at, at + chunkBytes - chunkFill);
        const current = writer ?? writeChunk(blobId, chunk, key);
        writer = current;
        sink.add(current.add(part));
        chunkFill += part.length;
        at += part.length;
        if (chunkFill === chunkBytes) endChunk(current);
      }
      sizeBytes += piece.length;
      giveBack(piece);
      if (sink.isFull) await sink.flush();
    }
    signal?.throwIfAborted();
    if (writer !== undefined) endChunk(writer);
    await sink.flush();
    await sink.finish();
    return sizeBytes;
  } finally {
    await sink.settle();
  }
};

/** Collects buffers and writes them to the disk, one call at a time, in their order. */
class Sink {
  readonly #blobId: string;
  readonly #handle: FileHandle;
  #buffers: Uint8Array[] = [];
  #bytes = 0;
  #running: Promise<void> | undefined;
  #failure: unknown;

  constructor(blobId: string, handle: FileHandle) {
    this.#blobId = blobId;
    this.#handle = handle;
  }

  get isFull(): boolean {
    return this.#bytes >= writeBytesMin || this.#buffers.length >= writeBuffersMax;
  }

  add(buffer: Uint8Array): void {
    this.#buffers.push(buffer);
    this.#bytes += buffer.length;
  }

  /** Waits for the previous write, then starts this one. */
  async flush(): Promise<void> {
    await this.finish();
    const buffers = this.#buffers;
    this.#buffers = [];
    this.#bytes = 0;
    this.#running = this.#write(buffers).catch((error: unknown) => {
      this.#failure = error;
    });
  }

  /** Waits until no write runs. Throws BlobWriteError if one failed. */
  async finish(): Promise<void> {
    await this.settle();
    if (this.#failure !== undefined) throw new BlobWriteError(this.#blobId, this.#failure);
  }

  /** Waits until no write runs. */
  async settle(): Promise<void> {
    await this.#running;
    this.#running = undefined;
  }

  async #write(buffers: readonly Uint8Array[]): Promise<void> {
    let rest = buffers;
    while (rest.length > 0) {
      const batch = rest.slice(0, writeBuffersMax);
      rest = rest.slice(writeBuffersMax);
      const wanted = batch.reduce((sum, buffer) => sum + buffer.length, 0);
      const { bytesWritten } = await this.#handle.writev(batch);
      if (bytesWritten < wanted) await this.#writeRest(batch, bytesWritten);
      for (const buffer of batch) giveBack(buffer);
    }
  }

  /** Writes the rest of buffers of which the disk took only a beginning, buffer by buffer. */
  async #writeRest(batch: readonly Uint8Array[], written: number): Promise<void> {
    let skip = written;
    for (const buffer of batch) {
      let at = Math.min(skip, buffer.length);
      skip -= at;
      while (at < buffer.length) {
        const { bytesWritten } = await this.#handle.write(buffer, at, buffer.length - at);
        if (bytesWritten === 0) throw new Error("the disk took no byte");
        at += bytesWritten;
      }
    }
  }
}
