import type { KeptMemory } from "./kept-memory.ts";

/**
 * Bytes that are written one after the other, in memory that is used again: they must be copied, and then released,
 * before anything is waited for.
 */
export class KeptBytes {
  readonly #memory: KeptMemory;
  protected bytes: Buffer;
  protected at = 0;

  constructor(memory: KeptMemory, firstBytes: number) {
    this.#memory = memory;
    this.bytes = memory.take(firstBytes);
  }

  /** How many there are; `cutAt` removes what follows so many. */
  get length(): number {
    return this.at;
  }

  cutAt(length: number): void {
    this.at = length;
  }

  /** A view of them, until they are released. */
  get written(): Buffer {
    return this.bytes.subarray(0, this.at);
  }

  /** They are no longer used, and nothing is written any more. */
  release(): void {
    this.#memory.giveBack(this.bytes);
    this.bytes = noBytes;
    this.at = 0;
  }

  /** Adds bytes as they are. */
  addBytes(from: Uint8Array, start: number, end: number): void {
    this.reserve(end - start);
    const into = this.bytes;
    let { at } = this;
    if (end - start > shortLength) into.set(from.subarray(start, end), at);
    else for (let index = start; index < end; index += 1) into[at++] = from[index]!;
    this.at += end - start;
  }

  /** Adds a text as UTF-8. */
  addText(text: string): void {
    const { length } = text;
    this.reserve(length * utf8BytesMax);
    const into = this.bytes;
    let { at } = this;
    let all = length > shortLength ? asciiEnd : 0;
    for (let index = 0; index < length && all < asciiEnd; index += 1) {
      const code = text.charCodeAt(index);
      all |= code;
      into[at++] = code;
    }
    this.at = all < asciiEnd ? at : this.at + into.write(text, this.at, "utf8");
  }

  /** Makes room for so many more. */
  protected reserve(bytes: number): void {
    if (this.at + bytes <= this.bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(2 * (this.at + bytes));
    grown.set(this.written);
    this.bytes = grown;
  }
}

const noBytes = Buffer.alloc(0);
/** Of a UTF-16 code unit. */
const utf8BytesMax = 3;
const asciiEnd = 0x80;
/** Up to this length, a loop is cheaper than a call of the platform. */
const shortLength = 64;
