/** The parts of unbzip2-stream that read a block at a time; the package has no types. */
declare module "unbzip2-stream/lib/bit_iterator.js" {
  /** Reads so many bits; null: up to the next whole byte. */
  interface Bits {
    (count: number | null): number;
    readonly bytesRead: number;
  }
  export default function bitIterator(nextPiece: () => Uint8Array): Bits;
}

declare module "unbzip2-stream/lib/bzip2.js" {
  type Bits = import("unbzip2-stream/lib/bit_iterator.js").default extends (next: never) => infer B ? B : never;
  const bzip2: {
    readonly Bzip2Error: abstract new (...parameters: never[]) => Error;
    /** Reads the header of a stream; returns the size of its blocks in hundreds of thousands of bytes. */
    header(bits: Bits): number;
    /** Reads a block, byte by byte; returns the checksum so far, or null at the end of the stream. */
    decompress(
      bits: Bits,
      take: (byte: number) => void,
      buffer: Int32Array,
      size: number,
      checksum: number,
    ): number | null;
  };
  export default bzip2;
}
