import { describe, expect, test } from "vitest";

import { parsePolicy } from "../../../services/kit/policy/document.ts";
import { evaluate } from "../../../services/kit/policy/evaluate.ts";
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
    expect(texts.filter((text) => fits(text))).toEqual([]);
  });
});

describe("a condition on a header", () => {
  const statementOf = (pattern: string): object => ({
    Effect: "Allow",
    Principal: "*",
    Action: "s3:GetObject",
    Resource: "arn:aws:s3:::b/*",
    Condition: { StringLike: { "aws:Referer": pattern } },
  });

  // what it is, pattern, header, because
  test.each([
    ["variables that do not end", "${".repeat(10_000), "x", "no-allow"],
    ["variables that do not end after one that does", `\${aws:referer}${"${".repeat(9_000)}`, "x", "no-allow"],
    ["a long header once", "*${aws:referer}", "x".repeat(30_000), "resource-policy"],
    ["a long header a thousand times", "${aws:referer}".repeat(1_300), "x".repeat(30_000), "no-allow"],
  ])("is compared a hundred times in little time: %s", (_what, pattern, referer, because) => {
    const document = JSON.stringify({ Version: "2012-10-17", Statement: [statementOf(pattern)] });
    const policy = parsePolicy(document, { principals: "required", bytesMax: 20_480 });
    const request = {
      requester: { accountId: "", principalArn: "", isRoot: false, isAnonymous: true },
      action: "s3:GetObject",
      resource: "arn:aws:s3:::b/k",
      ownerAccountId: "111122223333",
      context: new Map([["aws:referer", [referer]]]),
    };
    for (let count = 0; count < 100; count += 1)
      expect(evaluate(request, { identity: [], resource: [policy] }).because).toBe(because);
  });
});
