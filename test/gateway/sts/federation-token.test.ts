import { describe, expect, test } from "vitest";

import { principalConditions } from "../../../services/kit/accounts/principal-conditions.ts";
import { callerPoliciesOf, requesterOf } from "../../../services/kit/access/identity.ts";
import type { AccessKey } from "../../../services/kit/identity/access-keys.ts";
import { callerOf } from "../../../services/kit/identity/access-keys.ts";
import type { Caller } from "../../../services/kit/identity/caller.ts";
import { anonymousCaller, rootCaller, userCaller } from "../../../services/kit/identity/caller.ts";
import { fromClaims, policiesOf, toClaims } from "../../../services/kit/identity/token-claims.ts";
import { parsePolicy } from "../../../services/kit/policy/document.ts";
import { evaluate } from "../../../services/kit/policy/evaluate.ts";
import { allowing, bank, openSts, shop } from "./sts.ts";

const build = `arn:aws:sts::${shop}:federated-user/build`;
const may = allowing(["sts:GetFederationToken", "sts:TagSession", "s3:GetObject", "s3:PutObject"]);
const key: AccessKey = {
  accessKeyId: "QKIAALICEALICE01",
  secretAccessKey: "secret",
  accountId: shop,
  user: "team/alice",
  policies: [may],
  tags: { team: "shop", floor: "2" },
};
const rootKey: AccessKey = {
  accessKeyId: "QKIAROOTROOTROOT",
  secretAccessKey: "secret",
  accountId: shop,
  policies: [],
};
const alice = callerOf(key);
const root = callerOf(rootKey);

const boundedKey: AccessKey = {
  ...key,
  accessKeyId: "QKIABOUNDEDALICE",
  permissionsBoundary: allowing(["sts:*", "s3:GetObject"]),
};

const open = () => openSts({ accessKeys: [key, rootKey, boundedKey] });

/** The caller that requests with the issued credentials have. */
const federated = async (by: Caller, request: object): Promise<Caller> => {
  const { call, directory } = open();
  const answer = await call("getFederationToken", by, { name: "build", ...request });
  const { accessKeyId = "", sessionToken = "" } = answer["credentials"] as Record<string, string>;
  const found = directory.findTemporary(accessKeyId, sessionToken);
  if (found === undefined || found === "expired") throw new Error("there is no such session");
  return callerOf(found);
};

const mayDo = (caller: Caller, action: string, bucketPolicy?: string): boolean => {
  const resource =
    bucketPolicy === undefined ? [] : [parsePolicy(bucketPolicy, { principals: "required", bytesMax: 9_999 })];
  const asked = { requester: requesterOf(caller), action, resource: "arn:aws:s3:::photos/cat", ownerAccountId: shop };
  const policies = callerPoliciesOf(caller);
  return policies !== undefined && evaluate({ ...asked, context: new Map() }, { ...policies, resource }).isAllowed;
};

describe("GetFederationToken", () => {
  test("issues credentials of a federated user for twelve hours, of a root for one", async () => {
    const policy = allowing("s3:GetObject");
    expect(await open().call("getFederationToken", alice, { name: "build", policy })).toMatchObject({
      credentials: { expiration: { seconds: 1_767_366_245n } },
      federatedUser: { federatedUserId: `${shop}:build`, arn: build },
      packedPolicySize: 2,
    });
    expect(await open().call("getFederationToken", root, { name: "build" })).toMatchObject({
      credentials: { expiration: { seconds: 1_767_326_645n } },
      federatedUser: { arn: build },
    });
  });

  // who begins the session, its policy, and what it may do of s3:GetObject, s3:PutObject and s3:DeleteObject
  test.for<[string, Caller, string | undefined, boolean[]]>([
    ["both the user and the session may", alice, allowing(["s3:GetObject", "s3:DeleteObject"]), [true, false, false]],
    ["a session without policies may nothing", alice, undefined, [false, false, false]],
    ["a root's session is limited, too", root, allowing("s3:PutObject"), [false, true, false]],
    ["a root's session without policies may nothing", root, undefined, [false, false, false]],
  ])("%s", async ([, by, policy, expected]) => {
    const caller = await federated(by, { policy });
    expect(["s3:GetObject", "s3:PutObject", "s3:DeleteObject"].map((action) => mayDo(caller, action))).toEqual(
      expected,
    );
  });

  test("a resource may name the federated user, and its begetter's grants are not its own", async () => {
    const caller = await federated(alice, {});
    const naming = (principal: string): string =>
      JSON.stringify({ Statement: { Effect: "Allow", Principal: { AWS: principal }, Action: "s3:*", Resource: "*" } });
    expect(mayDo(caller, "s3:DeleteObject", naming(build))).toBe(true);
    expect(mayDo(caller, "s3:DeleteObject", naming(alice.principalArn))).toBe(false);
    expect(mayDo(caller, "s3:DeleteObject", naming(shop))).toBe(false);
  });

  test("it has the tags of the session over those of the user, and no name", async () => {
    const caller = await federated(alice, { tags: [{ key: "Team", value: "bank" }] });
    const conditions = principalConditions({ findOrganizationId: () => undefined }, caller);
    expect([...conditions].filter(([name]) => /principal(?:arn|type|tag)|username/.test(name))).toEqual([
      ["aws:principaltype", ["FederatedUser"]],
      ["aws:principalarn", [build]],
      ["aws:principaltag/floor", ["2"]],
      ["aws:principaltag/team", ["bank"]],
    ]);
  });

  test("it has the boundary of the user", async () => {
    const caller = await federated(callerOf(boundedKey), { policy: allowing("s3:*") });
    expect(caller.permissionsBoundary).toBe(boundedKey.permissionsBoundary);
    expect(["s3:GetObject", "s3:PutObject"].map((action) => mayDo(caller, action))).toEqual([true, false]);
  });

  test("large policies are found by the user that began the session", async () => {
    const large = { ...alice, policies: [may, allowing("s3:Get*", `arn:aws:s3:::${"p".repeat(9_000)}`)] };
    const caller: Caller = { ...large, principalArn: build, federatedBy: large.principalArn };
    const claims = { ...toClaims(caller) };
    const found = await policiesOf(claims, (_digest, arn) => (arn === large.principalArn ? large.policies : undefined));
    expect(fromClaims(claims, "gateway", found)).toEqual({ ...caller, issuer: "gateway" });
  });

  test("it ends with the key that began it", async () => {
    const { call } = open();
    const answer = await call("getFederationToken", alice, { name: "build" });
    const { accessKeyId = "", sessionToken = "" } = answer["credentials"] as Record<string, string>;
    expect(openSts({ accessKeys: [rootKey] }).directory.findTemporary(accessKeyId, sessionToken)).toBeUndefined();
  });

  test("it learns who it is, and gets neither credentials nor tokens", async () => {
    const { call } = open();
    const caller = await federated(root, { policy: allowing("*") });
    expect(await call("getCallerIdentity", caller, {})).toEqual({
      userId: `${shop}:build`,
      account: shop,
      arn: build,
    });
    const roleArn = `arn:aws:iam::${shop}:role/reader`;
    for (const [name, request] of [
      ["getFederationToken", { name: "build" }],
      ["getSessionToken", {}],
      ["assumeRole", { roleArn, roleSessionName: "nightly" }],
      ["getWebIdentityToken", { audience: ["gateway"], signingAlgorithm: "ES384" }],
    ] as const)
      await expect(call(name, caller, request)).rejects.toMatchObject({ facts: { reason: "ACCESS_DENIED" } });
  });

  // who, the request, the reason
  test.for<[string, Caller, object, string]>([
    ["nobody", anonymousCaller, {}, "UNAUTHENTICATED"],
    ["a session", { ...alice, tokenIssueTimeMs: 1 }, {}, "ACCESS_DENIED"],
    ["a caller without a key", rootCaller(shop), {}, "ACCESS_DENIED"],
    ["a user who may not", { ...userCaller(shop, "eve", []), accessKeyId: "K" }, {}, "ACCESS_DENIED"],
    [
      "a user who may for another name",
      { ...userCaller(shop, "eve", [allowing("sts:*", `${build}er`)]), accessKeyId: "K" },
      {},
      "ACCESS_DENIED",
    ],
    [
      "a user who may not give tags",
      { ...userCaller(shop, "eve", [allowing("sts:GetFederationToken", build)]), accessKeyId: "K" },
      { tags: [{ key: "team", value: "shop" }] },
      "ACCESS_DENIED",
    ],
    ["a policy that cannot be read", alice, { policy: "{}" }, "MALFORMED_POLICY"],
    [
      "a policy that is not there",
      alice,
      { policyArns: [{ arn: `arn:aws:iam::${shop}:policy/none` }] },
      "INVALID_VALUE",
    ],
    ["a root for more than an hour", root, { durationSeconds: 3_601 }, "SESSION_DURATION"],
  ])("refuses %s", async ([, caller, request, reason]) => {
    const refused = open().call("getFederationToken", caller, { name: "build", ...request });
    await expect(refused).rejects.toMatchObject({ facts: { reason } });
  });
});

describe("GetAccessKeyInfo", () => {
  test("says whose a key is, also an inactive one, and the caller's own", async () => {
    const { call } = open();
    const infoOf = (accessKeyId: string, by = root) => call("getAccessKeyInfo", by, { accessKeyId });
    expect(await infoOf(key.accessKeyId)).toEqual({ account: shop });
    expect(await infoOf("QKIAINACTIVEKEYOFBANK")).toEqual({ account: bank });
    expect(await infoOf("ASIAOWNOWNOWNOWN", { ...root, accessKeyId: "ASIAOWNOWNOWNOWN" })).toEqual({ account: shop });
    await expect(infoOf("QKIANOBODYNOBODY")).rejects.toMatchObject({ facts: { reason: "NO_SUCH_ENTITY" } });
    const eve = userCaller(shop, "eve", [allowing("sts:GetCallerIdentity")]);
    await expect(infoOf(key.accessKeyId, eve)).rejects.toMatchObject({ facts: { reason: "ACCESS_DENIED" } });
  });
});
