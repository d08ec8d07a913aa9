import { expect, test } from "vitest";

import { parsePolicy } from "../../../services/kit/policy/document.ts";
import { grantsEverything } from "../../../services/kit/policy/full-grant.ts";

const everything = { Effect: "Allow", Action: "*", Resource: "*" };
const policyOf = (...statements: object[]) =>
  parsePolicy(JSON.stringify({ Version: "2012-10-17", Statement: statements }), {
    principals: "forbidden",
    bytesMax: 8_192,
  });

// the statements of each policy, whether everything is allowed
test.each([
  [[[everything]], true],
  [[[{ ...everything, Action: ["s3:GetObject", "*"], Resource: ["arn:aws:s3:::b", "*"] }]], true],
  [[[{ Effect: "Allow", Action: "s3:*", Resource: "*" }], [everything]], true],
  [[], false],
  [[[{ ...everything, Action: "s3:*" }]], false],
  [[[{ ...everything, Resource: "arn:aws:s3:::*" }]], false],
  [[[{ Effect: "Allow", Action: "*" }]], false],
  [[[{ Effect: "Allow", NotAction: "iam:*", Resource: "*" }]], false],
  [[[{ Effect: "Allow", Action: "*", NotResource: "arn:aws:s3:::b" }]], false],
  [[[{ Effect: "Allow", NotAction: "*", Resource: "*" }]], false],
  [[[{ ...everything, Condition: { Bool: { "aws:SecureTransport": "true" } } }]], false],
  [[[{ ...everything, Condition: { StringLikeIfExists: { "aws:username": "*" } } }]], false],
  [[[everything, { Effect: "Deny", Action: "s3:DeleteObject", Resource: "arn:aws:s3:::b/*" }]], false],
  [[[everything], [{ Effect: "Deny", Action: "x:Never", Resource: "arn:aws:x:::none" }]], false],
  [[[{ ...everything, Effect: "Deny" }]], false],
] as const)("%j grants everything: %s", (policies, expected) => {
  expect(grantsEverything(policies.map((statements) => policyOf(...statements)))).toBe(expected);
});
