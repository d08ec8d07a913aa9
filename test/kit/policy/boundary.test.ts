/** What a permissions boundary limits, and what it does not: the cases of services/decisions/0147. */
import { describe, expect, test } from "vitest";

import type { Requester } from "../../../services/kit/policy/compiled.ts";
import type { Policy } from "../../../services/kit/policy/document.ts";
import { parsePolicy } from "../../../services/kit/policy/document.ts";
import { evaluate, explain } from "../../../services/kit/policy/evaluate.ts";
import { matchesOf } from "../../../services/kit/policy/matches.ts";
import { asWritten } from "../../../services/kit/policy/spelling.ts";

const owner = "111122223333";
const other = "444455556666";
const principal = (accountId: string, principalArn: string): Requester => ({
  accountId,
  principalArn,
  isRoot: false,
  isAnonymous: false,
});
const alice = principal(owner, `arn:aws:iam::${owner}:user/alice`);
const nightly = principal(owner, `arn:aws:sts::${owner}:assumed-role/reader/nightly`);
const federated = principal(owner, `arn:aws:sts::${owner}:federated-user/build`);
const foreign = principal(other, `arn:aws:iam::${other}:user/bob`);

const policy = (principals: "required" | "forbidden", statements: readonly object[]): Policy =>
  parsePolicy(JSON.stringify({ Version: "2012-10-17", Statement: statements }), { principals, bytesMax: 8_192 });
const list = (principals: "required" | "forbidden", statements: readonly object[]): Policy[] =>
  statements.length === 0 ? [] : [policy(principals, statements)];

const reads = { Effect: "Allow", Action: "s3:GetObject", Resource: "arn:aws:s3:::b/*" };
const writes = { ...reads, Action: "s3:PutObject" };
const denies = { ...reads, Effect: "Deny" };
const to = (statement: object, AWS: string): object => ({ ...statement, Principal: { AWS } });
const toAll = { ...reads, Principal: "*" };
const toAlice = to(reads, alice.principalArn);
const toReader = to(reads, `arn:aws:iam::${owner}:role/reader`);
const toNightly = to(reads, nightly.principalArn);
const toBob = to(reads, foreign.principalArn);
const deniesAllBut = (AWS: string): object => ({ ...denies, NotPrincipal: { AWS } });

interface Policies {
  readonly identity?: readonly object[];
  readonly boundary?: readonly object[];
  readonly session?: readonly object[];
  readonly resource?: readonly object[];
  readonly isGrantedByOwner?: boolean;
}

const policiesOf = ({ identity = [], boundary, session, resource = [], isGrantedByOwner = false }: Policies) => ({
  identity: list("forbidden", identity),
  boundary: boundary && list("forbidden", boundary),
  session: session && list("forbidden", session),
  resource: list("required", resource),
  isGrantedByOwner,
});

const requestOf = (requester: Requester) => ({
  requester,
  action: "s3:GetObject",
  resource: "arn:aws:s3:::b/k",
  ownerAccountId: owner,
  context: new Map(),
});

describe("s3:GetObject on an object of account 111122223333", () => {
  // who | the policies | what decides
  test.each<[string, Requester, Policies, string]>([
    ["a user without a boundary", alice, { identity: [reads] }, "identity-policy"],
    ["a user whose boundary allows it too", alice, { identity: [reads], boundary: [reads] }, "identity-policy"],
    ["a user whose boundary alone allows it", alice, { boundary: [reads] }, "no-allow"],
    ["a user whose boundary does not", alice, { identity: [reads], boundary: [writes] }, "no-boundary-allow"],
    ["a user whose boundary is nothing at all", alice, { identity: [reads], boundary: [] }, "no-boundary-allow"],
    ["a user whose boundary denies it", alice, { identity: [reads], boundary: [reads, denies] }, "explicit-deny"],
    ["a user who is denied it", alice, { identity: [reads, denies], boundary: [reads] }, "explicit-deny"],
    ["a user whom the resource names", alice, { boundary: [writes], resource: [toAlice] }, "resource-policy"],
    [
      "a user whom the resource names, and whose boundary denies it",
      alice,
      { boundary: [denies], resource: [toAlice] },
      "explicit-deny",
    ],
    [
      "a user whose policies and whom the resource allow it",
      alice,
      { identity: [reads], boundary: [writes], resource: [toAlice] },
      "resource-policy",
    ],
    ["a user among everybody", alice, { boundary: [writes], resource: [toAll] }, "resource-policy"],
    ["a user of an account that is named", alice, { boundary: [reads], resource: [to(reads, owner)] }, "no-allow"],
    [
      "a user of an account that is named, with a policy",
      alice,
      { identity: [reads], boundary: [writes], resource: [to(reads, owner)] },
      "no-boundary-allow",
    ],
    [
      "a user among all but another",
      alice,
      { boundary: [writes], resource: [{ ...reads, NotPrincipal: { AWS: `arn:aws:iam::${owner}:user/bob` } }] },
      "no-boundary-allow",
    ],
    ["a user with a grant", alice, { boundary: [reads], isGrantedByOwner: true }, "owner-grant"],
    ["a user with a grant only", alice, { boundary: [writes], isGrantedByOwner: true }, "no-boundary-allow"],
    ["a session whose role is limited", nightly, { identity: [reads], boundary: [writes] }, "no-boundary-allow"],
    ["a session whose role is named", nightly, { boundary: [writes], resource: [toReader] }, "no-boundary-allow"],
    ["a session whose role is named and may", nightly, { boundary: [reads], resource: [toReader] }, "resource-policy"],
    ["a session that is named", nightly, { boundary: [writes], resource: [toNightly] }, "resource-policy"],
    [
      "a session that is named after its role",
      nightly,
      { boundary: [writes], resource: [toReader, toNightly] },
      "resource-policy",
    ],
    ["a session among everybody", nightly, { boundary: [writes], resource: [toAll] }, "resource-policy"],
    [
      "a session among everybody that was narrowed",
      nightly,
      { boundary: [reads], session: [writes], resource: [toAll] },
      "no-session-allow",
    ],
    [
      "a session among everybody that is limited and narrowed to it",
      nightly,
      { boundary: [writes], session: [reads], resource: [toAll] },
      "resource-policy",
    ],
    [
      "a session that is limited and narrowed",
      nightly,
      { identity: [reads], boundary: [writes], session: [writes] },
      "no-boundary-allow",
    ],
    [
      "a session with all three",
      nightly,
      { identity: [reads], boundary: [reads], session: [reads] },
      "identity-policy",
    ],
    [
      "a session that is limited and narrowed, and named",
      nightly,
      { boundary: [writes], session: [writes], resource: [toNightly] },
      "resource-policy",
    ],
    [
      "a federated user whose user is named",
      federated,
      { identity: [reads], boundary: [writes], session: [reads], resource: [toAlice] },
      "no-boundary-allow",
    ],
    [
      "a federated user who is named",
      federated,
      { boundary: [writes], session: [], resource: [to(reads, federated.principalArn)] },
      "resource-policy",
    ],
    ["a user of another account", foreign, { identity: [reads], boundary: [reads], resource: [toBob] }, "both-sides"],
    [
      "a user of another account who is limited, though named",
      foreign,
      { identity: [reads], boundary: [writes], resource: [toBob] },
      "no-boundary-allow",
    ],
    [
      "a user of another account who is limited, among everybody",
      foreign,
      { identity: [reads], boundary: [writes], resource: [toAll] },
      "no-boundary-allow",
    ],
    [
      "a user of another account with a grant",
      foreign,
      { identity: [reads], boundary: [writes], isGrantedByOwner: true },
      "no-boundary-allow",
    ],
    [
      "a user without a boundary whom a denial of all others excepts",
      alice,
      { identity: [reads], resource: [deniesAllBut(alice.principalArn)] },
      "identity-policy",
    ],
    [
      "a user with a boundary whom a denial of all others excepts",
      alice,
      { identity: [reads], boundary: [reads], resource: [deniesAllBut(alice.principalArn)] },
      "explicit-deny",
    ],
  ])("%s", (_who, requester, given, because) => {
    const request = requestOf(requester);
    const policies = policiesOf(given);
    expect([evaluate(request, policies).because, explain(request, policies).because]).toEqual([because, because]);
  });
});

test("a boundary's statements are named by their side", () => {
  const music = { ...reads, Sid: "Music", Resource: "arn:aws:s3:::music/*" };
  const policies = policiesOf({ identity: [reads], boundary: [music] });
  expect(explain(requestOf(alice), policies)).toEqual({
    isAllowed: false,
    because: "no-boundary-allow",
    sid: undefined,
    statement: undefined,
    nearMisses: [{ side: "boundary", policy: 0, statement: 0, sid: "Music", effect: "Allow", failed: "resource" }],
  });
  const closed = policiesOf({ identity: [reads], boundary: [{ ...denies, Sid: "Closed" }] });
  expect(explain(requestOf(alice), closed).statement).toEqual({
    side: "boundary",
    policy: 0,
    statement: 0,
    sid: "Closed",
  });
  const both = policiesOf({ identity: [reads], boundary: [reads] });
  expect(matchesOf(requestOf(alice), both, asWritten).allows.map(({ side }) => side)).toEqual(["identity", "boundary"]);
});
