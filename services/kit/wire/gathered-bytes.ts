/** A piece below this size is copied; a larger one is kept without copying. */
const copiedBytesMax = 4 * 1024;
const blockBytes = 16 * 1024;

/**
 * Bytes that arrive in pieces and are needed together. Small pieces are copied into one block, so that the memory is in
 * proportion to the bytes: a buffer for each of a million pieces of one byte would need hundreds of times as much.
 */
export class GatheredBytes {
  #parts: Uint8Array[] = [];
  /** The block for small pieces; its filled beginning is the last part. */
  #block: Buffer | undefined;
  #filled = 0;
  #size = 0;

  /** Bytes so far. */
  get size(): number {
    return this.#size;
  }

  add(piece: Uint8Array): void {
    if (piece.length === 0) return;
    this.#size += piece.length;
    if (piece.length >= copiedBytesMax || this.#parts.length === 0) {
      this.#closeBlock();
      this.#parts.push(piece);
      return;
    }
    if (this.#block !== undefined && this.#filled + piece.length > blockBytes) this.#closeBlock();
    this.#block ??= Buffer.allocUnsafeSlow(blockBytes);
    this.#block.set(piece, this.#filled);
    this.#filled += piece.length;
  }

  /** All bytes in a few parts, in their order; nothing is held afterwards. */
  takeParts(): Uint8Array[] {
    this.#closeBlock();
    const parts = this.#parts;
    this.#parts = [];
    this.#size = 0;
    return parts;
  }

  /** All bytes as one; nothing is held afterwards. */
  take(): Buffer {
    const size = this.#size;
    const parts = this.takeParts();
    const [only] = parts;
    if (parts.length === 1 && only !== undefined) return Buffer.from(only.buffer, only.byteOffset, only.byteLength);
    return Buffer.concat(parts, size);
  }

  #closeBlock(): void {
    if (this.#block !== undefined) this.#parts.push(this.#block.subarray(0, this.#filled));
    this.#block = undefined;
    this.#filled = 0;
  }
}
