/** Tokens that programs show: signed with a key of another kind than the processes', and told apart from theirs. */
import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";

import type { DescMethod } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { bearerAuthenticate } from "../../../services/kit/identity/authenticate.ts";
import type { Caller } from "../../../services/kit/identity/caller.ts";
import { userCaller } from "../../../services/kit/identity/caller.ts";
import { clientTokenRights } from "../../../services/kit/identity/client-tokens.ts";
import { keyId } from "../../../services/kit/identity/key-files.ts";
import type { TokenKeyPair } from "../../../services/kit/identity/tokens.ts";
import { createVerifier, signToken } from "../../../services/kit/identity/tokens.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const nowSeconds = 1_767_323_045;
const clock = new FakeClock();
const p384 = (): { privateKey: KeyObject; publicKey: KeyObject } => generateKeyPairSync("ec", { namedCurve: "P-384" });
const clients: TokenKeyPair = { name: "client-tokens", ...p384() };
const gateway: TokenKeyPair = { name: "gateway", ...generateKeyPairSync("ed25519") };
const storage: TokenKeyPair = { name: "object-storage", ...p384() };
const publicKeys = new Map([clients, gateway, storage].map(({ name, publicKey }) => [name, publicKey]));
const authenticate = bearerAuthenticate(createVerifier({ publicKeys, clock, audience: "event-bus" }), {
  gateway: { anyCaller: true },
  ...clientTokenRights,
});
const method = { name: "PutEvents" } as DescMethod;
const alice: Caller = { ...userCaller("111122223333", "alice", []), accessKeyId: "AKIAALICE" };

const terms = { audience: "event-bus", issuedSeconds: nowSeconds, lifetimeSeconds: 300 };
const tokenOf = (caller: Caller = alice, changed: Partial<typeof terms> = {}, pair = clients): Promise<string> =>
  signToken(pair, caller, { ...terms, ...changed });
const outcome = (token: string): Promise<string> =>
  authenticate(`Bearer ${token}`, method).then(
    ({ issuer, principalArn }) => `${issuer} ${principalArn}`,
    (error: { reason: string }) => error.reason,
  );

const segment = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const claims = { sub: alice.principalArn, account: "111122223333", root: false, anonymous: false, policies: [] };
const times = { aud: "event-bus", iat: nowSeconds, exp: nowSeconds + 300 };
/** The text of a token with a signature of one's own. */
const forged = (header: object, payload: object, signature: (text: string) => Buffer): string => {
  const text = `${segment(header)}.${segment({ ...claims, ...times, ...payload })}`;
  return `${text}.${signature(text).toString("base64url")}`;
};
const es384 = (pair: TokenKeyPair) => (text: string) =>
  sign("sha384", Buffer.from(text), { key: pair.privateKey, dsaEncoding: "ieee-p1363" });
const pem = clients.publicKey.export({ type: "spki", format: "pem" });
const kid = keyId(clients.publicKey);
const nothing = () => Buffer.alloc(0);

describe("a token that a program shows", () => {
  test("is its caller's", async () => {
    expect(await outcome(await tokenOf())).toBe("client-tokens arn:aws:iam::111122223333:user/alice");
    expect(await outcome(forged({ alg: "ES384", kid }, { iss: "client-tokens" }, es384(clients)))).toContain("alice");
  });

  // what is wrong, the token, the reason
  test.for<[string, () => Promise<string> | string, string]>([
    ["an expired one", () => tokenOf(alice, { issuedSeconds: nowSeconds - 300 }), "expired"],
    ["one of the future", () => tokenOf(alice, { issuedSeconds: nowSeconds + 6 }), "untrusted"],
    ["one for another service", () => tokenOf(alice, { audience: "object-storage" }), "audience"],
    ["one for the gateway, at a service", () => tokenOf(alice, { audience: "gateway" }), "audience"],
    [
      "one that lasts longer",
      () => forged({ alg: "ES384", kid }, { iss: "client-tokens", exp: nowSeconds + 901 }, es384(clients)),
      "untrusted",
    ],
    ["one that was decided on", () => tokenOf({ ...alice, isPreauthorized: true }), "untrusted"],
    [
      "changed claims",
      async () => (await tokenOf()).replace(/\.[^.]+\./, `.${segment({ ...claims, ...times, root: true })}.`),
      "untrusted",
    ],
    ["no algorithm", () => forged({ alg: "none", kid }, { iss: "client-tokens" }, nothing), "malformed"],
    [
      "the public key as a secret",
      () =>
        forged({ alg: "HS256", kid }, { iss: "client-tokens" }, (text) =>
          createHmac("sha256", pem).update(text).digest(),
        ),
      "malformed",
    ],
    [
      "the key of another issuer",
      () => forged({ alg: "ES384", kid: keyId(storage.publicKey) }, { iss: "client-tokens" }, es384(storage)),
      "untrusted",
    ],
    [
      "the key id of another issuer",
      () => forged({ alg: "ES384", kid }, { iss: "client-tokens" }, es384(storage)),
      "untrusted",
    ],
    ["an issuer without a right", () => tokenOf(alice, {}, storage), "untrusted"],
    [
      "its algorithm with a key of the other kind",
      () => forged({ alg: "ES384", kid: keyId(gateway.publicKey) }, { iss: "gateway" }, es384(clients)),
      "untrusted",
    ],
    [
      "the other algorithm with its key",
      () =>
        forged({ alg: "EdDSA", kid }, { iss: "client-tokens" }, (text) =>
          sign(null, Buffer.from(text), gateway.privateKey),
        ),
      "untrusted",
    ],
    [
      "a signature in the other form",
      () =>
        forged({ alg: "ES384", kid }, { iss: "client-tokens" }, (text) =>
          sign("sha384", Buffer.from(text), clients.privateKey),
        ),
      "untrusted",
    ],
    ["a signature of nothing", () => forged({ alg: "ES384", kid }, { iss: "client-tokens" }, nothing), "untrusted"],
    [
      "a signature of zeros",
      () => forged({ alg: "ES384", kid }, { iss: "client-tokens" }, () => Buffer.alloc(96)),
      "untrusted",
    ],
  ])("is refused: %s", async ([, token, reason]) => {
    expect(await outcome(await token())).toBe(reason);
  });

  test("cannot be made to last longer than verifiers accept, or be signed with a key of another kind", async () => {
    await expect(tokenOf(alice, { lifetimeSeconds: 901 })).rejects.toThrow("a token lasts at most 900000 ms");
    const pair = { name: "client-tokens", ...generateKeyPairSync("ec", { namedCurve: "P-256" }) };
    await expect(tokenOf(alice, {}, pair)).rejects.toThrow("client-tokens has a key with which no token is signed");
  });
});

describe("where a call comes from", () => {
  const connection = { remoteAddress: "192.0.2.7", encrypted: true } as unknown as Parameters<typeof authenticate>[2];

  test("is the connection of a program that shows its token", async () => {
    expect(await authenticate(`Bearer ${await tokenOf()}`, method, connection)).toMatchObject({
      sourceIp: "192.0.2.7",
      isSecureTransport: true,
      isTokenBorne: true,
    });
    const unknown = await authenticate(`Bearer ${await tokenOf()}`, method);
    expect(unknown).toMatchObject({ isSecureTransport: false });
    expect(unknown).not.toHaveProperty("sourceIp");
  });

  test("is what a process says that calls for somebody", async () => {
    const caller = { ...alice, sourceIp: "198.51.100.1", isTokenBorne: true };
    expect(await authenticate(`Bearer ${await tokenOf(caller, {}, gateway)}`, method, connection)).toEqual({
      ...caller,
      issuer: "gateway",
    });
  });
});
