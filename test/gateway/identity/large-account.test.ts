/**
 * Goal: an account with as many users, keys and policies as it may have, or more, holds up neither the start of the
 * gateway nor the calls of other accounts. Method: the records are written at once, and the CPU of each turn of the
 * event loop is measured; whatever took time that grows with their square, or with all policies of all users, would
 * have turns of many seconds.
 */
import { create } from "@bufbuild/protobuf";
import { describe, expect, onTestFinished, test } from "vitest";

import {
  AccessKeyRecordSchema,
  GroupRecordSchema,
  PolicyRecordSchema,
  UserRecordSchema,
} from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import type { Change } from "../../../gateway/identity/domain/account-state.ts";
import { openPolicyLists } from "../../../gateway/identity/policy-lists.ts";
import { areTooLargeToCarry, policiesDigest } from "../../../services/kit/identity/identity-policies.ts";
import { turnsOf } from "../../support/turns.ts";
import { allowing, openIdentity, shop } from "./identity.ts";

type Identity = Awaited<ReturnType<typeof openIdentity>>;

/** Runs work no turn of which takes more CPU than this, in milliseconds. */
const inShortTurns = async <T>(work: () => Promise<T>): Promise<T> => {
  let result: Promise<T> | undefined;
  const turns = await turnsOf(() => (result = work()));
  expect(turns.longest).toBeLessThan(1_500);
  return result as Promise<T>;
};

const write = (identity: Identity, changes: readonly Change[]): Promise<unknown> =>
  identity.identities.change(shop, () => ({ changes, result: undefined }));

const policyNamed = (name: string, document: string): Change => ({
  kind: "policy",
  name,
  record: create(PolicyRecordSchema, {
    name,
    path: "/",
    id: name,
    defaultVersion: 1,
    lastVersion: 1,
    versions: [{ number: 1, document }],
  }),
});

const tenOf = (from: number, prefix: string): string[] =>
  Array.from({ length: 10 }, (_none, index) => `${prefix}${from + index}`);

const userNamed = (name: string, groups: string[], attached: string[]): Change => ({
  kind: "user",
  name,
  record: create(UserRecordSchema, { name, path: "/", id: name, groups, policies: { attached } }),
});

test("20,000 keys are read at the start", async () => {
  const first = await openIdentity();
  const keys = Array.from({ length: 20_000 }, (_none, index): Change => {
    const name = `AKIA${index}`;
    return { kind: "accessKey", name, record: create(AccessKeyRecordSchema, { userName: "", isActive: true }) };
  });
  await write(first, keys);
  await first.close();
  const again = await inShortTurns(() => openIdentity({}, first.home));
  onTestFinished(again.close);
  expect(again.identities.state(shop).accessKey.size).toBe(20_000);
});

test("1,500 policies are listed with their attachments to 20,000 users", async () => {
  const identity = await openIdentity();
  onTestFinished(identity.close);
  const policies = Array.from({ length: 1_500 }, (_none, index) => policyNamed(`p${index}`, allowing("s3:GetObject")));
  const users = Array.from({ length: 20_000 }, (_none, index) =>
    userNamed(`u${index}`, [], tenOf(10 * (index % 100), "p")),
  );
  await write(identity, [...policies, ...users]);
  const { policies: listed } = await inShortTurns(() =>
    identity.call("listPolicies", { scope: "Local", maxItems: 1_000 }),
  );
  const counts = new Map(
    (listed as { policyName: string; attachmentCount: number }[]).map((each) => [
      each.policyName,
      each.attachmentCount,
    ]),
  );
  expect([counts.size, counts.get("p0"), counts.get("p1"), counts.get("p1000")]).toEqual([1_000, 200, 200, 0]);
});

describe("of 5,000 users with 110 policies each", () => {
  const large = async () => {
    const identity = await openIdentity();
    onTestFinished(identity.close);
    const lists = openPolicyLists(identity.identities, identity.clock);
    onTestFinished(() => lists.stop());
    const policies = Array.from({ length: 200 }, (_none, index) =>
      policyNamed(`p${index}`, allowing("s3:GetObject", `arn:aws:s3:::${index}/${"b".repeat(5_900)}`)),
    );
    const groups = Array.from({ length: 10 }, (_none, index): Change => {
      const name = `g${index}`;
      const held = { attached: tenOf(10 * index, "p") };
      return { kind: "group", name, record: create(GroupRecordSchema, { name, path: "/", id: name, policies: held }) };
    });
    const users = Array.from({ length: 5_000 }, (_none, index) =>
      userNamed(`u${index}`, tenOf(0, "g"), tenOf(100 + 10 * (index % 10), "p")),
    );
    await write(identity, [...policies, ...groups, ...users]);
    const policiesOf = (name: string): readonly string[] => identity.stored.findUser(shop, name)?.policies ?? [];
    return { identity, lists, policiesOf };
  };
  const arnOf = (name: string): string => `arn:aws:iam::${shop}:user/${name}`;

  test("the policies of one are found by their digest, whatever changes in the account", async () => {
    const { identity, lists, policiesOf } = await large();
    for (const name of ["u1", "u2", "u3"]) {
      await identity.call("tagUser", { userName: name, tags: [{ key: "seen", value: "yes" }] });
      const policies = policiesOf(name);
      expect(policies).toHaveLength(110);
      const found = await inShortTurns(async () => lists.find(policiesDigest(policies), arnOf(name)));
      expect(found).toBe(policies);
      expect(await inShortTurns(async () => lists.find("x".repeat(43), arnOf(name)))).toBeUndefined();
    }
  });

  test("those whose tokens were signed are found as they were before their group changed", async () => {
    const { identity, lists, policiesOf } = await large();
    const former = policiesOf("u1");
    expect(areTooLargeToCarry(former)).toBe(true);
    const policyArn = `arn:aws:iam::${shop}:policy/p0`;
    await inShortTurns(() => identity.call("detachGroupPolicy", { groupName: "g0", policyArn }));
    expect(policiesOf("u1")).toHaveLength(109);
    expect(lists.find(policiesDigest(former), arnOf("u1"))).toBe(former);
  });

  test("those whose tokens were signed are found as they were before the default version of a policy changed", async () => {
    const { identity, lists, policiesOf } = await large();
    const former = policiesOf("u1");
    expect(areTooLargeToCarry(former)).toBe(true);
    const policyArn = `arn:aws:iam::${shop}:policy/p0`;
    const version = { policyArn, policyDocument: allowing("s3:*"), setAsDefault: true };
    await inShortTurns(() => identity.call("createPolicyVersion", version));
    expect(policiesOf("u1")).not.toBe(former);
    expect(lists.find(policiesDigest(former), arnOf("u1"))).toBe(former);
  });

  test("a list stays the same where nothing of it has changed", async () => {
    const { identity, policiesOf } = await large();
    const before = policiesOf("u1");
    await identity.call("createGroup", { groupName: "others" });
    await identity.call("tagUser", { userName: "u2", tags: [{ key: "seen", value: "yes" }] });
    expect(policiesOf("u1")).toBe(before);
  });
});

test("white space of a policy takes no memory: a document is kept as it is up to four times its length without", async () => {
  const identity = await openIdentity();
  onTestFinished(identity.close);
  const compact = allowing("s3:GetObject");
  const spaced = (length: number): string => `{${" ".repeat(length - compact.length)}${compact.slice(1)}`;
  for (const [policyName, policyDocument, expected] of [
    ["kept", spaced(4 * compact.length), spaced(4 * compact.length)],
    ["shortened", spaced(4 * compact.length + 1), compact],
  ]) {
    await identity.call("createPolicy", { policyName, policyDocument });
    const policyArn = `arn:aws:iam::${shop}:policy/${policyName}`;
    const { policyVersion } = await identity.call("getPolicyVersion", { policyArn, versionId: "v1" });
    expect(policyVersion).toMatchObject({ document: expected });
  }
});
