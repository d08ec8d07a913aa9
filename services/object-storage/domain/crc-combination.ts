import type { ChecksumAlgorithm } from "./checksum-algorithm.ts";

/** The CRCs that can be combined without their bytes: bits and polynomial, reversed. */
const crcs: Partial<Record<ChecksumAlgorithm, { readonly bits: 32 | 64; readonly polynomial: Words }>> = {
  CRC32: { bits: 32, polynomial: [0, 0xedb88320] },
  CRC32C: { bits: 32, polynomial: [0, 0x82f63b78] },
  CRC64NVME: { bits: 64, polynomial: [0x9a6c9329, 0xac4bc9b5] },
};

/** The upper and the lower 32 bits of a number: many parts are combined in one request, and bigints are slow. */
type Words = readonly [high: number, low: number];

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
  const one: Words = bits === 64 ? [2 ** 31, 0] : [0, 2 ** 31];

  const multiply = (left: Words, right: Words): Words => {
    let [high, low] = [0, 0];
    let [factorHigh, factorLow] = right;
    for (let bit = bits - 1; bit >= 0; bit--) {
      // Shifts use the last five bits of their count. The masks have all bits or none.
      const isChosen = -(((bit > 31 ? left[0] : left[1]) >>> bit) & 1);
      high ^= factorHigh & isChosen;
      low ^= factorLow & isChosen;
      const isReduced = -(factorLow & 1);
      factorLow = ((factorLow >>> 1) | (factorHigh << 31)) ^ (polynomial[1] & isReduced);
      factorHigh = (factorHigh >>> 1) ^ (polynomial[0] & isReduced);
    }
    return [high, low];
  };
  const powers: Words[] = [[one[0] >>> 8, one[1] >>> 8]];
  /** x^(8 · 2^exponent), by repeated squaring. */
  const powerOf = (exponent: number): Words => {
    for (let last = powers.at(-1); last !== undefined && powers.length <= exponent; last = powers.at(-1))
      powers.push(multiply(last, last));
    return powers[exponent] as Words;
  };
  const shifts = new Map<number, Words>();
  /** x^(8 · bytes); computed once per size, because most parts have the same one. */
  const shiftOf = (bytes: number): Words => {
    const known = shifts.get(bytes);
    if (known !== undefined) return known;
    let result = one;
    for (let [left, exponent] = [bytes, 0]; left > 0; left = Math.floor(left / 2), exponent++)
      if (left % 2 === 1) result = multiply(result, powerOf(exponent));
    shifts.set(bytes, result);
    return result;
  };

  let [high, low]: Words = [0, 0];
  for (const { checksum, sizeBytes } of parts) {
    const [shiftedHigh, shiftedLow] = multiply(shiftOf(sizeBytes), [high, low]);
    const bytes = Buffer.from(checksum);
    high = shiftedHigh ^ (bits === 64 ? bytes.readInt32BE(0) : 0);
    low = shiftedLow ^ bytes.readInt32BE(bits / 8 - 4);
  }
  const combined = Buffer.alloc(8);
  combined.writeInt32BE(high, 0);
  combined.writeInt32BE(low, 4);
  return combined.subarray(8 - bits / 8);
};
