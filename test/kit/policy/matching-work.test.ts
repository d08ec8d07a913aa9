import { describe, expect, test } from "vitest";

import type { PolicyRequest } from "../../../services/kit/policy/compiled.ts";
import type { Policy } from "../../../services/kit/policy/document.ts";
import { parsePolicy } from "../../../services/kit/policy/document.ts";
import { evaluate, explain, hasMatchingStatement } from "../../../services/kit/policy/evaluate.ts";
import { MatchingWork } from "../../../services/kit/policy/matching-work.ts";
import { asWritten } from "../../../services/kit/policy/spelling.ts";

const account = "111122223333";

/** What alice asks for, with the two headers that are passed to services with 1,024 characters of each. */
const requestWith = (userAgent: string, referer = ""): PolicyRequest => ({
  requester: {
    accountId: account,
    principalArn: `arn:aws:iam::${account}:user/alice`,
    isRoot: false,
    isAnonymous: false,
  },
  action: "s3:GetObject",
  resource: "arn:aws:s3:::b/k",
  ownerAccountId: account,
  context: new Map([
    ["aws:useragent", [userAgent]],
    ["aws:referer", [referer]],
  ]),
});

/** Ten policies of 20 KiB, the most that a caller brings, whose list has one value as often as there is room for. */
const tenPolicies = (operator: string, value: string, effect = "Allow"): Policy[] => {
  const values = Array.from({ length: Math.floor(20_200 / (value.length + 3)) }, () => value);
  const document = {
    Version: "2012-10-17",
    Statement: [
      { Effect: effect, Action: "s3:*", Resource: "*", Condition: { [operator]: { "aws:UserAgent": values } } },
    ],
  };
  const text = JSON.stringify(document);
  return Array.from({ length: 10 }, () => parsePolicy(text, { principals: "forbidden", bytesMax: 20_480 }));
};

const a512 = "a".repeat(512);
const a1024 = "a".repeat(1_024);

describe("ten policies full of values that take long to compare decide a hundred times in little time", () => {
  // what | operator | value | user agent | referer | because
  test.each([
    ["variables between stars", "StringLike", "*${aws:referer}*", a1024, `${a512}b`, "too-costly"],
    ["variables that make long texts", "StringLike", "${aws:referer}".repeat(40), a1024, a1024, "too-costly"],
    ["short texts between stars", "StringLike", "*ab*", a1024, "", "too-costly"],
    ["long texts between stars", "StringLike", `*${a512}b*`, a1024, "", "no-allow"],
    ["question marks between stars", "StringLike", `*${"?a".repeat(49)}b*`, a1024, "", "too-costly"],
    ["texts in any case", "StringEqualsIgnoreCase", "b", a1024, "", "too-costly"],
    ["names of resources", "ArnLike", "arn:b*", ":".repeat(1_024), "", "too-costly"],
    ["numbers", "NumericEquals", "1", `${"1".repeat(1_023)}x`, "", "too-costly"],
    ["instants", "DateEquals", "1", `${"1".repeat(1_023)}x`, "", "too-costly"],
    ["texts", "StringEquals", a512, a1024, "", "no-allow"],
  ])("%s", (_what, operator, value, userAgent, referer, because) => {
    const identity = tenPolicies(operator, value);
    for (let count = 0; count < 100; count += 1)
      expect(evaluate(requestWith(userAgent, referer), { identity, resource: [] })).toMatchObject({
        isAllowed: because === "identity-policy",
        because,
      });
  });
});

describe("what takes too long to compare", () => {
  const costly = tenPolicies("StringLike", "*ab*");
  const allowed = [
    parsePolicy(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}`, {
      principals: "forbidden",
      bytesMax: 20_480,
    }),
  ];

  test("denies, whatever else allows", () => {
    const deciding = { identity: [...allowed, ...tenPolicies("StringLike", "*ab*", "Deny")], resource: [] };
    expect(evaluate(requestWith(a1024), deciding).because).toBe("too-costly");
    expect(evaluate(requestWith("curl/8"), deciding).because).toBe("identity-policy");
  });

  test("is said to be denied, and not to be allowed, where only statements are looked for", () => {
    const denying = tenPolicies("StringLike", "*ab*", "Deny");
    const found = (effect: "Allow" | "Deny", policies: readonly Policy[]): boolean =>
      hasMatchingStatement(effect, requestWith(a1024), policies);
    expect([found("Allow", costly), found("Deny", denying)]).toEqual([false, true]);
  });

  test("is explained by the statements that were compared before", () => {
    const { because, nearMisses } = explain(requestWith(a1024), { identity: costly, resource: [] });
    expect([because, nearMisses]).toEqual(["too-costly", []]);
  });

  test("counts for all decisions of a call together", () => {
    const work = new MatchingWork();
    const identity = tenPolicies("StringLike", `*${a512}b*`);
    const decide = (): string => evaluate(requestWith(a1024), { identity, resource: [] }, asWritten, work).because;
    const decided = Array.from({ length: 10 }, decide);
    expect([decided[0], decided.at(-1)]).toEqual(["no-allow", "too-costly"]);
  });
});

test("a number with twenty thousand digits that is none is refused at once, also a hundred times", () => {
  const document = {
    Version: "2012-10-17",
    Statement: [
      {
        Effect: "Allow",
        Action: "*",
        Resource: "*",
        Condition: { NumericEquals: { "aws:UserAgent": `${"1".repeat(20_000)}x` } },
      },
    ],
  };
  for (let count = 0; count < 100; count += 1)
    expect(() => parsePolicy(JSON.stringify(document), { principals: "forbidden", bytesMax: 20_480 })).toThrow(
      "is not a number",
    );
});
