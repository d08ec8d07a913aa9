import { describe, expect, test } from "vitest";

import { maskedCrc32c } from "../../../../services/kit/store/level-files/crc32c.ts";
import { readLog } from "../../../../services/kit/store/level-files/log-file.ts";
import { physicalRecord, recordTypes } from "./written-files.ts";

const { full, first, middle, last } = recordTypes;
const blockBytes = 32 * 1024;

test.each([
  // text, its CRC-32C rotated by 15 bits and moved by 0xa282ead8
  ["", 0xa2_82_ea_d8],
  ["123456789", 0xc7_8a_b0_e5],
])("the checksum of %j is that of LevelDB", (text, checksum) => {
  expect(maskedCrc32c(Buffer.from(text))).toBe(checksum);
});

/** What is read of a log: the texts of its records, and the damaged bytes as `offset+length`. */
const read = (...parts: readonly Buffer[]): { readonly records: string[]; readonly damages: string[] } => {
  const { records, damages } = readLog(Buffer.concat(parts));
  return {
    records: records.map(({ payload }) => Buffer.from(payload).toString()),
    damages: damages.map(({ offset, length }) => `${offset}+${length}`),
  };
};

/** A record with one byte changed. */
const broken = (record: Buffer, at: number): Buffer => {
  const changed = Buffer.from(record);
  changed[at] = changed[at]! ^ 0x40;
  return changed;
};

/** A record that leaves so many bytes of a block. */
const filler = (left: number): Buffer => physicalRecord("f".repeat(blockBytes - left - 7));
const fill = (left: number): string => "f".repeat(blockBytes - left - 7);

const [a, b, c] = [physicalRecord("a"), physicalRecord("b"), physicalRecord("c")];

describe("a log", () => {
  test.each([
    // what, its parts, the records
    ["nothing", [], []],
    ["whole records", [a, b], ["a", "b"]],
    ["an empty record", [physicalRecord("")], [""]],
    ["a record in pieces", [physicalRecord("a", first), physicalRecord("b", middle), physicalRecord("c", last)], ["abc"]],
    ["a record after the zeros at the end of a block", [filler(6), Buffer.alloc(6), a], [fill(6), "a"]],
    ["an empty first piece at the end of a block", [filler(7), physicalRecord("", first), physicalRecord("a", last)], [fill(7), "a"]],
    ["a first piece after a first piece, which is not continued", [physicalRecord("a", first), physicalRecord("b", first), physicalRecord("c", last)], ["bc"]],
    ["a whole record after a first piece", [physicalRecord("a", first), b, physicalRecord("c", last)], ["b"]],
    ["pieces without a first one", [physicalRecord("a", middle), physicalRecord("b", last), c], ["c"]],
  ])("has %s", (_what, parts, records) => {
    expect(read(...parts)).toEqual({ records, damages: [] });
  }); // prettier-ignore

  test.each([
    // what, its parts, the records
    ["a header", [a, b.subarray(0, 6)], ["a"]],
    ["a payload", [a, b.subarray(0, 7)], ["a"]],
    ["a record in pieces", [a, physicalRecord("b", first)], ["a"]],
    ["a checksum that was not written yet", [a, broken(b, 0)], ["a"]],
  ])("that ends within %s was not completed, and is not damaged", (_what, parts, records) => {
    expect(read(...parts)).toEqual({ records, damages: [] });
  });

  test.each([
    // what is wrong, its parts, the records that are left, the damaged bytes
    ["a payload", [a, broken(b, 7), c], ["a"], ["8+16"]],
    ["a checksum", [broken(a, 0), b], [], ["0+16"]],
    ["a length", [a, broken(b, 4), c], ["a"], ["8+16"]],
    ["the type 0", [a, physicalRecord("b", 0), c], ["a"], ["8+16"]],
    ["the type 5", [a, physicalRecord("b", full + 4), c], ["a"], ["8+16"]],
    ["the end of a block", [filler(9), Buffer.alloc(9), a], [fill(9), "a"], [`${blockBytes - 9}+9`]],
    ["a middle piece", [a, physicalRecord("b", first), broken(physicalRecord("c", middle), 7), physicalRecord("d", last), b], ["a"], ["16+24"]],
  ])("with %s that was changed leaves out the rest of its block", (_what, parts, records, damages) => {
    expect(read(...parts)).toEqual({ records, damages });
  }); // prettier-ignore

  test("does not join pieces over a damaged block", () => {
    const begun = Buffer.concat([
      physicalRecord("x".repeat(blockBytes - 7 - 20), first),
      broken(physicalRecord("y"), 7),
    ]);
    const rest = Buffer.alloc(blockBytes - begun.byteLength);
    expect(read(begun, rest, physicalRecord("z", last), a)).toEqual({
      records: ["a"],
      damages: [`${blockBytes - 20}+20`],
    });
  });
});
