import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import {
  GroupRecordSchema,
  PolicyRecordSchema,
  UserRecordSchema,
} from "../../../../gen/quartet/identity/storage/v1/records_pb.ts";
import type { AccountState } from "../../../../gateway/identity/domain/account-state.ts";
import { emptyState } from "../../../../gateway/identity/domain/account-state.ts";
import {
  assertFree,
  getChangeable,
  policyByArn,
  withoutTags,
  withTags,
} from "../../../../gateway/identity/domain/entities.ts";
import { accountsOf } from "../../../../services/kit/accounts/accounts.ts";
import { parseTrustPolicy } from "../../../../services/kit/accounts/trust-policy.ts";
import { shop } from "../identity.ts";

const trust = { Effect: "Allow", Principal: { AWS: shop }, Action: "sts:AssumeRole" };
const trustPolicy = parseTrustPolicy(JSON.stringify({ Version: "2012-10-17", Statement: [trust] }));
const accounts = accountsOf({
  accounts: [],
  users: [{ accountId: shop, name: "team/carol", policies: [] }],
  roles: [{ accountId: shop, name: "clerk", arn: `arn:aws:iam::${shop}:role/clerk`, trustPolicy, policies: [] }],
  organizations: new Map(),
  accessKeys: [],
});

/** Two users, a group, and policies with and without a path. */
const state: AccountState = {
  ...emptyState,
  user: new Map(["Alice", "bob"].map((name) => [name.toLowerCase(), create(UserRecordSchema, { name, path: "/" })])),
  group: new Map([["readers", create(GroupRecordSchema, { name: "readers", path: "/" })]]),
  policy: new Map(
    [
      { name: "read", path: "/" },
      { name: "write", path: "/team/" },
    ].map((record) => [record.name, create(PolicyRecordSchema, record)]),
  ),
};

const refused = (reason: string, metadata: object): unknown =>
  expect.objectContaining({ facts: expect.objectContaining({ reason }), metadata: expect.objectContaining(metadata) });

describe("a name", () => {
  test.each([
    // kind, name, how many there may be
    ["user", "dora", 3],
    ["group", "alice", 2],
    ["policy", "reader", 3],
    ["role", "read", 1],
    // Declared ones do not count.
    ["role", "carol", 1],
  ] as const)("of a %s %s is free when there may be %i", (kind, name, max) => {
    expect(() => assertFree(accounts, shop, state, kind, name, max)).not.toThrow();
  });

  test.each([
    // kind, name, how many there may be, reason, metadata
    ["user", "alice", 1, "ENTITY_EXISTS", { kind: "user", entity: "alice" }],
    ["user", "ALICE", 9, "ENTITY_EXISTS", { kind: "user", entity: "ALICE" }],
    ["user", "Carol", 9, "ENTITY_EXISTS", { kind: "user", entity: "Carol" }],
    ["role", "Clerk", 9, "ENTITY_EXISTS", { kind: "role", entity: "Clerk" }],
    ["policy", "Read", 9, "ENTITY_EXISTS", { kind: "policy", entity: "Read" }],
    ["user", "dora", 2, "LIMIT_EXCEEDED", { quota: "user count per account", limit: "2" }],
    ["group", "writers", 1, "LIMIT_EXCEEDED", { quota: "group count per account", limit: "1" }],
    ["policy", "other", 2, "LIMIT_EXCEEDED", { quota: "policy count per account", limit: "2" }],
    ["role", "reader", 0, "LIMIT_EXCEEDED", { quota: "role count per account", limit: "0" }],
  ] as const)("of a %s %s is refused when there may be %i: %s", (kind, name, max, reason, metadata) => {
    expect(() => assertFree(accounts, shop, state, kind, name, max)).toThrow(refused(reason, metadata));
  });
});

test.each([
  ["user", "carol", "DECLARED_ENTITY"],
  ["role", "CLERK", "DECLARED_ENTITY"],
  // A declared user is not a group.
  ["group", "carol", "NO_SUCH_ENTITY"],
  ["user", "clerk", "NO_SUCH_ENTITY"],
  ["role", "alice", "NO_SUCH_ENTITY"],
] as const)("a %s %s cannot be changed: %s", (kind, name, reason) => {
  expect(() => getChangeable(accounts, shop, state, kind, name)).toThrow(refused(reason, { entity: name }));
});

test("a record is found by its name in any case", () => {
  expect(getChangeable(accounts, shop, state, "user", "aLiCe").name).toBe("Alice");
});

describe("a policy", () => {
  test.each([
    ["policy/read", "read"],
    ["policy/team/write", "write"],
  ])("is found by its ARN of %s", (resource, name) => {
    expect(policyByArn(shop, state, `arn:aws:iam::${shop}:${resource}`).name).toBe(name);
  });

  test.each([
    "read",
    "",
    `arn:aws:iam::${shop}:policy/`,
    `arn:aws:iam::${shop}:policy/other`,
    `arn:aws:iam::${shop}:policy/team/read`,
    `arn:aws:iam::${shop}:policy/write`,
    `arn:aws:iam::${shop}:policy/Read`,
    `arn:aws:iam::${shop}:user/read`,
    `arn:aws:iam::${shop}:xpolicy/read`,
    "arn:aws:iam::999988887777:policy/read",
    "arn:aws:iam::aws:policy/read",
  ])("is not found by %j", (arn) => {
    expect(() => policyByArn(shop, state, arn)).toThrow(refused("NO_SUCH_ENTITY", { entity: arn }));
  });
});

describe("tags", () => {
  const tags = (count: number) => Array.from({ length: count }, (_, index) => ({ key: `k${index}`, value: "v" }));

  test("are replaced by others whose keys differ only in their case, and removed in any case", () => {
    expect(withTags({ Team: "a", cost: "1" }, [{ key: "team", value: "b" }])).toEqual({ cost: "1", team: "b" });
    expect(withoutTags({ Team: "a", cost: "1" }, ["TEAM", "none"])).toEqual({ cost: "1" });
  });

  test("are not added twice under keys that differ only in their case", () => {
    const twice = [
      { key: "Team", value: "a" },
      { key: "TEAM", value: "a" },
    ];
    const problem = "Duplicate tag keys found. Please note that Tag keys are case insensitive.";
    expect(() => withTags({}, twice)).toThrow(refused("INVALID_VALUE", { problem }));
  });

  test("are at most 50", () => {
    const own = withTags({}, tags(50));
    expect(Object.keys(own)).toHaveLength(50);
    expect(Object.keys(withTags(own, [{ key: "K0", value: "w" }]))).toHaveLength(50);
    const refusal = refused("LIMIT_EXCEEDED", { quota: "tags of a principal", limit: "50" });
    expect(() => withTags(own, [{ key: "one more", value: "" }])).toThrow(refusal);
  });
});
