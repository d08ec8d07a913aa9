import { expect, test } from "vitest";

import { parseJson } from "../../../gateway/codecs/json-reader.ts";

test.each([
  // what, text, value
  ["a number that a double holds", "9007199254740991", 9007199254740991],
  ["a number that a double does not hold", "9007199254740993", 9007199254740993n],
  ["the largest number of any field", "18446744073709551615", 18446744073709551615n],
  ["a number of 20 digits", `-${"9".repeat(20)}`, -99999999999999999999n],
  // Its exact value does not matter, because no field holds it; converting it would take seconds.
  ["a number of 21 digits", "1".repeat(21), 111111111111111110000],
  ["a number of four million digits", "9".repeat(4_000_000), Infinity],
] as const)("%s", (_name, text, value) => {
  expect(parseJson(text)).toBe(value);
});
