import { describe, expect, test } from "vitest";

import { oneLine } from "../../../services/event-bus/delivery/one-line.ts";

describe("oneLine", () => {
  // text, line
  test.each([
    ["", ""],
    ["a  b\tc", "a  b\tc"],
    ['{\n "n": 1\n}', '{ "n": 1 }'],
    ["a \r\n\t b \n\n c  d", "a b c  d"],
    ["\na\r", " a "],
  ])("%j is %j", (text, expected) => {
    expect(oneLine(text)).toBe(expected);
  });

  test("is as quick for a long run of spaces", () => {
    const spaces = " ".repeat(240_000);
    expect(oneLine(`a${spaces}b\nc`) === `a${spaces}b c`).toBe(true);
    expect(oneLine(`a${spaces}b${spaces}\n${spaces}c`) === `a${spaces}b c`).toBe(true);
  });
});
