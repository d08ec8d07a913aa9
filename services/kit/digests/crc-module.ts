import type { Code, WasmExports } from "./wasm-code.ts";
import { branchToLoop, end, get, i32, i64, int, joined, long, loop, openModule, set, tee } from "./wasm-code.ts";

/**
 * CRCs of up to 64 bits with their bits reversed, by tables (slicing by eight). A step needs the one before, so three
 * strands of the content are taken at the same time, and the CRC of each is moved over the strands after it.
 */
export interface CrcModule {
  /** Adds content to a CRC, which begins and ends with all bits inverted. */
  update(crc: bigint, content: Uint8Array): bigint;
}

const slices = 8;
const tableBytes = 256 * 8;
/** Tables by which a CRC is moved over a strand, after those of the slices. */
const moveAt = slices * tableBytes;
const dataAt = 65_536;
const dataBytes = 65_536;
const strandBytes = 2_048;
const strands = 3;
const stepBytes = 8;

/** The parameters and the locals of a function. */
const crc = 0;
const address = 1;
const left = 2;
const crcOf = (strand: number): number => (strand === 0 ? crc : 2 + strand);
const wordOf = (count: number, strand: number): number => 2 + count + strand;

/** The sum of what the tables have for the bytes of a number. */
const lookedUp = (word: number, tableOf: (byte: number) => number): Code =>
  Array.from({ length: stepBytes }, (_none, byte): Code => {
    const shifted = byte === 0 ? get(word) : joined(get(word), long(byte * 8), i64.shiftRight);
    const entry = joined(shifted, i64.toInt, int(255), i32.and, int(3), i32.shiftLeft, i64.load(tableOf(byte)));
    return byte === 0 ? entry : joined(entry, i64.xor);
  }).flat();

/** The code of a function that takes so many bytes of each of so many strands. */
const codeOf = (count: number): Code => {
  const all = Array.from({ length: count }, (_none, strand) => strand);
  const words = all.map((strand) =>
    joined(get(address), i64.load(strand * strandBytes), get(crcOf(strand)), i64.xor, set(wordOf(count, strand))),
  );
  const steps = all.map((strand) => {
    const word = wordOf(count, strand);
    return joined(
      lookedUp(word, (byte) => (slices - 1 - byte) * tableBytes),
      set(crcOf(strand)),
    );
  });
  const moved = all.slice(1).map((strand) =>
    joined(
      lookedUp(crc, (byte) => moveAt + byte * tableBytes),
      get(crcOf(strand)),
      i64.xor,
      set(crc),
    ),
  );
  return joined(
    joined(loop, ...words, ...steps),
    joined(get(address), int(stepBytes), i32.add, set(address)),
    joined(get(left), int(stepBytes), i32.subtract, tee(left), branchToLoop, end),
    joined(...moved, get(crc), end),
  );
};

type Take = (crc: bigint, address: number, bytes: number) => bigint;

/** Compiles the module of a polynomial with reversed bits, and computes its tables: some milliseconds. */
export const openCrcModule = (polynomial: bigint): CrcModule => {
  const functionOf = (name: string, count: number) => ({
    name,
    locals: [[count * 2 - 1, i64.type]] as const,
    code: codeOf(count),
  });
  const { memory, one, three } = openModule<WasmExports & { readonly one: Take; readonly three: Take }>(
    [i64.type, i32.type, i32.type],
    [i64.type],
    (dataAt + dataBytes) / 65_536,
    [functionOf("one", 1), functionOf("three", strands)],
  );
  const tables = new BigUint64Array(memory.buffer, 0, (slices + stepBytes) * 256);
  fillTables(tables, polynomial, (value) => one(value, dataAt, strandBytes));
  const data = new Uint8Array(memory.buffer, dataAt, dataBytes);
  const byteByByte = (value: bigint, bytes: Uint8Array): bigint =>
    bytes.reduce((sum, byte) => (sum >> 8n) ^ tables[Number(sum & 0xffn) ^ byte]!, value);

  const takePart = (value: bigint, part: Uint8Array): bigint => {
    data.set(part);
    let sum = value;
    let at = 0;
    for (; part.length - at >= strands * strandBytes; at += strands * strandBytes)
      sum = BigInt.asUintN(64, three(sum, dataAt + at, strandBytes));
    const whole = (part.length - at) & -stepBytes;
    if (whole > 0) sum = BigInt.asUintN(64, one(sum, dataAt + at, whole));
    return byteByByte(sum, part.subarray(at + whole));
  };
  return {
    update: (value, content) => {
      let sum = value;
      for (let at = 0; at < content.length; at += dataBytes) sum = takePart(sum, content.subarray(at, at + dataBytes));
      return sum;
    },
  };
};

/**
 * Table `k` has what each byte leaves after `k` further bytes of zero; the others, what each byte of a CRC leaves after
 * a strand of zeros, which the module itself computes with the tables before.
 */
const fillTables = (tables: BigUint64Array, polynomial: bigint, afterStrand: (value: bigint) => bigint): void => {
  for (let byte = 0; byte < 256; byte += 1) {
    let value = BigInt(byte);
    for (let bit = 0; bit < 8; bit += 1) value = (value & 1n) === 0n ? value >> 1n : (value >> 1n) ^ polynomial;
    tables[byte] = value;
  }
  for (let entry = 256; entry < slices * 256; entry += 1) {
    const before = tables[entry - 256]!;
    tables[entry] = (before >> 8n) ^ tables[Number(before & 0xffn)]!;
  }
  for (let byte = 0; byte < stepBytes; byte += 1) {
    const own = moveAt / 8 + byte * 256;
    for (let bit = 0; bit < 8; bit += 1) {
      const value = BigInt.asUintN(64, afterStrand(1n << BigInt(byte * 8 + bit)));
      // The CRC of a sum is the sum of the CRCs.
      for (let entry = 0; entry < 1 << bit; entry += 1) tables[own + (1 << bit) + entry] = tables[own + entry]! ^ value;
    }
  }
};
