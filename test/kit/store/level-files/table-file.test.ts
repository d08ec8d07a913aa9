import { describe, expect, test } from "vitest";

import { findTableDamage, firstEntry } from "../../../../services/kit/store/level-files/table-file.ts";
import { blockOf, internalKey, tableOf } from "./written-files.ts";

const entries: readonly [Buffer, Buffer][] = [
  [internalKey("ant"), Buffer.from("1")],
  [internalKey("bee"), Buffer.from("22")],
];
const whole = tableOf(blockOf(entries));

/** The table with one bit flipped at an offset; from the end, if it is negative. */
const flipped = (offset: number): Buffer => {
  const file = Buffer.from(whole);
  const at = offset < 0 ? file.byteLength + offset : offset;
  file[at] = file[at]! ^ 1;
  return file;
};

const notATable = "it does not end as a table does";

describe("a table", () => {
  test("is whole, and its first entry is read without what LevelDB adds to the key", () => {
    expect(findTableDamage(whole)).toBeUndefined();
    expect(firstEntry(whole)).toEqual({ key: Buffer.from("ant"), value: Buffer.from("1") });
  });

  test("may be compressed", () => {
    const block = blockOf(entries);
    const literal = Buffer.concat([Buffer.from([block.byteLength, (block.byteLength - 1) << 2]), block]);
    expect(firstEntry(tableOf(literal, 1))).toEqual({ key: Buffer.from("ant"), value: Buffer.from("1") });
  });

  test("without entries has no first one", () => {
    expect(firstEntry(tableOf(blockOf([])))).toBeUndefined();
  });

  test.each([
    // what, the file, why
    ["an empty file", Buffer.alloc(0), notATable],
    ["less than its last part", whole.subarray(-47), notATable],
    ["its last part alone", whole.subarray(-48), /^the block at \d+ is cut off$/],
    ["a file that ends with other bytes", flipped(-1), notATable],
    ["a file with more at its end", Buffer.concat([whole, Buffer.alloc(1)]), notATable],
    ["a key that was changed", flipped(3), "the block at 0 does not have its checksum"],
    ["a checksum that was changed", flipped(40), /^the block at \d+ does not have its checksum$/],
    ["a block that reaches into the last part", flipped(-46), /^the block at \d+/],
    [
      "a block with one byte too little before the end",
      Buffer.concat([whole.subarray(1, -48), whole.subarray(-48)]),
      /^the block at \d+ does not have its checksum$/,
    ],
  ])("%s is damaged", (_what, file, why) => {
    expect(findTableDamage(file)).toMatch(why);
  });

  test.each([
    // what, the file, why
    ["of a compression that is not known", tableOf(blockOf(entries), 2), "the block at 0 has compression 2"],
    ["of a data block without its end", tableOf(Buffer.alloc(3)), "a block is cut off"],
    [
      "of a data block with an entry that is cut off",
      tableOf(Buffer.from("000900610000000001000000", "hex")),
      /cut off/,
    ],
  ])("%s has no first entry that can be read", (_what, file, why) => {
    expect(() => firstEntry(file)).toThrow(RangeError);
    expect(() => firstEntry(file)).toThrow(why);
  });
});
