import type { DescMethod } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { guardAccounts, mayActForAccount } from "../../../services/kit/identity/account-guard.ts";
import type { Caller } from "../../../services/kit/identity/caller.ts";
import { anonymousCaller, roleCaller, rootCaller, userCaller } from "../../../services/kit/identity/caller.ts";
import { parseIdentityPolicy } from "../../../services/kit/identity/identity-policies.ts";

const everything = '{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}';
const storage = '{"Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}';
const denial = '{"Statement":[{"Effect":"Deny","Action":"s3:DeleteBucket","Resource":"*"}]}';
const alice = (...policies: string[]): Caller => userCaller("111122223333", "alice", policies);
const reader = (...policies: string[]): Caller => roleCaller("111122223333", "reader", "nightly", policies);
const preauthorized: Caller = { ...alice(), isPreauthorized: true };

// who, whether they may act for their account, whether the guard lets them through
const rows: ReadonlyArray<readonly [string, Caller, boolean, boolean]> = [
  ["the root", rootCaller("111122223333"), true, true],
  ["a user without policies", alice(), false, false],
  ["a user who may do everything", alice(everything), true, true],
  ["a user who may do everything in one service", alice(storage), false, false],
  ["a user who may do everything but one thing", alice(everything, denial), false, false],
  ["a user with a policy that cannot be read", alice(everything, "{"), false, false],
  [
    "a user with a policy that names a principal",
    alice(everything.replace('"Action"', '"Principal":"*","Action"')),
    false,
    false,
  ],
  ["a session of a role that may do everything", reader(everything), true, true],
  ["a session of a role without policies", reader(), false, false],
  ["somebody about whom another service has decided", preauthorized, false, true],
  ["an anonymous caller, whom the service itself refuses", anonymousCaller, false, true],
  ["an anonymous caller who claims more", { ...anonymousCaller, isRoot: true }, false, true],
];

describe("a service that looks only at accounts", () => {
  test.each(rows)("%s", async (_who, caller, may, isLetThrough) => {
    expect(mayActForAccount(caller)).toBe(may);
    const guarded = guardAccounts(
      async () => caller,
      (_caller, method) => new Error(`no ${method.name}`),
    );
    const outcome = await guarded("Bearer token", { name: "GetObject" } as DescMethod).then(
      (passed) => passed === caller,
      (refusal: Error) => refusal.message,
    );
    expect(outcome).toBe(isLetThrough ? true : "no GetObject");
  });
});

test("an identity policy says on which resources", () => {
  expect(() => parseIdentityPolicy('{"Statement":{"Effect":"Allow","Action":"*"}}')).toThrow(
    "Statement[0] needs Resource or NotResource",
  );
});
