import bitIterator from "unbzip2-stream/lib/bit_iterator.js";
import bzip2 from "unbzip2-stream/lib/bzip2.js";

import { refusal } from "../refusal.ts";

/** Compressed bytes that a block surely fits in: 900,000 symbols of at most 20 bits, and its tables. */
const blockBytesMax = 2.5 * 1024 * 1024;

/** Bytes of a piece of what is decompressed: runs make up to 255 bytes of five. */
const pieceBytes = 256 * 1024;

/** Bytes that one block becomes at most. */
const blockContentMax = 900_000 * 52;

/**
 * The content of an object in bzip2 format, of which several may follow each other. A block is decompressed when all of
 * it has arrived. Throws INVALID_COMPRESSION_FORMAT and TRUNCATED_INPUT.
 */
export async function* bunzipped(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const reader = new BlockReader();
  for await (const piece of pieces) {
    reader.add(piece);
    while (reader.availableBytes > blockBytesMax) yield* reader.read();
  }
  reader.isEnd = true;
  while (reader.availableBytes > 0) yield* reader.read();
  if (!reader.isBetweenStreams) throw refusal("TRUNCATED_INPUT");
}

class BlockReader {
  isEnd = false;
  #queue: Buffer[] = [];
  #added = 0;
  #bits: ReturnType<typeof bitIterator> | undefined;
  /** Hundreds of thousands of bytes of a block; 0: the header of a stream follows. */
  #blockSize = 0;
  #crc = 0;
  /** Of the largest block so far. */
  #block = new Int32Array(0);

  get availableBytes(): number {
    return this.#added - (this.#bits?.bytesRead ?? 0);
  }

  get isBetweenStreams(): boolean {
    return this.#added > 0 && this.#blockSize === 0;
  }

  add(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#queue.push(piece);
    this.#added += piece.length;
  }

  /** Reads the header of a stream, a block, or the end of a stream. */
  read(): Buffer[] {
    this.#bits ??= bitIterator(() => this.#nextPiece());
    try {
      if (this.#blockSize === 0) {
        this.#blockSize = bzip2.header(this.#bits);
        this.#crc = 0;
        return [];
      }
      const content = new ByteSink();
      const size = 100_000 * this.#blockSize;
      if (this.#block.length < size) this.#block = new Int32Array(size);
      const crc = bzip2.decompress(this.#bits, (byte) => content.add(byte), this.#block, size, this.#crc);
      if (crc === null) this.#blockSize = 0;
      else this.#crc = crc;
      return content.pieces();
    } catch (error) {
      if (error instanceof bzip2.Bzip2Error)
        throw refusal("INVALID_COMPRESSION_FORMAT", "The object is not in BZIP2 format.");
      throw error;
    }
  }

  #nextPiece(): Buffer {
    const piece = this.#queue.shift();
    if (piece === undefined) throw refusal("TRUNCATED_INPUT");
    return piece;
  }
}

/** Gathers single bytes. */
class ByteSink {
  readonly #full: Buffer[] = [];
  /** A stream may have any number of blocks without content. */
  #piece: Buffer = Buffer.alloc(0);
  #length = 0;

  add(byte: number): void {
    if (this.#length === this.#piece.length) {
      if (this.#full.length * pieceBytes > blockContentMax)
        throw refusal("INVALID_COMPRESSION_FORMAT", "The object is not in BZIP2 format.");
      if (this.#length > 0) this.#full.push(this.#piece);
      this.#piece = Buffer.allocUnsafe(pieceBytes);
      this.#length = 0;
    }
    this.#piece[this.#length] = byte;
    this.#length += 1;
  }

  pieces(): Buffer[] {
    return [...this.#full, this.#piece.subarray(0, this.#length)].filter(({ length }) => length > 0);
  }
}
