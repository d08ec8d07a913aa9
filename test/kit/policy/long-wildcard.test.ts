import { describe, expect, test } from "vitest";

import { literalPattern, textTest } from "../../../services/kit/policy/wildcard.ts";

const many = 2_000;

describe("a long pattern and a long text", () => {
  // pattern | text | whether it fits
  test.each([
    ["starts with", `${"a".repeat(many)}*b?`, `${"a".repeat(many)}bbc`, true],
    ["starts otherwise", `${"a".repeat(many)}*b?`, `${"a".repeat(many - 1)}bbcb`, false],
    ["ends otherwise", `*${"a".repeat(many)}*b?`, `${"a".repeat(many)}bbcc`, false],
    ["has a part", `*${"a?".repeat(many)}b*`, `x${"ac".repeat(many)}bxx`, true],
    ["has a part in an uneven place", `*?${"ab".repeat(many)}*`, `${"ab".repeat(many)}ab`, true],
    ["has no room for a part", `*??${"ab".repeat(many)}?*`, `${"ab".repeat(many)}ab`, false],
    ["has two parts", `*${"a".repeat(many)}*${"a".repeat(many)}*`, "a".repeat(2 * many), true],
    [
      "has the second part in the first only",
      `*${"a".repeat(many)}*${"a".repeat(many)}?*`,
      "a".repeat(2 * many),
      false,
    ],
    ["has a part in its end only", `*${"a".repeat(many)}*${"a".repeat(many)}`, "a".repeat(2 * many - 1), false],
    ["has no star and is shorter", `${"a".repeat(many)}?`, "a".repeat(many), false],
    ["has no star", `${"a".repeat(many)}?`, "a".repeat(many + 1), true],
    ["has escaped wildcards", `*${literalPattern("*?").repeat(many)}*`, `x${"*?".repeat(many)}x`, true],
    ["has others in their places", `*${literalPattern("*?").repeat(many)}*`, `x${"*x".repeat(many)}x`, false],
  ])("the text %s", (_description, pattern, text, expected) => {
    expect(textTest(pattern)(text)).toBe(expected);
  });

  test("are compared in a fraction of the product of their lengths, which takes a minute here", () => {
    const fits = textTest(`*${"a".repeat(10_000)}b?*`);
    const texts = Array.from({ length: 100 }, (_, index) => "a".repeat(20_000 + index));
    expect(texts.filter(fits)).toEqual([]);
  });
});
