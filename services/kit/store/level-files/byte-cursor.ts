/** LevelDB's encodings, read from the front of a buffer. A read past the end throws RangeError. */
export class ByteCursor {
  readonly #bytes: Buffer;
  #offset = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get isAtEnd(): boolean {
    return this.#offset === this.#bytes.byteLength;
  }

  byte(): number {
    const value = this.#bytes.readUInt8(this.#offset);
    this.#offset += 1;
    return value;
  }

  /** A number of up to 64 bits in groups of 7, the lowest first. Throws RangeError above 2^53-1. */
  varint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const group = this.byte();
      value += (group & 0x7f) * scale;
      if (!Number.isSafeInteger(value)) throw new RangeError("the number is too large");
      if (group < 0x80) return value;
    }
  }

  /** The next bytes, not copied. */
  take(length: number): Buffer {
    const end = this.#offset + length;
    if (end > this.#bytes.byteLength) throw new RangeError("the bytes are cut off");
    const taken = this.#bytes.subarray(this.#offset, end);
    this.#offset = end;
    return taken;
  }

  /** Bytes after a varint with their number. */
  lengthPrefixed(): Buffer {
    return this.take(this.varint());
  }
}
