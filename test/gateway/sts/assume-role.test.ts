import { describe, expect, test } from "vitest";

import type { Caller } from "../../../services/kit/identity/caller.ts";
import { anonymousCaller, roleCaller, rootCaller, userCaller } from "../../../services/kit/identity/caller.ts";
import { allowing, bank, openSts, role, shop, trusting } from "./sts.ts";

const roleArn = `arn:aws:iam::${shop}:role/reader`;
const request = { roleArn, roleSessionName: "nightly" };
const reader = role("reader", trusting({ AWS: [shop, bank] }, ["sts:AssumeRole", "sts:TagSession"]), {
  tags: { team: "land", house: "east" },
});
const mayAssume = [allowing(["sts:AssumeRole", "sts:TagSession", "sts:SetSourceIdentity"])];
const alice: Caller = { ...userCaller(shop, "alice", mayAssume), accessKeyId: "AKIAALICE" };
const session: Caller = { ...roleCaller(shop, "clerk", "s", mayAssume), tokenIssueTimeMs: 1 };
const open = () => openSts({ roles: [reader] });
const tags = (...keys: string[]) => keys.map((key) => ({ key, value: "v" }));

describe("AssumeRole", () => {
  test("issues credentials that act as the role, for an hour", async () => {
    const { call, directory, clock } = open();
    const answer = await call("assumeRole", alice, request);
    expect(answer).toMatchObject({
      credentials: {
        accessKeyId: "ASIA0000000000000001",
        expiration: { seconds: 1_767_326_645n },
      },
      assumedRoleUser: { arn: `arn:aws:sts::${shop}:assumed-role/reader/nightly` },
    });
    const { accessKeyId, secretAccessKey, sessionToken } = answer["credentials"] as Record<string, string>;
    expect(directory.find(accessKeyId ?? "")).toBeUndefined();
    expect(directory.findTemporary(accessKeyId ?? "", sessionToken ?? "")).toMatchObject({
      secretAccessKey,
      principal: {
        principalArn: `arn:aws:sts::${shop}:assumed-role/reader/nightly`,
        policies: [allowing("s3:GetObject")],
        principalTags: { team: "land", house: "east" },
        tokenIssueTimeMs: 1_767_323_045_000,
      },
    });
    expect(directory.findTemporary("ASIAANOTHERKEY", sessionToken ?? "")).toBeUndefined();
    clock.advance(3_599_999);
    expect(directory.findTemporary(accessKeyId ?? "", sessionToken ?? "")).toBeTypeOf("object");
    clock.advance(1);
    expect(directory.findTemporary(accessKeyId ?? "", sessionToken ?? "")).toBe("expired");
  });

  test("issues credentials whose rights are the role's of the moment, and which end with it", async () => {
    const { call, directory, parts } = open();
    const { accessKeyId = "", sessionToken = "" } = (await call("assumeRole", alice, request))["credentials"] as Record<
      string,
      string
    >;
    const rights = () => {
      const found = directory.findTemporary(accessKeyId, sessionToken);
      return typeof found === "object" ? found.principal?.policies : found;
    };
    parts.roles = [{ ...reader, policies: [allowing("s3:PutObject")] }];
    expect(rights()).toEqual([allowing("s3:PutObject")]);
    parts.roles = [{ ...reader, id: "AROAANOTHER" }];
    expect(rights()).toBeUndefined();
    parts.roles = [];
    expect(rights()).toBeUndefined();
  });

  test("limits the session by policies, and tags it over the role's tags", async () => {
    const { call, sessionTokens, directory } = open();
    const answer = await call("assumeRole", alice, {
      ...request,
      policy: '{ "Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": "*", "Resource": "*"}] }',
      policyArns: [{ arn: `arn:aws:iam::${shop}:policy/read` }],
      tags: [{ key: "Team", value: "sea" }],
    });
    const { accessKeyId = "", sessionToken = "" } = answer["credentials"] as Record<string, string>;
    expect(sessionTokens.read(sessionToken)?.policies).toEqual([
      '{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}',
      allowing("s3:GetObject"),
    ]);
    expect(directory.findTemporary(accessKeyId, sessionToken)).toMatchObject({
      principal: { principalTags: { Team: "sea", house: "east" } },
    });
    expect(answer).toMatchObject({ packedPolicySize: 4 });
  });

  test("keeps a source identity and transitive tags over the sessions that follow", async () => {
    const { call, sessionTokens } = open();
    const chained: Caller = {
      ...session,
      principalTags: { project: "x", other: "y" },
      transitiveTagKeys: ["project"],
      sourceIdentity: "alice@example.com",
    };
    const answer = await call("assumeRole", chained, request);
    const { sessionToken = "" } = answer["credentials"] as Record<string, string>;
    expect(answer).toMatchObject({ sourceIdentity: "alice@example.com" });
    expect(sessionTokens.read(sessionToken)).toMatchObject({
      tags: { project: "x" },
      transitiveTagKeys: ["project"],
      sourceIdentity: "alice@example.com",
    });
  });

  // who, the request, the reason; in the order of the checks
  test.for<[string, Caller, object, string]>([
    ["nobody", anonymousCaller, {}, "UNAUTHENTICATED"],
    ["a device", alice, { serialNumber: "arn:aws:iam::111122223333:mfa/alice" }, "ACCESS_DENIED"],
    ["a tag twice", alice, { tags: tags("team", "TEAM") }, "INVALID_VALUE"],
    [
      "a tag that is inherited",
      { ...session, principalTags: { team: "sea" }, transitiveTagKeys: ["team"] },
      { tags: tags("team") },
      "INVALID_VALUE",
    ],
    ["an unknown policy", alice, { policyArns: [{ arn: `arn:aws:iam::${shop}:policy/no` }] }, "INVALID_VALUE"],
    ["a policy that is none", alice, { policy: "{}" }, "MALFORMED_POLICY"],
    [
      "tags that are too large",
      alice,
      { tags: Array.from({ length: 50 }, (_, index) => ({ key: `${index}`, value: "v".repeat(200) })) },
      "PACKED_POLICY_TOO_LARGE",
    ],
    ["another source identity", { ...session, sourceIdentity: "alice" }, { sourceIdentity: "bob" }, "ACCESS_DENIED"],
    ["an unknown role", alice, { roleArn: `arn:aws:iam::${shop}:role/nobody` }, "ACCESS_DENIED"],
    ["a user without permission", userCaller(bank, "bob", []), {}, "ACCESS_DENIED"],
    ["a user of an account that is not trusted", userCaller("777788889999", "eve", mayAssume), {}, "ACCESS_DENIED"],
    [
      "a user whose session does not allow it",
      { ...alice, sessionPolicies: [allowing("s3:GetObject")] },
      {},
      "ACCESS_DENIED",
    ],
    [
      "tags without sts:TagSession",
      userCaller(shop, "bob", [allowing("sts:AssumeRole")]),
      { tags: tags("a") },
      "ACCESS_DENIED",
    ],
    ["a source identity that the role does not trust", alice, { sourceIdentity: "alice" }, "ACCESS_DENIED"],
    ["more than the role allows", alice, { durationSeconds: 3_601 }, "SESSION_DURATION"],
  ])("refuses %s", async ([, caller, more, reason]) => {
    await expect(open().call("assumeRole", caller, { ...request, ...more })).rejects.toMatchObject({
      facts: { reason },
    });
  });

  test("allows what the role's maximum allows, but an hour in a session", async () => {
    const { call } = openSts({ roles: [{ ...reader, sessionSecondsMax: 43_200 }] });
    const long = { ...request, durationSeconds: 43_200 };
    expect(await call("assumeRole", alice, long)).toMatchObject({
      credentials: { expiration: { seconds: 1_767_366_245n } },
    });
    await expect(call("assumeRole", session, long)).rejects.toMatchObject({ facts: { reason: "SESSION_DURATION" } });
  });

  test("asks for what a condition of the trust policy asks for", async () => {
    const { call } = openSts({
      roles: [
        role("reader", trusting({ AWS: bank }, "sts:AssumeRole", { StringEquals: { "sts:ExternalId": "shop-7" } })),
      ],
    });
    const bankUser = userCaller(bank, "bob", mayAssume);
    await expect(call("assumeRole", bankUser, request)).rejects.toMatchObject({ facts: { reason: "ACCESS_DENIED" } });
    expect(await call("assumeRole", bankUser, { ...request, externalId: "shop-7" })).toHaveProperty("credentials");
  });
});

describe("GetCallerIdentity", () => {
  // who, the answer
  test.for<[Caller, object]>([
    [rootCaller(shop), { userId: shop, account: shop, arn: `arn:aws:iam::${shop}:root` }],
    [alice, { userId: "AIDAXYDN7IBDLKQVIMBW5", account: shop, arn: `arn:aws:iam::${shop}:user/alice` }],
    [
      roleCaller(shop, "reader", "nightly", []),
      {
        userId: "AROAKVKNTNXQJLR5MTUKL:nightly",
        account: shop,
        arn: `arn:aws:sts::${shop}:assumed-role/reader/nightly`,
      },
    ],
  ])("says who %j is, whatever its policies", async ([caller, answer]) => {
    expect(await open().call("getCallerIdentity", caller, {})).toEqual(answer);
  });

  test("refuses nobody", async () => {
    await expect(open().call("getCallerIdentity", anonymousCaller, {})).rejects.toMatchObject({
      facts: { reason: "UNAUTHENTICATED" },
    });
  });
});

describe("GetSessionToken", () => {
  const key = {
    accessKeyId: "AKIAALICE",
    secretAccessKey: "alice's secret",
    accountId: shop,
    user: "alice",
    policies: [allowing("s3:*")],
  };

  test("issues credentials of the caller for twelve hours", async () => {
    const { call, directory } = openSts({ accessKeys: [key] });
    const answer = await call("getSessionToken", alice, {});
    const { accessKeyId = "", sessionToken = "" } = answer["credentials"] as Record<string, string>;
    expect(answer).toMatchObject({ credentials: { expiration: { seconds: 1_767_366_245n } } });
    expect(directory.findTemporary(accessKeyId, sessionToken)).toMatchObject({
      principal: {
        principalArn: `arn:aws:iam::${shop}:user/alice`,
        policies: key.policies,
        tokenIssueTimeMs: 1_767_323_045_000,
      },
    });
    const withoutKey = openSts({});
    expect(withoutKey.directory.findTemporary(accessKeyId, sessionToken)).toBeUndefined();
  });

  // who, the request, the reason
  test.for<[string, Caller, object, string]>([
    ["nobody", anonymousCaller, {}, "UNAUTHENTICATED"],
    ["a device", alice, { serialNumber: "arn:aws:iam::111122223333:mfa/alice" }, "ACCESS_DENIED"],
    ["a session", { ...alice, tokenIssueTimeMs: 1 }, {}, "ACCESS_DENIED"],
    ["a caller without a key", rootCaller(shop), {}, "ACCESS_DENIED"],
    [
      "a root for more than an hour",
      { ...rootCaller(shop), accessKeyId: "K" },
      { durationSeconds: 3_601 },
      "SESSION_DURATION",
    ],
  ])("refuses %s", async ([, caller, request_, reason]) => {
    await expect(open().call("getSessionToken", caller, request_)).rejects.toMatchObject({ facts: { reason } });
  });
});
