import { describe, expect, test } from "vitest";

import type { DocumentRules } from "../../../services/kit/policy/document.ts";
import { parsePolicy } from "../../../services/kit/policy/document.ts";
import type { Requester } from "../../../services/kit/policy/compiled.ts";
import type { PolicySpelling } from "../../../services/kit/policy/spelling.ts";
import { evaluate } from "../../../services/kit/policy/evaluate.ts";

const resourceRules: DocumentRules = { principals: "required", accountMembers: ["SVC"], bytesMax: 20_480 };
const identityRules: DocumentRules = { principals: "forbidden", bytesMax: 8_192 };

const owner = "111122223333";
const user = (accountId: string, name: string): Requester => ({
  accountId,
  principalArn: `arn:aws:iam::${accountId}:user/${name}`,
  isRoot: false,
  isAnonymous: false,
});
const root = (accountId: string): Requester => ({
  ...user(accountId, ""),
  principalArn: `arn:aws:iam::${accountId}:root`,
  isRoot: true,
});
const alice = user(owner, "alice");
const bob = user("444455556666", "bob");
const session: Requester = {
  ...user(owner, ""),
  principalArn: `arn:aws:sts::${owner}:assumed-role/reader/nightly`,
};
const anonymous: Requester = { accountId: "", principalArn: "", isRoot: false, isAnonymous: true };
const mailer: Requester = { ...anonymous, isAnonymous: false, serviceName: "mail.example.com" };
const carol: Requester = { ...user("777788889999", "carol"), canonicalUserId: "c0ffee" };

const statement = (parts: object): object => ({
  Effect: "Allow",
  Action: "s3:GetObject",
  Resource: "arn:aws:s3:::b/*",
  ...parts,
});
const both = (...statements: object[]): string => JSON.stringify({ Version: "2012-10-17", Statement: statements });
const everyone = { Principal: "*" };

interface Row {
  readonly what: string;
  readonly requester: Requester;
  readonly identity?: readonly object[];
  readonly resource?: readonly object[];
  readonly isGrantedByOwner?: boolean;
  readonly action?: string;
  readonly on?: string;
  readonly context?: Readonly<Record<string, string[]>>;
  readonly because: string;
  readonly version?: string;
}

const allowed = new Set(["owner", "identity-policy", "resource-policy", "both-sides", "owner-grant"]);

/** Action is s3:GetObject on arn:aws:s3:::b/k of account 111122223333 where the row does not say otherwise. */
const rows: readonly Row[] = [
  { what: "nothing is said of a user", requester: alice, because: "no-allow" },
  { what: "the owner's root needs no policy", requester: root(owner), because: "owner" },
  { what: "another account's root needs the resource's side", requester: root("444455556666"), because: "no-allow" },
  { what: "an anonymous caller needs the resource's side", requester: anonymous, because: "no-allow" },
  {
    what: "same account: the identity's side is enough",
    requester: alice,
    identity: [statement({})],
    because: "identity-policy",
  },
  {
    what: "same account: the resource's side is enough",
    requester: alice,
    resource: [statement({ ...everyone })],
    because: "resource-policy",
  },
  { what: "same account: a grant is enough", requester: alice, isGrantedByOwner: true, because: "owner-grant" },
  {
    what: "across accounts the identity's side is not enough",
    requester: bob,
    identity: [statement({})],
    because: "no-allow",
  },
  {
    what: "across accounts the resource's side is not enough",
    requester: bob,
    resource: [statement(everyone)],
    because: "no-allow",
  },
  { what: "across accounts a grant is not enough", requester: bob, isGrantedByOwner: true, because: "no-allow" },
  {
    what: "across accounts both sides are",
    requester: bob,
    identity: [statement({})],
    resource: [statement(everyone)],
    because: "both-sides",
  },
  {
    what: "across accounts identity and grant are",
    requester: bob,
    identity: [statement({})],
    isGrantedByOwner: true,
    because: "owner-grant",
  },
  {
    what: "another account's root has its own side",
    requester: root("444455556666"),
    resource: [statement(everyone)],
    because: "resource-policy",
  },
  {
    what: "an anonymous caller is everyone",
    requester: anonymous,
    resource: [statement(everyone)],
    because: "resource-policy",
  },
  { what: "an anonymous caller may be granted", requester: anonymous, isGrantedByOwner: true, because: "owner-grant" },
  {
    what: "a deny beats the identity's allow",
    requester: alice,
    identity: [statement({}), statement({ Effect: "Deny" })],
    because: "explicit-deny",
  },
  {
    what: "a deny beats the resource's allow",
    requester: alice,
    resource: [statement({ ...everyone }), statement({ ...everyone, Effect: "Deny" })],
    because: "explicit-deny",
  },
  {
    what: "a deny beats an allow before it",
    requester: alice,
    identity: [statement({})],
    resource: [statement({ ...everyone, Effect: "Deny" })],
    because: "explicit-deny",
  },
  {
    what: "a deny beats the owner's root",
    requester: root(owner),
    resource: [statement({ ...everyone, Effect: "Deny" })],
    because: "explicit-deny",
  },
  {
    what: "a deny beats a grant",
    requester: anonymous,
    isGrantedByOwner: true,
    resource: [statement({ ...everyone, Effect: "Deny" })],
    because: "explicit-deny",
  },
  {
    what: "a deny of another action denies nothing",
    requester: alice,
    identity: [statement({}), statement({ Effect: "Deny", Action: "s3:PutObject" })],
    because: "identity-policy",
  },
  {
    what: "an action of another service is no allow",
    requester: alice,
    identity: [statement({ Action: "events:PutEvents" })],
    because: "no-allow",
  },
  {
    what: "actions take stars",
    requester: alice,
    identity: [statement({ Action: "s3:Get*" })],
    because: "identity-policy",
  },
  {
    what: "actions take question marks",
    requester: alice,
    identity: [statement({ Action: "s3:?etObject" })],
    because: "identity-policy",
  },
  {
    what: "actions ignore case",
    requester: alice,
    identity: [statement({ Action: "S3:getobject" })],
    because: "identity-policy",
  },
  { what: "every action", requester: alice, identity: [statement({ Action: "*" })], because: "identity-policy" },
  {
    what: "one action of several",
    requester: alice,
    identity: [statement({ Action: ["s3:PutObject", "s3:GetObject"] })],
    because: "identity-policy",
  },
  {
    what: "NotAction excludes",
    requester: alice,
    identity: [statement({ Action: undefined, NotAction: "s3:GetObject" })],
    because: "no-allow",
  },
  {
    what: "NotAction includes the rest",
    requester: alice,
    identity: [statement({ Action: undefined, NotAction: "s3:Put*" })],
    because: "identity-policy",
  },
  {
    what: "a resource of another bucket",
    requester: alice,
    identity: [statement({ Resource: "arn:aws:s3:::c/*" })],
    because: "no-allow",
  },
  {
    what: "the bucket is not its objects",
    requester: alice,
    identity: [statement({ Resource: "arn:aws:s3:::b" })],
    because: "no-allow",
  },
  { what: "every resource", requester: alice, identity: [statement({ Resource: "*" })], because: "identity-policy" },
  {
    what: "one resource of several",
    requester: alice,
    identity: [statement({ Resource: ["arn:aws:s3:::c/*", "arn:aws:s3:::b/k"] })],
    because: "identity-policy",
  },
  {
    what: "resources compare with case",
    requester: alice,
    identity: [statement({ Resource: "arn:aws:s3:::B/*" })],
    because: "no-allow",
  },
  {
    what: "resources take question marks",
    requester: alice,
    identity: [statement({ Resource: "arn:aws:s3:::b/?" })],
    because: "identity-policy",
  },
  {
    what: "a star of the last part spans slashes and colons",
    requester: alice,
    identity: [statement({})],
    on: "arn:aws:s3:::b/x/y:z",
    because: "identity-policy",
  },
  {
    what: "a star before the last part spans no colon",
    requester: alice,
    identity: [statement({ Resource: "arn:aws:*:b/k" })],
    because: "no-allow",
  },
  {
    what: "a pattern that ends early with a star leaves the rest open",
    requester: alice,
    identity: [statement({ Resource: "arn:aws:s3*" })],
    because: "identity-policy",
  },
  {
    what: "a pattern that ends early without one fits nothing",
    requester: alice,
    identity: [statement({ Resource: "arn:aws:s3" })],
    because: "no-allow",
  },
  {
    what: "NotResource excludes",
    requester: alice,
    identity: [statement({ Resource: undefined, NotResource: "arn:aws:s3:::b/*" })],
    because: "no-allow",
  },
  {
    what: "NotResource includes the rest",
    requester: alice,
    identity: [statement({ Resource: undefined, NotResource: "arn:aws:s3:::c/*" })],
    because: "identity-policy",
  },
  {
    what: "no resource means the policy's own",
    requester: alice,
    resource: [statement({ ...everyone, Resource: undefined })],
    because: "resource-policy",
  },
  {
    what: "principal: the account by id, which leaves it to the account's own policies",
    requester: alice,
    resource: [statement({ Principal: { AWS: owner } })],
    because: "no-allow",
  },
  {
    what: "principal: the account by its root ARN, which leaves it to the account's own policies",
    requester: session,
    resource: [statement({ Principal: { AWS: `arn:aws:iam::${owner}:root` } })],
    because: "no-allow",
  },
  {
    what: "principal: the account by the documented member name",
    requester: alice,
    resource: [statement({ Principal: { SVC: owner } })],
    because: "no-allow",
  },
  {
    what: "principal: another account",
    requester: alice,
    resource: [statement({ Principal: { AWS: "444455556666" } })],
    because: "no-allow",
  },
  {
    what: "principal: the user's ARN",
    requester: alice,
    resource: [statement({ Principal: { AWS: alice.principalArn } })],
    because: "resource-policy",
  },
  {
    what: "principal: another user's ARN",
    requester: alice,
    resource: [statement({ Principal: { AWS: `arn:aws:iam::${owner}:user/dora` } })],
    because: "no-allow",
  },
  {
    what: "principal: one of several",
    requester: alice,
    resource: [statement({ Principal: { AWS: ["444455556666", alice.principalArn] } })],
    because: "resource-policy",
  },
  {
    what: "principal: everyone in the account form",
    requester: anonymous,
    resource: [statement({ Principal: { AWS: "*" } })],
    because: "resource-policy",
  },
  {
    what: "principal: an account is not anonymous",
    requester: anonymous,
    resource: [statement({ Principal: { AWS: owner } })],
    because: "no-allow",
  },
  {
    what: "principal: a service",
    requester: mailer,
    resource: [statement({ Principal: { Service: "mail.example.com" } })],
    because: "resource-policy",
  },
  {
    what: "principal: another service",
    requester: mailer,
    resource: [statement({ Principal: { Service: "news.example.com" } })],
    because: "no-allow",
  },
  {
    what: "principal: a canonical user",
    requester: carol,
    identity: [statement({})],
    resource: [statement({ Principal: { CanonicalUser: "c0ffee" } })],
    because: "both-sides",
  },
  {
    what: "principal: another canonical user",
    requester: carol,
    identity: [statement({})],
    resource: [statement({ Principal: { CanonicalUser: "decaf" } })],
    because: "no-allow",
  },
  {
    what: "NotPrincipal excludes",
    requester: alice,
    resource: [statement({ NotPrincipal: { AWS: alice.principalArn } })],
    because: "no-allow",
  },
  {
    what: "NotPrincipal includes the rest",
    requester: user(owner, "dora"),
    resource: [statement({ NotPrincipal: { AWS: alice.principalArn } })],
    because: "resource-policy",
  },
  {
    what: "Deny with NotPrincipal denies the rest",
    requester: user(owner, "dora"),
    identity: [statement({})],
    resource: [statement({ Effect: "Deny", NotPrincipal: { AWS: alice.principalArn } })],
    because: "explicit-deny",
  },
  {
    what: "a condition that holds",
    requester: alice,
    identity: [statement({ Condition: { IpAddress: { "aws:SourceIp": "10.0.0.0/8" } } })],
    context: { "aws:sourceip": ["10.0.0.1"] },
    because: "identity-policy",
  },
  {
    what: "a condition that does not",
    requester: alice,
    identity: [statement({ Condition: { IpAddress: { "aws:SourceIp": "10.0.0.0/8" } } })],
    context: { "aws:sourceip": ["9.0.0.1"] },
    because: "no-allow",
  },
  {
    what: "all keys of an operator must hold",
    requester: alice,
    identity: [statement({ Condition: { StringEquals: { a: "1", b: "2" } } })],
    context: { a: ["1"], b: ["3"] },
    because: "no-allow",
  },
  {
    what: "all operators must hold",
    requester: alice,
    identity: [statement({ Condition: { StringEquals: { a: "1" }, Bool: { b: true } } })],
    context: { a: ["1"], b: ["false"] },
    because: "no-allow",
  },
  {
    what: "one value of a key is enough",
    requester: alice,
    identity: [statement({ Condition: { StringEquals: { a: ["1", "2"] } } })],
    context: { a: ["2"] },
    because: "identity-policy",
  },
  {
    what: "numbers and booleans are taken as text",
    requester: alice,
    identity: [statement({ Condition: { NumericLessThan: { "s3:max-keys": 10 } } })],
    context: { "s3:max-keys": ["9"] },
    because: "identity-policy",
  },
  {
    what: "a deny with a condition that does not hold",
    requester: alice,
    identity: [statement({}), statement({ Effect: "Deny", Condition: { Bool: { "aws:SecureTransport": "false" } } })],
    context: { "aws:securetransport": ["true"] },
    because: "identity-policy",
  },
  {
    what: "a deny with a condition that holds",
    requester: alice,
    identity: [statement({}), statement({ Effect: "Deny", Condition: { Bool: { "aws:SecureTransport": "false" } } })],
    context: { "aws:securetransport": ["false"] },
    because: "explicit-deny",
  },
  {
    what: "a variable in a resource",
    requester: alice,
    identity: [statement({ Resource: "arn:aws:s3:::b/${aws:username}/*" })],
    on: "arn:aws:s3:::b/alice/x",
    context: { "aws:username": ["alice"] },
    because: "identity-policy",
  },
  {
    what: "another user's folder",
    requester: alice,
    identity: [statement({ Resource: "arn:aws:s3:::b/${aws:username}/*" })],
    on: "arn:aws:s3:::b/dora/x",
    context: { "aws:username": ["alice"] },
    because: "no-allow",
  },
  {
    what: "a variable's own star is no wildcard",
    requester: alice,
    identity: [statement({ Resource: "arn:aws:s3:::b/${aws:username}/*" })],
    on: "arn:aws:s3:::b/dora/x",
    context: { "aws:username": ["*"] },
    because: "no-allow",
  },
  {
    what: "a variable without a value fits nothing",
    requester: alice,
    identity: [statement({ Resource: "arn:aws:s3:::b/${aws:username}*" })],
    because: "no-allow",
  },
  {
    what: "a variable with a fallback",
    requester: alice,
    identity: [statement({ Resource: "arn:aws:s3:::b/${aws:username, 'k'}" })],
    because: "identity-policy",
  },
  {
    what: "a star of its own name",
    requester: alice,
    identity: [statement({ Resource: "arn:aws:s3:::b/${*}" })],
    because: "no-allow",
  },
  {
    what: "a star of its own name fits a star",
    requester: alice,
    identity: [statement({ Resource: "arn:aws:s3:::b/${*}" })],
    on: "arn:aws:s3:::b/*",
    because: "identity-policy",
  },
  {
    what: "a variable in a condition",
    requester: alice,
    identity: [statement({ Condition: { StringLike: { "s3:prefix": "${aws:username}/*" } } })],
    context: { "aws:username": ["alice"], "s3:prefix": ["alice/x"] },
    because: "identity-policy",
  },
  {
    what: "a variable in an exact condition keeps its star",
    requester: alice,
    identity: [statement({ Condition: { StringEquals: { "s3:prefix": "${aws:username}" } } })],
    context: { "aws:username": ["*"], "s3:prefix": ["*"] },
    because: "identity-policy",
  },
  {
    what: "the older version has no variables",
    requester: alice,
    version: "2008-10-17",
    identity: [statement({ Resource: "arn:aws:s3:::b/${aws:username}" })],
    on: "arn:aws:s3:::b/${aws:username}",
    because: "identity-policy",
  },
  {
    what: "a role's ARN names its sessions",
    requester: session,
    resource: [statement({ Principal: { AWS: `arn:aws:iam::${owner}:role/reader` } })],
    because: "resource-policy",
  },
  {
    what: "a session's ARN names that session",
    requester: session,
    resource: [statement({ Principal: { AWS: `arn:aws:sts::${owner}:assumed-role/reader/nightly` } })],
    because: "resource-policy",
  },
  {
    what: "another role's ARN names none of its sessions",
    requester: session,
    resource: [statement({ Principal: { AWS: `arn:aws:iam::${owner}:role/read` } })],
    because: "no-allow",
  },
];

describe("evaluate", () => {
  test.each(rows)("$what: $because", (row) => {
    const version = row.version ?? "2012-10-17";
    const document = (statements: readonly object[] = []) =>
      JSON.stringify({ Version: version, Statement: statements });
    const decision = evaluate(
      {
        requester: row.requester,
        action: row.action ?? "s3:GetObject",
        resource: row.on ?? "arn:aws:s3:::b/k",
        ownerAccountId: owner,
        context: new Map(Object.entries(row.context ?? {})),
      },
      {
        identity: row.identity === undefined ? [] : [parsePolicy(document(row.identity), identityRules)],
        resource: row.resource === undefined ? [] : [parsePolicy(document(row.resource), resourceRules)],
        ...(row.isGrantedByOwner === undefined ? {} : { isGrantedByOwner: row.isGrantedByOwner }),
      },
    );
    expect([decision.because, decision.isAllowed]).toEqual([row.because, allowed.has(row.because)]);
  });

  test("names the statement that decided", () => {
    const policy = parsePolicy(both(statement({ Sid: "Reading", ...everyone })), resourceRules);
    const request = {
      requester: anonymous,
      action: "s3:GetObject",
      resource: "arn:aws:s3:::b/k",
      ownerAccountId: owner,
      context: new Map(),
    };
    expect(evaluate(request, { identity: [], resource: [policy] }).sid).toBe("Reading");
  });

  test("takes both spellings of a dialect as one", () => {
    const spelling: PolicySpelling = {
      action: (text) => text.replace(/^object-storage:/, "s3:"),
      arn: (text) => text.replace(/^arn:svc:object-storage:/, "arn:aws:s3:"),
      key: (text) => text.replace(/^svc:/, "aws:"),
    };
    const policy = parsePolicy(
      both(
        statement({
          Action: "object-storage:GetObject",
          Resource: "arn:svc:object-storage:::b/${svc:username}",
          Condition: { Bool: { "svc:SecureTransport": true } },
        }),
      ),
      identityRules,
    );
    const context = new Map([
      ["aws:username", ["alice"]],
      ["aws:securetransport", ["true"]],
    ]);
    const request = {
      requester: alice,
      action: "s3:GetObject",
      resource: "arn:aws:s3:::b/alice",
      ownerAccountId: owner,
      context,
    };
    expect(evaluate(request, { identity: [policy], resource: [] }, spelling).because).toBe("identity-policy");
    expect(evaluate(request, { identity: [policy], resource: [] }).because).toBe("no-allow");
  });
});
