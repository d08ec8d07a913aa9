import { describe, expect, test } from "vitest";

import { parsePolicy } from "../../../services/kit/policy/document.ts";
import { evaluate } from "../../../services/kit/policy/evaluate.ts";
import { headOfPattern, SplitArn } from "../../../services/kit/policy/wildcard.ts";

const accountId = "111122223333";
const requester = { accountId, principalArn: `arn:aws:iam::${accountId}:user/a`, isRoot: false, isAnonymous: false };

/** Which of the statements, one for each list of resources, allows reading the object; undefined: none. */
const allowing = (resources: readonly (string | readonly string[])[], resource: string): number | undefined => {
  const Statement = resources.map((Resource) => ({ Effect: "Allow", Action: "s3:GetObject", Resource }));
  const text = JSON.stringify({ Version: "2012-10-17", Statement });
  const policy = parsePolicy(text, { principals: "forbidden", bytesMax: 64 * 1024 });
  const request = { requester, action: "s3:GetObject", resource, ownerAccountId: accountId, context: new Map() };
  return evaluate(request, { identity: [policy], resource: [] }).statement?.statement;
};

const others = ["c/*", "d/*", "e/*", "f/*"].map((name) => `arn:aws:s3:::${name}`);

describe("statements that are found by what they name", () => {
  test.each([
    ["arn:aws:s3:::b/*", "b"],
    ["arn:aws:s3:::b/a/k", "b"],
    ["arn:aws:s3:::b", "b"],
    ["arn:aws:events:here:1:rule/r:s", "rule"],
    ["arn:aws:s3:::b*", undefined],
    ["arn:aws:s3:::b*/k", undefined],
    ["arn:aws:s3:::?/k", undefined],
    ["arn:aws:s3:::*", undefined],
    ["arn:aws:s3:::/k", undefined],
    ["arn:*:s3:::b/k", undefined],
    ["arn:aws:s3*", undefined],
    ["*", undefined],
  ])("the head of %s is %s", (pattern, head) => expect(headOfPattern(pattern)).toBe(head));

  test("a text that is no ARN has no head", () => {
    expect(["*", "arn:aws:s3", ""].map((text) => new SplitArn(text).head)).toEqual(["", "", ""]);
  });

  test.each([
    [[...others, "arn:aws:s3:::b/*", "*"], 4],
    [[...others, "*", "arn:aws:s3:::b/*"], 4],
    [["arn:aws:s3:::b*", ...others, "arn:aws:s3:::b/*"], 0],
    [[...others, ["arn:aws:s3:::b/*", "arn:aws:s3:::c"]], 4],
    [[...others, ["arn:aws:s3:::b/x", "arn:aws:s3:::b/k"]], 4],
    [[...others, "arn:aws:s3:::${aws:x, 'b'}/*"], 4],
    [[...others, "arn:aws:s3:::b/k/*", "arn:aws:s3:::b"], undefined],
  ])("of %j the first that fits decides: %s", (resources, index) => {
    expect(allowing(resources, "arn:aws:s3:::b/k")).toBe(index);
  });
});
