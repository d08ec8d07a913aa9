import { expect, test } from "vitest";

import type { Requester } from "../../../services/kit/policy/compiled.ts";
import type { Policy } from "../../../services/kit/policy/document.ts";
import { parsePolicy } from "../../../services/kit/policy/document.ts";
import { explain } from "../../../services/kit/policy/evaluate.ts";

const owner = "111122223333";
const neighbour = "444455556666";
const userOf = (accountId: string, name: string): Requester => ({
  accountId,
  principalArn: `arn:aws:iam::${accountId}:user/${name}`,
  isRoot: false,
  isAnonymous: false,
});
const alice = userOf(owner, "alice");
const bob = userOf(neighbour, "bob");
const reads = { Effect: "Allow", Action: "s3:GetObject", Resource: "*" };
const by = (...AWS: string[]): object => ({ ...reads, Principal: { AWS } });
const ownRoot = `arn:aws:iam::${owner}:root`;

const policies = (principals: "required" | "forbidden", ...statements: object[]): Policy[] =>
  statements.map((Statement) => parsePolicy(JSON.stringify({ Statement }), { principals, bytesMax: 4_096 }));

// The policies of resources that name an account leave it to that account who of it may.
// who | the caller's policies | the resource's | what decides | near misses of the resource's side
test.each<[Requester, object[], object[], string, string[]]>([
  [alice, [], [by(owner)], "no-allow", ["principal"]],
  [alice, [], [by(ownRoot)], "no-allow", ["principal"]],
  [alice, [reads], [by(owner)], "identity-policy", ["principal"]],
  [alice, [], [by(owner, alice.principalArn)], "resource-policy", []],
  [alice, [], [by(owner), by(alice.principalArn)], "resource-policy", ["principal"]],
  [alice, [], [by(owner), { ...reads, Principal: "*" }], "resource-policy", ["principal"]],
  [alice, [reads], [{ ...by(owner), Effect: "Deny" }], "explicit-deny", []],
  [{ ...alice, principalArn: ownRoot, isRoot: true }, [], [by(owner)], "owner", ["principal"]],
  [bob, [], [by(neighbour)], "no-allow", []],
  [bob, [reads], [by(neighbour)], "both-sides", []],
])("%j with %j on what %j says: %s", (requester, identity, resource, because, failed) => {
  const request = {
    requester,
    action: "s3:GetObject",
    resource: "arn:aws:s3:::photos/a.jpg",
    ownerAccountId: owner,
    context: new Map(),
  };
  const explained = explain(request, {
    identity: policies("forbidden", ...identity),
    resource: policies("required", ...resource),
  });
  const missed = explained.nearMisses.filter(({ side }) => side === "resource").map((miss) => miss.failed);
  expect([explained.because, missed]).toEqual([because, failed]);
});
