import { expect, test } from "vitest";

import type { Caller } from "../../../services/kit/identity/caller.ts";
import { anonymousCaller, rootCaller, userCaller } from "../../../services/kit/identity/caller.ts";
import { allowing, bank, issuer, openSts, providerKey, role, shop, trusting, webToken } from "./sts.ts";

const providerArn = `arn:aws:iam::${shop}:oidc-provider/login.example.com/shop`;
const provider = { accountId: shop, arn: providerArn, issuer, audiences: ["quartet"], keys: { keys: [providerKey] } };
const reader = role("reader", trusting({ AWS: shop }));
const deployer = role("deployer", trusting({ Federated: providerArn }, "sts:AssumeRoleWithWebIdentity"));
const alice: Caller = { ...userCaller(shop, "alice", [allowing("sts:AssumeRole")]), accessKeyId: "AKIAALICE" };
const sessionOf = (arn: string) => ({ roleArn: arn, roleSessionName: "nightly" });
const subject = `${providerArn}/repo:shop/web`;

// who, the operation, its request; principal, action, resource, decision and reason of its only line
test.for<[Caller, "assumeRole" | "assumeRoleWithWebIdentity" | "getSessionToken", object, string]>([
  [
    alice,
    "assumeRole",
    sessionOf(reader.arn),
    `${alice.principalArn} sts:AssumeRole ${reader.arn} allowed trust-policy`,
  ],
  [
    rootCaller(bank),
    "assumeRole",
    sessionOf(reader.arn),
    `arn:aws:iam::${bank}:root sts:AssumeRole ${reader.arn} refused not-trusted`,
  ],
  [
    alice,
    "assumeRole",
    sessionOf(`${reader.arn}s`),
    `${alice.principalArn} sts:AssumeRole ${reader.arn}s refused unknown-role`,
  ],
  [
    alice,
    "assumeRole",
    { ...sessionOf(reader.arn), serialNumber: "device", tokenCode: "123456" },
    `${alice.principalArn} sts:AssumeRole ${reader.arn} refused unknown-device`,
  ],
  [anonymousCaller, "assumeRole", sessionOf(reader.arn), "anonymous sts:AssumeRole * refused unauthenticated"],
  [
    anonymousCaller,
    "assumeRoleWithWebIdentity",
    { ...sessionOf(deployer.arn), webIdentityToken: await webToken() },
    `${subject} sts:AssumeRoleWithWebIdentity ${deployer.arn} allowed trust-policy`,
  ],
  [
    anonymousCaller,
    "assumeRoleWithWebIdentity",
    { ...sessionOf(reader.arn), webIdentityToken: await webToken() },
    `${subject} sts:AssumeRoleWithWebIdentity ${reader.arn} refused not-trusted`,
  ],
  [
    anonymousCaller,
    "assumeRoleWithWebIdentity",
    { ...sessionOf(deployer.arn), webIdentityToken: await webToken({ exp: 1 }) },
    `anonymous sts:AssumeRoleWithWebIdentity ${deployer.arn} refused expired-identity-token`,
  ],
  [alice, "getSessionToken", {}, `${alice.principalArn} sts:GetSessionToken * allowed own-key`],
  [
    { ...alice, tokenIssueTimeMs: 1 },
    "getSessionToken",
    {},
    `${alice.principalArn} sts:GetSessionToken * refused no-lasting-key`,
  ],
])("a session that is asked for is recorded: %#", async ([caller, name, request, line]) => {
  const { call, recorded } = openSts({ roles: [reader, deployer], identityProviders: [provider] });
  await call(name, caller, request).catch(() => undefined);
  expect(
    recorded.map(({ principal, action, resource, decision, reason }) =>
      [principal, action, resource, decision, reason].join(" "),
    ),
  ).toEqual([line]);
});

test("who one is may be asked without a line, but not by nobody", async () => {
  const { call, recorded } = openSts({});
  await call("getCallerIdentity", alice, {});
  expect(recorded).toEqual([]);
  await expect(call("getCallerIdentity", anonymousCaller, {})).rejects.toMatchObject({
    facts: { reason: "UNAUTHENTICATED" },
  });
  expect(recorded).toMatchObject([{ action: "sts:GetCallerIdentity", decision: "refused", reason: "unauthenticated" }]);
});
