import { ByteCursor } from "./byte-cursor.ts";

/**
 * Decompresses a Snappy block. Throws RangeError if it is malformed. Only for blocks whose checksum
 * holds: the length that the block states is allocated before it is read.
 */
export const unsnap = (compressed: Uint8Array): Buffer => {
  const input = new ByteCursor(compressed);
  const output = Buffer.alloc(input.varint());
  let length = 0;
  while (!input.isAtEnd) {
    const tag = input.byte();
    if ((tag & 3) === 0) {
      const literal = input.take(1 + (tag < 240 ? tag >>> 2 : littleEndian(input, (tag >>> 2) - 59)));
      if (length + literal.byteLength > output.byteLength) throw new RangeError("the block is longer than it states");
      literal.copy(output, length);
      length += literal.byteLength;
      continue;
    }
    const [copied, distance] =
      (tag & 3) === 1
        ? [4 + ((tag >>> 2) & 7), ((tag >>> 5) << 8) + input.byte()]
        : [1 + (tag >>> 2), littleEndian(input, (tag & 3) === 2 ? 2 : 4)];
    if (distance === 0 || distance > length || length + copied > output.byteLength)
      throw new RangeError("the block refers to bytes that it does not have");
    // Byte by byte, because a copy may overlap what it produces.
    for (let end = length + copied; length < end; length += 1) output[length] = output[length - distance] as number;
  }
  if (length !== output.byteLength) throw new RangeError("the block is shorter than it states");
  return output;
};

const littleEndian = (input: ByteCursor, bytes: number): number => input.take(bytes).readUIntLE(0, bytes);
