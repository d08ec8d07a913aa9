import { expect, test } from "vitest";

import { unsnap } from "../../../../services/kit/store/level-files/snappy.ts";

test.each([
  // block, in hexadecimal               what it was made from
  ["00", ""],
  ["0308616263", "abc"],
  // A literal of 4 bytes, and a copy of 6 at a distance of 2 that overlaps what it produces.
  ["0a0c616263640902", "abcdcdcdcd"],
  // A copy with a distance of two bytes, and one with four.
  ["06086162630a0300", "abcabc"],
  ["06086162630b03000000", "abcabc"],
  // A literal of 61 bytes, whose length follows.
  [`3df03c${"78".repeat(61)}`, "x".repeat(61)],
])("the block %s is read as %s", (block, text) => {
  expect(unsnap(Buffer.from(block, "hex")).toString("latin1")).toBe(text);
});

test.each([
  // block                what is wrong
  ["", "it has no length"],
  ["04086162", "a literal is cut off"],
  ["0208616263", "it is longer than it states"],
  ["0408616263", "it is shorter than it states"],
  ["07086162630104", "a copy reaches before its beginning"],
  ["07086162630100", "a copy has no distance"],
])("the block %s is refused: %s", (block) => {
  expect(() => unsnap(Buffer.from(block, "hex"))).toThrow(RangeError);
});
