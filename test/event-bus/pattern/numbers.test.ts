import { describe, expect, test } from "vitest";

import { comparableNumber } from "../../../services/event-bus/pattern/numbers.ts";

describe("comparableNumber", () => {
  const zeros = "0".repeat(240_000);

  // what it is, text, value
  test.each([
    ["a whole number with decimals", "10.0", 10],
    ["an exponent", "1e1", 10],
    ["a fraction", "0.1", 0.1],
    ["twenty digits", "12345678901234567890", undefined],
    ["many zeros at the end", `0.1${zeros}`, 0.1],
    ["many zeros before the last digit", `0.1${zeros}1`, undefined],
    ["many zeros before an exponent", `1.${zeros}1e5`, undefined],
    ["many zeros at the beginning", `0.${zeros}e5`, 0],
  ])("reads in time that grows with the text: %s", (_what, text, expected) => {
    expect(comparableNumber(text)).toBe(expected);
  });
});
