import { describe, expect, test } from "vitest";

import type { Requester } from "../../../services/kit/policy/compiled.ts";
import type { Policy } from "../../../services/kit/policy/document.ts";
import { parsePolicy } from "../../../services/kit/policy/document.ts";
import { evaluate, explain } from "../../../services/kit/policy/evaluate.ts";

const owner = "111122223333";
const other = "444455556666";
const sessionOf = (accountId: string): Requester => ({
  accountId,
  principalArn: `arn:aws:sts::${accountId}:assumed-role/reader/nightly`,
  isRoot: false,
  isAnonymous: false,
});
const nightly = sessionOf(owner);
const foreign = sessionOf(other);
const root: Requester = { ...nightly, principalArn: `arn:aws:iam::${owner}:root`, isRoot: true };

const policy = (principals: "required" | "forbidden", statements: readonly object[]): Policy =>
  parsePolicy(JSON.stringify({ Version: "2012-10-17", Statement: statements }), { principals, bytesMax: 8_192 });
const list = (principals: "required" | "forbidden", statements: readonly object[]): Policy[] =>
  statements.length === 0 ? [] : [policy(principals, statements)];

const reads = { Effect: "Allow", Action: "s3:GetObject", Resource: "arn:aws:s3:::b/*" };
const writes = { ...reads, Action: "s3:PutObject" };
const denies = { ...reads, Effect: "Deny" };
const to = (statement: object, principal: unknown): object => ({ ...statement, Principal: principal });
const role = { AWS: `arn:aws:iam::${owner}:role/reader` };
const itself = { AWS: nightly.principalArn };
const foreignItself = { AWS: foreign.principalArn };

interface Policies {
  readonly identity?: readonly object[];
  readonly session?: readonly object[];
  readonly resource?: readonly object[];
  readonly isGrantedByOwner?: boolean;
}

describe("s3:GetObject on an object of account 111122223333 by a session", () => {
  // what | who | the policies | what decides
  test.each<[string, Requester, Policies, string]>([
    ["that was not narrowed", nightly, { identity: [reads] }, "identity-policy"],
    ["whose session policy allows it too", nightly, { identity: [reads], session: [reads] }, "identity-policy"],
    ["whose session policy does not", nightly, { identity: [reads], session: [writes] }, "no-session-allow"],
    ["whose session policies are none at all", nightly, { identity: [reads], session: [] }, "no-session-allow"],
    ["whose session policy alone allows it", nightly, { session: [reads] }, "no-allow"],
    ["whose session policy denies it", nightly, { identity: [reads], session: [reads, denies] }, "explicit-deny"],
    ["whose role denies it", nightly, { identity: [reads, denies], session: [reads] }, "explicit-deny"],
    [
      "whom the resource denies",
      nightly,
      { identity: [reads], session: [reads], resource: [to(denies, "*")] },
      "explicit-deny",
    ],
    [
      "whose role with a path the resource names",
      { ...nightly, rolePath: "/team/" },
      { resource: [to(reads, { AWS: `arn:aws:iam::${owner}:role/team/reader` })] },
      "resource-policy",
    ],
    [
      "whose role has a path, and the resource names one without it",
      { ...nightly, rolePath: "/team/" },
      { resource: [to(reads, role)] },
      "no-allow",
    ],
    [
      "whose role has no path, and the resource names one with it",
      nightly,
      { resource: [to(reads, { AWS: `arn:aws:iam::${owner}:role/team/reader` })] },
      "no-allow",
    ],
    ["whose role the resource names", nightly, { session: [reads], resource: [to(reads, role)] }, "resource-policy"],
    [
      "whose role the resource names, of which it was deprived",
      nightly,
      { session: [writes], resource: [to(reads, role)] },
      "no-session-allow",
    ],
    [
      "whose account the resource names, of which it was deprived",
      nightly,
      { session: [writes], resource: [to(reads, { AWS: owner })] },
      "no-allow",
    ],
    [
      "among everybody whom the resource names, of which it was deprived",
      nightly,
      { session: [writes], resource: [to(reads, "*")] },
      "no-session-allow",
    ],
    [
      "that the resource names itself",
      nightly,
      { session: [writes], resource: [to(reads, itself)] },
      "resource-policy",
    ],
    [
      "that the resource names itself after its role",
      nightly,
      { session: [writes], resource: [to(reads, role), to(reads, itself)] },
      "resource-policy",
    ],
    [
      "that the resource names itself and its session policy denies",
      nightly,
      { session: [denies], resource: [to(reads, itself)] },
      "explicit-deny",
    ],
    [
      "that the resource names itself for another action",
      nightly,
      { identity: [reads], session: [writes], resource: [to(writes, itself)] },
      "no-session-allow",
    ],
    [
      "that the resource excludes from others",
      nightly,
      {
        session: [writes],
        resource: [{ ...reads, NotPrincipal: { AWS: `arn:aws:iam::${owner}:user/bob` } }],
      },
      "no-session-allow",
    ],
    ["with a grant of the owner", nightly, { session: [reads], isGrantedByOwner: true }, "owner-grant"],
    [
      "with a grant of the owner, of which it was deprived",
      nightly,
      { session: [writes], isGrantedByOwner: true },
      "no-session-allow",
    ],
    [
      "of another account with both sides",
      foreign,
      { identity: [reads], session: [reads], resource: [to(reads, "*")] },
      "both-sides",
    ],
    [
      "of another account, of which it was deprived",
      foreign,
      { identity: [reads], session: [writes], resource: [to(reads, "*")] },
      "no-session-allow",
    ],
    [
      "of another account that the resource names itself, of which it was deprived",
      foreign,
      { identity: [reads], session: [writes], resource: [to(reads, foreignItself)] },
      "no-session-allow",
    ],
    ["of the root that was narrowed", root, { session: [writes] }, "no-session-allow"],
    ["of the root that was narrowed to it", root, { session: [reads] }, "owner"],
  ])("%s", (_what, requester, { identity = [], session, resource = [], isGrantedByOwner = false }, because) => {
    const request = {
      requester,
      action: "s3:GetObject",
      resource: "arn:aws:s3:::b/k",
      ownerAccountId: owner,
      context: new Map(),
    };
    const policies = {
      identity: list("forbidden", identity),
      resource: list("required", resource),
      session: session && list("forbidden", session),
      isGrantedByOwner,
    };
    expect([evaluate(request, policies).because, explain(request, policies).because]).toEqual([because, because]);
  });
});

test("a session policy's statements are named by their side", () => {
  const request = {
    requester: nightly,
    action: "s3:GetObject",
    resource: "arn:aws:s3:::b/k",
    ownerAccountId: owner,
    context: new Map(),
  };
  const policies = {
    identity: list("forbidden", [reads]),
    session: list("forbidden", [{ ...reads, Sid: "Music", Resource: "arn:aws:s3:::music/*" }]),
    resource: [],
  };
  expect(explain(request, policies)).toEqual({
    isAllowed: false,
    because: "no-session-allow",
    sid: undefined,
    statement: undefined,
    nearMisses: [{ side: "session", policy: 0, statement: 0, sid: "Music", effect: "Allow", failed: "resource" }],
  });
  const closed = { ...policies, session: list("forbidden", [{ ...denies, Sid: "Closed" }]) };
  expect(explain(request, closed).statement).toEqual({ side: "session", policy: 0, statement: 0, sid: "Closed" });
});
