import { describe, expect, test } from "vitest";

import { parseIdentityPolicy } from "../../../services/kit/identity/identity-policies.ts";
import { identityGrammarProblem } from "../../../services/kit/policy/identity-grammar.ts";

const reads = { Effect: "Allow", Action: "s3:GetObject", Resource: "arn:aws:s3:::b/*" };
const policy = (statement: object, more: object = {}): string =>
  JSON.stringify({ Version: "2012-10-17", ...more, Statement: [{ ...reads, ...statement }] });
const { Resource: _resource, ...withoutResource } = reads;
const { Action: _action, ...withoutAction } = reads;
const { Effect: _effect, ...withoutEffect } = reads;
const of = (...statements: object[]): string => JSON.stringify({ Version: "2012-10-17", Statement: statements });

const problemOf = (document: string): string | undefined => {
  try {
    return identityGrammarProblem(parseIdentityPolicy(document));
  } catch (error) {
    return (error as Error).message;
  }
};

describe("an identity policy is accepted", () => {
  test.each<[string, string]>([
    ["with everything", of({ Effect: "Allow", Action: "*", Resource: "*" })],
    ["with one statement that is no list", JSON.stringify({ Version: "2012-10-17", Statement: reads })],
    ["of the earlier version", JSON.stringify({ Version: "2008-10-17", Statement: [reads] })],
    ["with an id", policy({}, { Id: "one" })],
    ["with a Sid", policy({ Sid: "Read1" })],
    ["with empty Sids, as clients in Go send them", of({ ...reads, Sid: "" }, { ...reads, Sid: "" })],
    ["with actions by pattern", policy({ Action: ["s3:Get*", "S3:List?bjects", "refactor-spaces:*"] })],
    ["with all actions but some", of({ ...withoutAction, NotAction: "iam:*" })],
    ["with all resources but some", of({ ...withoutResource, NotResource: "arn:aws:s3:::b" })],
    ["with a list of resources", policy({ Resource: ["*", "arn:aws:s3:::a"] })],
    ["with a pattern of partitions", policy({ Resource: "arn:*:s3:::b" })],
    ["with the installation's own partition", policy({ Resource: "arn:svc:object-storage:::b/*" })],
    ["with the beginning of an ARN", policy({ Resource: "arn:aws:s3*" })],
    ["with variables", policy({ Resource: "arn:aws:s3:::${aws:username}/${aws:PrincipalTag/team, 'none'}/*" })],
    ["with a variable as the account", policy({ Resource: "arn:aws:iam::${aws:PrincipalAccount}:role/x" })],
    ["with further colons", policy({ Resource: "arn:aws:logs:us-east-1:111122223333:log-group:a:*" })],
  ])("%s", (_what, document) => {
    expect(problemOf(document)).toBeUndefined();
  });
});

describe("an identity policy is refused", () => {
  // what | the document | the problem
  test.each<[string, string, string]>([
    ["that is no JSON", "{", "the policy is not valid JSON"],
    ["that is no object", "[]", "the first byte of a policy must be {"],
    ["with another element", policy({}, { Owner: "me" }), 'the policy has no member "Owner"'],
    ["of another version", policy({}, { Version: "2012-10-18" }), "Version must be 2012-10-17 or 2008-10-17"],
    ["without statements", of(), "Statement must not be empty"],
    ["without a list of statements", JSON.stringify({ Version: "2012-10-17" }), "Statement must not be empty"],
    ["with an empty statement", of({}), "Statement[0].Effect must be Allow or Deny"],
    ["without an effect", of(withoutEffect), "Statement[0].Effect must be Allow or Deny"],
    ["with another effect", policy({ Effect: "allow" }), "Statement[0].Effect must be Allow or Deny"],
    ["with an unknown element of a statement", policy({ Actions: [] }), 'Statement[0] has no member "Actions"'],
    ["with a Sid twice", of({ ...reads, Sid: "A" }, { ...reads, Sid: "A" }), "each Sid must be unique"],
    [
      "with a Sid of other characters",
      policy({ Sid: "read it" }),
      "Statement IDs (SID) must be alpha-numeric. Check that your input satisfies the regular expression [0-9A-Za-z]*",
    ],
    ["with a principal", policy({ Principal: "*" }), "Statement[0] must not name a principal"],
    ["with all principals but one", policy({ NotPrincipal: "*" }), "Statement[0] must not name a principal"],
    ["without actions", of(withoutAction), "Statement[0] needs Action or NotAction"],
    ["with no action", policy({ Action: [] }), "Statement[0].Action must not be empty"],
    [
      "with an action without its vendor",
      policy({ Action: "GetObject" }),
      'Statement[0].Action: "GetObject" is not an action',
    ],
    ["with an action of nothing", policy({ Action: "s3:" }), 'Statement[0].Action: "s3:" is not an action'],
    [
      "with two colons in an action",
      policy({ Action: "s3:Get:Object" }),
      'Statement[0].Action: "s3:Get:Object" is not an action',
    ],
    ["with both kinds of actions", policy({ NotAction: "s3:*" }), "Statement[0] has both Action and NotAction"],
    ["without resources", of(withoutResource), "Statement[0] needs Resource or NotResource"],
    ["with no resource", policy({ Resource: [] }), "Statement[0].Resource must not be empty"],
    ["with a name as resource", policy({ Resource: "foo" }), 'Resource foo must be in ARN format or "*".'],
    ["with a pattern of names as resource", policy({ Resource: "b/*" }), 'Resource b/* must be in ARN format or "*".'],
    ["with one resource among others", policy({ Resource: ["*", "b"] }), 'Resource b must be in ARN format or "*".'],
    ["with a short ARN", policy({ Resource: "arn:aws:s3:b" }), 'Resource arn:aws:s3:b must be in ARN format or "*".'],
    [
      "with an ARN of nothing",
      policy({ Resource: "arn:aws:s3:::" }),
      'Resource arn:aws:s3::: must be in ARN format or "*".',
    ],
    [
      "with an ARN of no service",
      policy({ Resource: "arn:aws::::b" }),
      'Resource arn:aws::::b must be in ARN format or "*".',
    ],
    [
      "with an exception that is none",
      of({ ...withoutResource, NotResource: "b" }),
      'Resource b must be in ARN format or "*".',
    ],
    [
      "with an unknown operator",
      policy({ Condition: { StringSame: { "aws:username": "a" } } }),
      'Statement[0].Condition.StringSame.aws:username: "StringSame" is not an operator',
    ],
    [
      "with a number that is none",
      policy({ Condition: { NumericLessThan: { "s3:max-keys": "ten" } } }),
      'Statement[0].Condition.NumericLessThan.s3:max-keys: "ten" is not a number',
    ],
    ["with a condition that is none", policy({ Condition: "x" }), "Statement[0].Condition must be an object"],
  ])("%s", (_what, document, problem) => {
    expect(problemOf(document)).toBe(problem);
  });
});
