import { decodeJwt, decodeProtectedHeader } from "jose";
import { describe, expect, test } from "vitest";

import type { Caller } from "../../../services/kit/identity/caller.ts";
import { anonymousCaller, roleCaller, rootCaller, userCaller } from "../../../services/kit/identity/caller.ts";
import { keyId } from "../../../services/kit/identity/key-files.ts";
import { createVerifier } from "../../../services/kit/identity/tokens.ts";
import { allowing, openSts, shop } from "./sts.ts";

const mayGet = allowing(["sts:GetWebIdentityToken", "sts:TagGetWebIdentityToken"]);
const alice: Caller = {
  ...userCaller(shop, "alice", [mayGet]),
  accessKeyId: "AKIAALICE",
  sourceIp: "192.0.2.1",
  isSecureTransport: true,
  authType: "REST-HEADER",
  principalTags: { team: "land" },
};
const aliceMay = (...policies: string[]): Caller => ({ ...alice, policies });
/** A session with 200 seconds left. */
const session: Caller = {
  ...roleCaller(shop, "reader", "nightly", [mayGet]),
  accessKeyId: "ASIASESSION",
  tokenIssueTimeMs: 1_767_319_645_000,
  sessionEndMs: 1_767_323_245_000,
  sessionPolicies: [allowing(["sts:*", "s3:GetObject"])],
};
const request = { audience: ["object-storage"], signingAlgorithm: "ES384" };
const conditioned = (condition: object) =>
  JSON.stringify({
    Version: "2012-10-17",
    Statement: [{ Effect: "Allow", Action: "sts:*", Resource: "*", Condition: condition }],
  });
const tags = (count: number, length: number) =>
  Array.from({ length: count }, (_, index) => ({ key: `${index}`.padEnd(128, "k"), value: "v".repeat(length) }));

const got = async (caller: Caller, more: object = {}) => {
  const opened = openSts({});
  const answer = await opened.call("getWebIdentityToken", caller, { ...request, ...more });
  return { ...opened, answer, token: answer["webIdentityToken"] as string };
};

describe("GetWebIdentityToken", () => {
  test("issues a token of the caller for five minutes, which a service accepts", async () => {
    const { answer, token, clientTokenKeys, clock } = await got(alice);
    expect(answer).toMatchObject({ expiration: { seconds: 1_767_323_345n } });
    expect(decodeProtectedHeader(token)).toEqual({ alg: "ES384", kid: keyId(clientTokenKeys.publicKey) });
    const publicKeys = new Map([["client-tokens", clientTokenKeys.publicKey]]);
    const verifier = createVerifier({ publicKeys, clock, audience: "object-storage" });
    expect(await verifier.verify(token)).toEqual({
      ...userCaller(shop, "alice", [mayGet]),
      accessKeyId: "AKIAALICE",
      authType: "REST-HEADER",
      principalTags: { team: "land" },
      issuer: "client-tokens",
    });
    clock.advance(299_999);
    expect((await verifier.verify(token)).accountId).toBe(shop);
    clock.advance(1);
    await expect(verifier.verify(token)).rejects.toMatchObject({ reason: "expired" });
  });

  test("keeps what a session is limited to", async () => {
    const { answer, token } = await got(session, { durationSeconds: 200 });
    expect(decodeJwt(token)).toMatchObject({
      sub: `arn:aws:sts::${shop}:assumed-role/reader/nightly`,
      session_policies: session.sessionPolicies,
      session_end: 1_767_323_245_000,
    });
    expect(answer).toMatchObject({ expiration: { seconds: 1_767_323_245n } });
  });

  test("ends with the session where no duration is asked for", async () => {
    expect((await got(session)).answer).toMatchObject({ expiration: { seconds: 1_767_323_245n } });
  });

  test("names each audience once, and has the tags of the request for its readers", async () => {
    const { token } = await got(alice, {
      audience: ["event-bus", "gateway", "event-bus"],
      tags: [{ key: "sub", value: "nobody" }],
    });
    expect(decodeJwt(token)).toMatchObject({
      sub: alice.principalArn,
      aud: ["event-bus", "gateway"],
      request_tags: { sub: "nobody" },
      principal_tags: { team: "land" },
    });
  });

  // the policy, the request
  test.for<[string, object]>([
    [allowing("sts:GetWebIdentityToken"), {}],
    [conditioned({ "ForAllValues:StringEquals": { "sts:IdentityTokenAudience": "object-storage" } }), {}],
    [conditioned({ NumericLessThanEquals: { "sts:DurationSeconds": "300" } }), {}],
    [conditioned({ StringEquals: { "sts:SigningAlgorithm": "ES384" } }), { durationSeconds: 900 }],
    [conditioned({ StringEquals: { "aws:RequestTag/job": "nightly" } }), { tags: [{ key: "job", value: "nightly" }] }],
    [conditioned({ "ForAllValues:StringEquals": { "aws:TagKeys": "job" } }), { tags: [{ key: "job", value: "x" }] }],
  ])("is allowed by %s", async ([policy, more]) => {
    expect((await got(aliceMay(policy), more)).token).toMatch(/^ey/);
  });

  test("is allowed to a root", async () => {
    expect((await got({ ...rootCaller(shop), accessKeyId: "AKIAROOT" })).token).toMatch(/^ey/);
  });

  // who, the request, the reason; in the order of the checks
  test.for<[string, Caller, object, string]>([
    ["nobody", anonymousCaller, {}, "UNAUTHENTICATED"],
    ["who shows such a token", { ...alice, isTokenBorne: true }, {}, "ACCESS_DENIED"],
    ["who shows a token without a key", rootCaller(shop), {}, "ACCESS_DENIED"],
    ["who may not", aliceMay(allowing("s3:*")), {}, "ACCESS_DENIED"],
    ["whom a policy denies it", aliceMay(mayGet, mayGet.replace("Allow", "Deny")), {}, "ACCESS_DENIED"],
    ["a session that may not", { ...session, sessionPolicies: [allowing("s3:*")] }, {}, "ACCESS_DENIED"],
    ["tags to who may not tag", aliceMay(allowing("sts:GetWebIdentityToken")), { tags: tags(1, 1) }, "ACCESS_DENIED"],
    [
      "an audience that the policy leaves out",
      aliceMay(conditioned({ "ForAllValues:StringEquals": { "sts:IdentityTokenAudience": "event-bus" } })),
      { audience: ["event-bus", "object-storage"] },
      "ACCESS_DENIED",
    ],
    [
      "the usual duration where the policy allows less",
      aliceMay(conditioned({ NumericLessThanEquals: { "sts:DurationSeconds": "299" } })),
      {},
      "ACCESS_DENIED",
    ],
    ["a foreign audience", alice, { audience: ["object-storage", "https://api.example.com"] }, "FOREIGN_AUDIENCE"],
    ["another algorithm", alice, { signingAlgorithm: "RS256" }, "SIGNING_ALGORITHM"],
    ["more than 15 minutes", alice, { durationSeconds: 901 }, "SESSION_DURATION"],
    [
      "a tag twice",
      alice,
      {
        tags: [
          { key: "a", value: "" },
          { key: "A", value: "" },
        ],
      },
      "INVALID_VALUE",
    ],
    ["more than is left of a session", session, { durationSeconds: 201 }, "SESSION_ESCALATION"],
    ["a session that ends now", { ...session, sessionEndMs: 1_767_323_045_999 }, {}, "SESSION_ESCALATION"],
    ["more tags than there is room for", alice, { tags: tags(50, 256) }, "TOKEN_TOO_LARGE"],
  ])("refuses %s", async ([, caller, more, reason]) => {
    await expect(got(caller, more)).rejects.toMatchObject({ facts: { reason } });
  });
});

// the operation; a token must not begin what outlives it
test.for(["assumeRole", "getSessionToken", "getWebIdentityToken"] as const)(
  "%s issues nothing to who shows a token",
  async (name) => {
    const { call, recorded } = openSts({});
    await expect(call(name, { ...alice, isTokenBorne: true }, {})).rejects.toMatchObject({
      facts: { reason: "ACCESS_DENIED" },
    });
    expect(recorded).toMatchObject([{ decision: "refused", reason: "token-borne", resource: "*" }]);
  },
);

test("who shows a token may ask who it is", async () => {
  const answer = await openSts({}).call("getCallerIdentity", { ...alice, isTokenBorne: true }, {});
  expect(answer).toMatchObject({ arn: alice.principalArn });
});

test("a token that is issued is recorded without it", async () => {
  const { recorded, token } = await got(alice, { tags: tags(1, 1) });
  expect(recorded).toMatchObject([
    { action: "sts:GetWebIdentityToken", decision: "allowed", resource: "*", accessKeyId: "AKIAALICE" },
    { action: "sts:TagGetWebIdentityToken", decision: "allowed" },
  ]);
  expect(JSON.stringify(recorded)).not.toContain(token);
});
