import { describe, expect, test } from "vitest";

import type { DocumentRules } from "../../../services/kit/policy/document.ts";
import { parsePolicy } from "../../../services/kit/policy/document.ts";

const resourceRules: DocumentRules = { principals: "required", accountMembers: ["SVC"], bytesMax: 20_480 };
const identityRules: DocumentRules = { principals: "forbidden", bytesMax: 8_192 };

const statement = (parts: object): object => ({
  Effect: "Allow",
  Action: "s3:GetObject",
  Resource: "arn:aws:s3:::b/*",
  ...parts,
});
const both = (...statements: object[]): string => JSON.stringify({ Version: "2012-10-17", Statement: statements });
const everyone = { Principal: "*" };

describe("parsePolicy", () => {
  // document, rules, what is said
  test.each([
    [" {}", resourceRules, "the first byte of a policy must be {"],
    ["{", resourceRules, "the policy is not valid JSON"],
    ['{"Statement":[]}', resourceRules, "Statement must not be empty"],
    ['{"Version":"2020-01-01","Statement":[{}]}', resourceRules, "Version must be 2012-10-17 or 2008-10-17"],
    ['{"Colour":1,"Statement":[{}]}', resourceRules, 'the policy has no member "Colour"'],
    ['{"Statement":[3]}', resourceRules, "Statement[0] must be an object"],
    [both({ ...statement(everyone), Effect: "Permit" }), resourceRules, "Statement[0].Effect must be Allow or Deny"],
    [both(statement({ ...everyone, Action: undefined })), resourceRules, "Statement[0] needs Action or NotAction"],
    [both(statement({ ...everyone, Action: "read" })), resourceRules, 'Statement[0].Action: "read" is not an action'],
    [both(statement({ ...everyone, NotAction: "s3:*" })), resourceRules, "Statement[0] has both Action and NotAction"],
    [both(statement({})), resourceRules, "Statement[0] needs Principal or NotPrincipal"],
    [both(statement(everyone)), identityRules, "Statement[0] must not name a principal"],
    [both(statement({ Principal: {} })), resourceRules, "Statement[0].Principal must not be empty"],
    [
      both(statement({ Principal: { AWS: "alice" } })),
      resourceRules,
      'Statement[0].Principal.AWS: "alice" is not a principal',
    ],
    [
      both(statement({ Principal: { AWS: "arn:aws:iam::111122223333:user/*" } })),
      resourceRules,
      'Statement[0].Principal.AWS: "arn:aws:iam::111122223333:user/*" is not a principal',
    ],
    [
      both(statement({ Principal: { Planet: "earth" } })),
      resourceRules,
      'Statement[0].Principal: "Planet" is not a kind of principal',
    ],
    [both(statement({ ...everyone, Resource: [] })), resourceRules, "Statement[0].Resource must not be empty"],
    [
      both(statement({ ...everyone, Resource: [1] })),
      resourceRules,
      "Statement[0].Resource must hold strings that are not empty",
    ],
    [
      both(statement({ ...everyone, Condition: { Like: { a: "b" } } })),
      resourceRules,
      'Statement[0].Condition.Like.a: "Like" is not an operator',
    ],
    [
      both(statement({ ...everyone, Condition: { StringEquals: { a: {} } } })),
      resourceRules,
      "Statement[0].Condition.StringEquals.a must hold strings, numbers or booleans",
    ],
    [
      both(statement({ ...everyone, Sid: "a" }), statement({ ...everyone, Sid: "a" })),
      resourceRules,
      "each Sid must be unique",
    ],
    [`{${" ".repeat(20_480)}`, resourceRules, "the policy has more than 20480 bytes"],
  ])("refuses %s", (document, rules, said) => {
    expect(() => parsePolicy(document, rules)).toThrow(said);
  });

  test("statements with empty Sids are as those without", () => {
    const { statements } = parsePolicy(
      both(statement({ ...everyone, Sid: "" }), statement({ ...everyone, Sid: "" })),
      resourceRules,
    );
    expect(statements).toHaveLength(2);
  });
});
