import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { describe, expect, onTestFinished, test } from "vitest";

import { createProviderKeys } from "../../../gateway/sts/provider-keys.ts";
import { anonymousCaller } from "../../../services/kit/identity/caller.ts";
import { createAddressGuard } from "../../../services/kit/network/address-guard.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { bank, issuer, openSts, providerKey, role, shop, trusting, webToken } from "./sts.ts";

const providerArn = `arn:aws:iam::${shop}:oidc-provider/login.example.com/shop`;
const provider = { accountId: shop, arn: providerArn, issuer, audiences: ["quartet"], keys: { keys: [providerKey] } };
const action = "sts:AssumeRoleWithWebIdentity";
const deployer = role(
  "deployer",
  trusting({ Federated: providerArn }, action, { StringLike: { "login.example.com/shop:sub": "repo:shop/*" } }),
);
const open = () => openSts({ roles: [deployer], identityProviders: [provider] });
const request = { roleArn: deployer.arn, roleSessionName: "deploy" };
const assume = async (token: string, more: object = {}, sts = open()) =>
  sts.call("assumeRoleWithWebIdentity", anonymousCaller, { ...request, webIdentityToken: token, ...more });

describe("AssumeRoleWithWebIdentity", () => {
  test("issues credentials to whoever shows a token of the provider", async () => {
    expect(await assume(await webToken())).toMatchObject({
      credentials: { accessKeyId: expect.stringMatching(/^ASIA/) },
      assumedRoleUser: { arn: `arn:aws:sts::${shop}:assumed-role/deployer/deploy` },
      subjectFromWebIdentityToken: "repo:shop/web",
      provider: issuer,
      audience: "quartet",
    });
  });

  const stranger = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  // what is wrong, the token, further members, the reason, what is compared of its metadata; in the order of the checks
  test.for<[string, () => Promise<string> | string, object, string, object?]>([
    ["a text that is no token", () => "abcd", {}, "INVALID_IDENTITY_TOKEN", { problem: "It is not a JSON Web Token." }],
    ["no issuer", () => webToken({ iss: undefined }), {}, "INVALID_IDENTITY_TOKEN", { problem: "It names no issuer." }],
    ["an issuer that is no text", () => webToken({ iss: 7 }), {}, "INVALID_IDENTITY_TOKEN"],
    [
      "a long issuer, of which 1 KiB is shown",
      () => webToken({ iss: `https://${"i".repeat(15_000)}` }),
      {},
      "INVALID_IDENTITY_TOKEN",
      { problem: `No OpenID Connect provider found in your account for https://${"i".repeat(1_016)}…` },
    ],
    ["an unknown issuer", () => webToken({ iss: "https://evil.example.com" }), {}, "INVALID_IDENTITY_TOKEN"],
    [
      "an issuer of another account",
      () => webToken(),
      { roleArn: `arn:aws:iam::${bank}:role/deployer` },
      "INVALID_IDENTITY_TOKEN",
    ],
    ["another key", () => webToken({}, stranger), {}, "INVALID_IDENTITY_TOKEN"],
    ["no end", () => webToken({ exp: undefined }), {}, "INVALID_IDENTITY_TOKEN"],
    ["a beginning in the future", () => webToken({ nbf: 1_767_323_600 }), {}, "INVALID_IDENTITY_TOKEN"],
    ["an end in the past", () => webToken({ exp: 1_767_323_044 }), {}, "EXPIRED_IDENTITY_TOKEN"],
    ["another audience", () => webToken({ aud: "elsewhere" }), {}, "REJECTED_IDENTITY"],
    ["no subject", () => webToken({ sub: undefined }), {}, "REJECTED_IDENTITY"],
    ["a policy that is none", () => webToken(), { policy: "{}" }, "MALFORMED_POLICY"],
    ["an unknown role", () => webToken(), { roleArn: `arn:aws:iam::${shop}:role/nobody` }, "ACCESS_DENIED"],
    ["a subject that the role does not trust", () => webToken({ sub: "repo:evil/web" }), {}, "ACCESS_DENIED"],
    ["more than the role allows", () => webToken(), { durationSeconds: 3_601 }, "SESSION_DURATION"],
  ])("refuses %s", async ([, token, more, reason, metadata = {}]) => {
    await expect(assume(await token(), more)).rejects.toMatchObject({ facts: { reason }, metadata });
  });

  /** A provider that is found by discovery; it answers 500 for the paths in `broken`. */
  const startProvider = async () => {
    const asked: string[] = [];
    const broken = new Set<string>();
    const server = createServer((incoming, response) => {
      const path = incoming.url ?? "";
      asked.push(path);
      if (broken.has(path)) response.statusCode = 500;
      const isKeys = path === "/keys";
      response.end(JSON.stringify(isKeys ? { keys: [providerKey] } : { issuer: at, jwks_uri: `${at}/keys` }));
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const arn = `arn:aws:iam::${shop}:oidc-provider/${at.slice("http://".length)}`;
    const declared = {
      roles: [role("deployer", trusting({ Federated: arn }, action))],
      identityProviders: [{ accountId: shop, arn, issuer: at, audiences: ["quartet"] }],
    };
    const clock = new FakeClock();
    const keys = createProviderKeys(createAddressGuard(true), clock);
    onTestFinished(() => keys.close());
    return { asked, broken, at, arn, declared, clock, keys, sts: openSts(declared, keys) };
  };

  test("finds the provider's keys by discovery, and keeps them", async () => {
    const { asked, at, arn, declared, clock, keys, sts } = await startProvider();
    const token = await webToken({ iss: at });
    expect(await assume(token, {}, sts)).toMatchObject({ provider: at });
    expect(await assume(token, {}, sts)).toMatchObject({ provider: at });
    expect(asked).toEqual(["/.well-known/openid-configuration", "/keys"]);
    // What was found is of another time when the clock was set back.
    clock.setBack(86_400_000);
    await keys({ accountId: shop, arn, issuer: at, audiences: ["quartet"] });
    expect(asked).toEqual(["/.well-known/openid-configuration", "/keys", "/.well-known/openid-configuration"]);

    const careful = createProviderKeys(createAddressGuard(false), new FakeClock());
    onTestFinished(() => careful.close());
    await expect(assume(token, {}, openSts(declared, careful))).rejects.toMatchObject({
      facts: { reason: "PROVIDER_UNREACHABLE" },
    });
    expect(asked).toHaveLength(3);
  });

  test.each(["/.well-known/openid-configuration", "/keys"])(
    "does not ask a provider that fails at %s again for five seconds, whoever shows tokens",
    async (path) => {
      const { asked, broken, at, clock, sts } = await startProvider();
      const questions = (): number => asked.filter((each) => each === path).length;
      broken.add(path);
      const token = await webToken({ iss: at });
      const refused = { facts: { reason: "PROVIDER_UNREACHABLE" } };
      for (let shown = 0; shown < 3; shown += 1) await expect(assume(token, {}, sts)).rejects.toMatchObject(refused);
      expect(questions()).toBe(1);
      clock.advance(4_999);
      await expect(assume(token, {}, sts)).rejects.toMatchObject(refused);
      expect(questions()).toBe(1);
      clock.advance(1);
      await expect(assume(token, {}, sts)).rejects.toMatchObject(refused);
      expect(questions()).toBe(2);
      broken.clear();
      // The rest is over, as far as a clock tells that was set back.
      clock.setBack(86_400_000);
      expect(await assume(await webToken({ iss: at }), {}, sts)).toMatchObject({ provider: at });
      expect(questions()).toBe(3);
    },
  );
});
