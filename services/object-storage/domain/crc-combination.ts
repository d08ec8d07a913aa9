import type { ChecksumAlgorithm } from "./checksum-algorithm.ts";

/** The CRCs that can be combined without their bytes: bits and polynomial, reversed. */
const crcs: Partial<Record<ChecksumAlgorithm, { readonly bits: number; readonly polynomial: bigint }>> = {
  CRC32: { bits: 32, polynomial: 0xedb88320n },
  CRC32C: { bits: 32, polynomial: 0x82f63b78n },
  CRC64NVME: { bits: 64, polynomial: 0x9a6c9329ac4bc9b5n },
};

/** Whether an object's checksum can be computed from its parts' checksums. */
export const canCombine = (algorithm: ChecksumAlgorithm): boolean => crcs[algorithm] !== undefined;

/** A part's checksum and size. */
export interface CrcPart {
  readonly checksum: Uint8Array;
  readonly sizeBytes: number;
}

/**
 * The CRC of the parts' bytes in sequence. A CRC is a remainder of polynomials: appending n bytes multiplies the
 * previous remainder by x^(8n). Computes with the reversed bits in which these CRCs are written.
 */
export const combineCrcs = (algorithm: ChecksumAlgorithm, parts: readonly CrcPart[]): Uint8Array => {
  const crc = crcs[algorithm];
  if (crc === undefined) throw new TypeError(`${algorithm} cannot be combined`);
  const { bits, polynomial } = crc;
  const one = 1n << BigInt(bits - 1);

  const multiply = (left: bigint, right: bigint): bigint => {
    let product = 0n;
    let factor = right;
    for (let bit = one; bit !== 0n; bit >>= 1n) {
      if ((left & bit) !== 0n) product ^= factor;
      factor = (factor & 1n) === 0n ? factor >> 1n : (factor >> 1n) ^ polynomial;
    }
    return product;
  };
  const shifts = new Map<number, bigint>();
  /** x^(8 · bytes), by repeated squaring; computed once per size, because most parts have the same one. */
  const shiftOf = (bytes: number): bigint => {
    const known = shifts.get(bytes);
    if (known !== undefined) return known;
    let power = one >> 8n;
    let result = one;
    for (let left = bytes; left > 0; left = Math.floor(left / 2)) {
      if (left % 2 === 1) result = multiply(result, power);
      power = multiply(power, power);
    }
    shifts.set(bytes, result);
    return result;
  };

  const combined = parts.reduce(
    (whole, part) => multiply(shiftOf(part.sizeBytes), whole) ^ toNumber(part.checksum),
    0n,
  );
  return Buffer.from(combined.toString(16).padStart(bits / 4, "0"), "hex");
};

const toNumber = (checksum: Uint8Array): bigint => BigInt(`0x${Buffer.from(checksum).toString("hex")}`);
