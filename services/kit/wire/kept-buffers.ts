import { freeMemory } from "./lent-memory.ts";

/** Buffers of one size that are read into again and again: nothing is allocated for the bytes that pass. */
export class KeptBuffers {
  readonly #sizeBytes: number;
  readonly #keptMax: number;
  readonly #kept: Buffer[] = [];

  /** At most so many buffers wait for their next use. */
  constructor(sizeBytes: number, keptMax: number) {
    this.#sizeBytes = sizeBytes;
    this.#keptMax = keptMax;
  }

  /** A buffer of any content. Who does not put it back leaves it to the collection. */
  take(): Buffer {
    return this.#kept.pop() ?? Buffer.allocUnsafeSlow(this.#sizeBytes);
  }

  /** Takes a buffer to which nobody refers any more; one of another size, or one too many, is freed. */
  put(buffer: Buffer): void {
    if (buffer.length === this.#sizeBytes && this.#kept.length < this.#keptMax) this.#kept.push(buffer);
    else freeMemory(buffer);
  }
}
