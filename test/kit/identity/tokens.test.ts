import { generateKeyPairSync, randomBytes } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { deflateRawSync } from "node:zlib";

import { decodeJwt, SignJWT } from "jose";
import { describe, expect, onTestFinished, test, vi } from "vitest";

import type { Caller } from "../../../services/kit/identity/caller.ts";
import { anonymousCaller, rootCaller, userCaller } from "../../../services/kit/identity/caller.ts";
import { ensureKeyPair, keyId } from "../../../services/kit/identity/key-files.ts";
import { createMinter, createVerifier } from "../../../services/kit/identity/tokens.ts";
import { ForgedTokenError } from "../../../services/kit/identity/unauthenticated-error.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const pair = (name: string) => ({ name, ...generateKeyPairSync("ed25519") });
const gateway = pair("gateway");
const alice: Caller = {
  ...userCaller("111122223333", "alice", ['{"Statement":[]}']),
  accessKeyId: "QKIAALICE",
  sourceIp: "127.0.0.1",
};

const party = (clock = new FakeClock()) => ({
  clock,
  minter: createMinter({ keyPair: gateway, clock }),
  verifier: createVerifier({ publicKeys: new Map([["gateway", gateway.publicKey]]), clock, audience: "storage" }),
});

const claims = {
  sub: "arn:aws:iam::111122223333:root",
  account: "111122223333",
  root: true,
  anonymous: false,
  policies: [],
};
const signed = (
  payload: Record<string, unknown>,
  change: { issuer?: string; audience?: string | string[]; kid?: string; issued?: number; expires?: number } = {},
) =>
  new SignJWT(payload)
    .setProtectedHeader({ alg: "EdDSA", kid: change.kid ?? keyId(gateway.publicKey) })
    .setIssuer(change.issuer ?? "gateway")
    .setAudience(change.audience ?? "storage")
    .setIssuedAt(change.issued ?? 1_767_323_045)
    .setExpirationTime(change.expires ?? 1_767_323_345)
    .sign(gateway.privateKey);
const segment = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
const tampered = (token: string) => {
  const [head = "", body = "", signature = ""] = token.split(".");
  const changed = { ...JSON.parse(Buffer.from(body, "base64url").toString()), account: "000000000000" };
  return `${head}.${segment(changed)}.${signature}`;
};

const inDirectory = async () => {
  const directory = await temporaryDirectory();
  const clock = new FakeClock();
  const verifier = createVerifier({ publicKeys: directory, clock, audience: "storage" });
  const minterOf = async (name: string) => createMinter({ keyPair: await ensureKeyPair(directory, name), clock });
  return { directory, clock, verifier, minterOf };
};

describe("a minted token", () => {
  test("names its caller and its issuer", async () => {
    const { minter, verifier } = party();
    expect(await verifier.verify(await minter.mint(alice, "storage"))).toEqual({
      accountId: "111122223333",
      principalArn: "arn:aws:iam::111122223333:user/alice",
      isRoot: false,
      isAnonymous: false,
      policies: ['{"Statement":[]}'],
      issuer: "gateway",
      accessKeyId: "QKIAALICE",
      sourceIp: "127.0.0.1",
    });
  });

  test("is accepted with up to 24 KiB", async () => {
    const { verifier } = party();
    const token = await signed({ ...claims, filling: "x".repeat(17 * 1024) });
    expect(token.length).toBeGreaterThan(22 * 1024);
    expect(await verifier.verify(token)).toMatchObject({ accountId: "111122223333" });
  });

  test("keeps the original principal when a service passes it on", async () => {
    const { clock, verifier, minter } = party();
    const bus = pair("event-bus");
    const received = await verifier.verify(await minter.mint(alice, "storage"));
    const onward = await createMinter({ keyPair: bus, clock }).mint(received, "storage");
    const seen = await createVerifier({
      publicKeys: new Map([["event-bus", bus.publicKey]]),
      clock,
      audience: "storage",
    }).verify(onward);
    expect(seen).toEqual({ ...alice, issuer: "event-bus" });
  });

  test("may name nobody", async () => {
    const { minter, verifier } = party();
    expect(await verifier.verify(await minter.mint(anonymousCaller, "storage"))).toEqual({
      ...anonymousCaller,
      issuer: "gateway",
    });
  });

  test("lasts five minutes", async () => {
    const { minter } = party();
    const { iat, exp } = decodeJwt(await minter.mint(alice, "storage"));
    expect((exp ?? 0) - (iat ?? 0)).toBe(300);
  });

  test("is the same for the same caller until a fifth of its life is left", async () => {
    const { clock, minter } = party();
    const first = await minter.mint(alice, "storage");
    clock.advance(239_000);
    const second = await minter.mint(structuredClone(alice), "storage");
    clock.advance(1_000);
    const third = await minter.mint(alice, "storage");
    expect([second === first, third === first]).toEqual([true, false]);
  });

  test("is for its audience only, one process or several", async () => {
    const { minter, verifier } = party();
    await expect(verifier.verify(await minter.mint(alice, "event-bus"))).rejects.toMatchObject({ reason: "audience" });
    const several = await minter.mint(alice, ["event-bus", "storage"]);
    expect((await verifier.verify(several)).principalArn).toBe(alice.principalArn);
  });

  test("cannot be made to last longer than verifiers accept", () => {
    const options = { keyPair: gateway, clock: new FakeClock() };
    expect(() => createMinter({ ...options, lifetimeMs: 900_001 })).toThrow("a token lasts at most 900000 ms");
    expect(() => createMinter({ ...options, lifetimeMs: 900_000 })).not.toThrow();
  });

  test("is accepted from a machine whose clock is 5 seconds ahead", async () => {
    const { verifier } = party();
    const ahead = { issued: 1_767_323_045 + 5, expires: 1_767_323_045 + 905 };
    expect((await verifier.verify(await signed(claims, ahead))).accountId).toBe("111122223333");
  });

  test("differs for another caller", async () => {
    const { minter } = party();
    expect(await minter.mint(rootCaller("111122223333"), "storage")).not.toBe(await minter.mint(alice, "storage"));
  });

  test.each<Partial<Caller>>([
    { accountId: "444455556666" },
    { principalArn: "arn:aws:iam::111122223333:user/bob" },
    { isRoot: true },
    { isAnonymous: true },
    { policies: ["{}"] },
    { permissionsBoundary: "{}" },
    { canonicalUserId: "c" },
    { isPreauthorized: true },
    { accessKeyId: "AKIA" },
    { isTokenBorne: true },
    { sourceIp: "127.0.0.2" },
    { isSecureTransport: true },
    { tlsVersion: "1.3" },
    { signatureVersion: "AWS4-HMAC-SHA256" },
    { authType: "REST-HEADER" },
    { principalTags: { team: "red" } },
    { sessionPolicies: [] },
    { tokenIssueTimeMs: 1_000 },
    { sessionEndMs: 2_000 },
    { sourceIdentity: "alice" },
    { transitiveTagKeys: ["team"] },
  ])("differs right after that of a caller without %j, who then gets the former one again", async (difference) => {
    const { minter } = party();
    const first = await minter.mint(alice, "storage");
    const other = await minter.mint({ ...alice, ...difference }, "storage");
    expect([other === first, (await minter.mint(alice, "storage")) === first]).toEqual([false, true]);
    expect(await minter.mint({ ...alice, ...difference }, "storage")).toBe(other);
  });

  test("that could not be signed is tried again", async () => {
    const { privateKey } = gateway;
    let isBroken = true;
    const keyPair = {
      ...gateway,
      get privateKey() {
        return isBroken ? gateway.publicKey : privateKey;
      },
    };
    const minter = createMinter({ keyPair, clock: new FakeClock() });
    await expect(minter.mint(alice, "storage")).rejects.toBeInstanceOf(TypeError);
    isBroken = false;
    expect(await minter.mint(alice, "storage")).toEqual(expect.any(String));
  });

  test("carries up to 8 KiB of policies and names more by their digest", async () => {
    const { minter, verifier } = party();
    const tokenWith = (bytes: number) => minter.mint({ ...alice, policies: ["x".repeat(bytes - 2), "é"] }, "storage");
    const carried = await tokenWith(8192);
    expect(decodeJwt(carried)).not.toHaveProperty("policies_digest");
    expect((await verifier.verify(carried)).policies).toEqual(["x".repeat(8190), "é"]);
    const named = decodeJwt(await tokenWith(8193));
    expect(named).toHaveProperty("policies_digest", "bZGXCmKEdVYGWqrgRfDnBkePpzXWjL6xQ17BKbIc0Ns");
    expect(named).not.toHaveProperty("policies");
    expect(named).not.toHaveProperty("policies_packed");
  });

  test("stays below the verifier's limit whatever the policies are made of", async () => {
    const { minter, verifier } = party();
    const caller = { ...alice, policies: ['"'.repeat(5_000)] };
    expect((await verifier.verify(await minter.mint(caller, "storage"))).policies).toEqual(caller.policies);
    const named = await minter.mint({ ...alice, policies: ['"'.repeat(8_000)] }, "storage");
    expect(decodeJwt(named)).toHaveProperty("policies_digest");
    const random = () => randomBytes(4_000).toString("base64url");
    const incompressible = { ...alice, policies: [random()], sessionPolicies: [random()] };
    expect(await verifier.verify(await minter.mint(incompressible, "storage"))).toMatchObject({
      ...incompressible,
      issuer: "gateway",
    });
  });

  test("carries a permissions boundary before the policies, where nobody who knows of none reads them", async () => {
    const { minter, verifier } = party();
    const small: Caller = { ...alice, policies: ["{}"], permissionsBoundary: '{"a":1}' };
    const token = await minter.mint(small, "storage");
    expect(decodeJwt(token)).toMatchObject({ bounded_policies: ['{"a":1}', "{}"] });
    expect(decodeJwt(token)).not.toHaveProperty("policies");
    expect(await verifier.verify(token)).toEqual({ ...small, issuer: "gateway" });
    const large: Caller = { ...small, permissionsBoundary: JSON.stringify(Array.from({ length: 200 }, () => "s3:*")) };
    const packed = await minter.mint(large, "storage");
    expect(Object.keys(decodeJwt(packed)).filter((name) => name.includes("policies"))).toEqual([
      "bounded_policies_packed",
    ]);
    expect(await verifier.verify(packed)).toEqual({ ...large, issuer: "gateway" });
  });

  test("names policies with their boundary by one digest, from 8 KiB on together", async () => {
    const caller: Caller = { ...alice, policies: ["x".repeat(6_000)], permissionsBoundary: "y".repeat(6_000) };
    const all = ["y".repeat(6_000), "x".repeat(6_000)];
    const digest = "iyYAgkRW1h86_YfAqkCoUlRJ_LCUb7LYXgswESgqgHM";
    const { clock, minter, verifier } = party();
    const token = await minter.mint(caller, "storage");
    expect(decodeJwt(token)).toMatchObject({ bounded_policies_digest: digest });
    const publicKeys = new Map([["gateway", gateway.publicKey]]);
    const findPolicies = (asked: string) => (asked === digest ? all : undefined);
    const resolving = createVerifier({ publicKeys, clock, audience: "storage", findPolicies });
    expect(await resolving.verify(token)).toEqual({ ...caller, issuer: "gateway" });
    await expect(verifier.verify(token)).rejects.toMatchObject({ reason: "unresolved" });
  });

  test("says the canonical id, and that the call was decided on, where the caller does", async () => {
    const { minter, verifier } = party();
    const caller: Caller = { ...alice, canonicalUserId: "c0ffee", isPreauthorized: true };
    expect(await verifier.verify(await minter.mint(caller, "storage"))).toEqual({ ...caller, issuer: "gateway" });
  });
});

describe("what policies ask for of a caller", () => {
  const session: Caller = {
    ...alice,
    rolePath: "/team/",
    federatedBy: "arn:aws:iam::111122223333:user/alice",
    isSecureTransport: true,
    tlsVersion: "1.3",
    signatureVersion: "AWS4-HMAC-SHA256",
    authType: "REST-QUERY-STRING",
    principalTags: { team: "sea" },
    sessionPolicies: ['{"Statement":[]}'],
    tokenIssueTimeMs: 1_767_323_045_000,
    sessionEndMs: 1_767_326_645_000,
    isTokenBorne: true,
    sourceIdentity: "alice@example.com",
  };

  test("is in the token", async () => {
    const { minter, verifier } = party();
    expect(await verifier.verify(await minter.mint(session, "storage"))).toEqual({ ...session, issuer: "gateway" });
  });

  // the member with another value
  test.for<Partial<Caller>>([
    { rolePath: "/other/" },
    { federatedBy: "arn:aws:iam::111122223333:user/bob" },
    { isSecureTransport: false },
    { tlsVersion: "1.2" },
    { signatureVersion: "AWS" },
    { authType: "POST" },
    { principalTags: { team: "air" } },
    { sessionPolicies: [] },
    { tokenIssueTimeMs: 1_767_323_046_000 },
    { sessionEndMs: 1_767_326_646_000 },
    { isTokenBorne: false },
    { sourceIdentity: "bob@example.com" },
    { policies: [] },
  ])("needs a token of its own: %j", async (change) => {
    const { minter } = party();
    const token = await minter.mint(session, "storage");
    expect(await minter.mint({ ...session, ...change }, "storage")).not.toBe(token);
  });

  test("needs none for what differs from request to request", async () => {
    const { minter } = party();
    const token = await minter.mint(session, "storage");
    const facts = { userAgent: "curl/8", referer: "https://example.com/", signatureAgeMs: 12 };
    expect(await minter.mint({ ...session, ...facts }, "storage")).toBe(token);
    expect(JSON.stringify(decodeJwt(token))).not.toContain("curl");
  });
});

describe("policies that a token carries", () => {
  const policyOf = (statements: number) =>
    JSON.stringify({
      Version: "2012-10-17",
      Statement: Array.from({ length: statements }, (_none, index) => ({
        Effect: "Allow",
        Action: "s3:GetObject",
        Resource: `arn:aws:s3:::photos/album-${index}/*`,
      })),
    });

  test("are packed from 512 characters on, so that each call sends few bytes", async () => {
    const { minter, verifier } = party();
    const [small, twenty] = [policyOf(3), policyOf(20)];
    const few = await minter.mint({ ...alice, policies: [small], sessionPolicies: [small] }, "storage");
    const many = await minter.mint({ ...alice, policies: [twenty], sessionPolicies: [twenty] }, "storage");
    expect([small.length, twenty.length]).toEqual([296, 1768]);
    expect(decodeJwt(few)["policies"]).toEqual([small]);
    expect(many.length).toBeLessThan(1_300);
    expect(await verifier.verify(few)).toMatchObject({ policies: [small], sessionPolicies: [small] });
    expect(await verifier.verify(many)).toMatchObject({ policies: [twenty], sessionPolicies: [twenty] });
  });

  test("unpack to at most 64 KiB", async () => {
    const { verifier } = party();
    const packed = (length: number) => deflateRawSync(JSON.stringify(["x".repeat(length)])).toString("base64url");
    const token = (length: number) => signed({ ...claims, policies: undefined, policies_packed: packed(length) });
    expect((await verifier.verify(await token(65_532))).policies[0]).toHaveLength(65_532);
    await expect(verifier.verify(await token(65_533))).rejects.toMatchObject({ reason: "malformed" });
  });
});

describe("policies that a token names", () => {
  const large = ["x".repeat(9_000)];
  const digest = "mWkJc6cNw-_VrrKfs5NNvU2S2D7_c4qRRqt3iQ7HV_M";
  const token = () => party().minter.mint({ ...alice, policies: large }, "storage");
  const verifierWith = (findPolicies?: (digest: string) => readonly string[] | undefined) =>
    createVerifier({
      publicKeys: new Map([["gateway", gateway.publicKey]]),
      clock: new FakeClock(),
      audience: "storage",
      ...(findPolicies === undefined ? {} : { findPolicies }),
    });

  test("are found by their digest", async () => {
    const asked: string[] = [];
    const verifier = verifierWith((wanted) => {
      asked.push(wanted);
      return large;
    });
    expect((await verifier.verify(await token())).policies).toBe(large);
    expect(asked).toEqual([digest]);
  });

  test("that are not found are a refusal, never fewer policies", async () => {
    const refusal = { name: "UnauthenticatedError", reason: "unresolved" };
    await expect(verifierWith(() => undefined).verify(await token())).rejects.toMatchObject(refusal);
    await expect(verifierWith().verify(await token())).rejects.toMatchObject(refusal);
  });

  test("are found again when they are declared later", async () => {
    let declared: readonly string[] | undefined;
    const verifier = verifierWith(() => declared);
    const refused = await token();
    await expect(verifier.verify(refused)).rejects.toMatchObject({ reason: "unresolved" });
    declared = large;
    expect((await verifier.verify(refused)).policies).toBe(large);
  });
});

describe("a verifier refuses", () => {
  // what is wrong, the token, the reason
  test.for<[string, () => Promise<string> | string, string]>([
    ["an empty token", () => "", "malformed"],
    ["a token over 24 KiB", () => signed({ ...claims, filling: "x".repeat(18 * 1024) }), "malformed"],
    ["text that is no token", () => "one.two.three", "malformed"],
    [
      "algorithm none",
      () => `${segment({ alg: "none", kid: keyId(gateway.publicKey) })}.${segment(claims)}.`,
      "malformed",
    ],
    [
      "a symmetric algorithm",
      () => `${segment({ alg: "HS256", kid: keyId(gateway.publicKey) })}.${segment(claims)}.AAAA`,
      "malformed",
    ],
    ["a token without a key id", () => `${segment({ alg: "EdDSA" })}.${segment(claims)}.AAAA`, "malformed"],
    ["an unknown key", () => signed(claims, { kid: "unknown" }), "untrusted"],
    ["changed claims", async () => tampered(await signed(claims)), "untrusted"],
    ["another issuer than the key's", () => signed(claims, { issuer: "event-bus" }), "untrusted"],
    ["another audience", () => signed(claims, { audience: "elsewhere" }), "audience"],
    ["a token for several others", () => signed(claims, { audience: ["gateway", "event-bus"] }), "audience"],
    ["a life of more than 15 minutes", () => signed(claims, { expires: 1_767_323_045 + 901 }), "untrusted"],
    ["a life without an end", () => signed(claims, { expires: 253_402_300_799 }), "untrusted"],
    ["a token of the future", () => signed(claims, { issued: 1_767_323_045 + 6 }), "untrusted"],
    ["a token whose time has passed", () => signed(claims, { expires: 1_767_323_045 }), "expired"],
    [
      "changed claims whose time has passed, before the signature is verified",
      async () => tampered(await signed(claims, { expires: 1_767_323_045 })),
      "expired",
    ],
    [
      "changed claims for another audience, before the signature is verified",
      async () => tampered(await signed(claims, { audience: "elsewhere" })),
      "audience",
    ],
    ["an account that is not 12 digits", () => signed({ ...claims, account: "1" }), "malformed"],
    ["policies that are not texts", () => signed({ ...claims, policies: [1] }), "malformed"],
    ["policies both carried and named", () => signed({ ...claims, policies_digest: "d" }), "malformed"],
    ["policies both as they are and packed", () => signed({ ...claims, policies_packed: "i44FAA" }), "malformed"],
    [
      "policies both packed and named",
      () => signed({ ...claims, policies: undefined, policies_packed: "i44FAA", policies_digest: "d" }),
      "malformed",
    ],
    [
      "policies that do not unpack",
      () => signed({ ...claims, policies: undefined, policies_packed: "x" }),
      "malformed",
    ],
    [
      "packed policies that are no text",
      () => signed({ ...claims, policies: undefined, policies_packed: 1 }),
      "malformed",
    ],
    [
      "session policies both as they are and packed",
      () => signed({ ...claims, session_policies: [], session_policies_packed: "i44FAA" }),
      "malformed",
    ],
    [
      "policies both with and without a boundary",
      () => signed({ ...claims, bounded_policies: ["{}", "{}"] }),
      "malformed",
    ],
    ["a boundary that is missing", () => signed({ ...claims, policies: undefined, bounded_policies: [] }), "malformed"],
    [
      "a root with a boundary",
      () => signed({ ...claims, root: true, policies: undefined, bounded_policies: ["{}"] }),
      "malformed",
    ],
    ["session policies that do not unpack", () => signed({ ...claims, session_policies_packed: "x" }), "malformed"],
    ["a digest that is no text", () => signed({ ...claims, policies: undefined, policies_digest: 1 }), "malformed"],
    ["a canonical id that is no text", () => signed({ ...claims, canonical_user_id: 1 }), "malformed"],
    ["a decision that is not true", () => signed({ ...claims, preauthorized: "yes" }), "malformed"],
    ["a transport that is not true or false", () => signed({ ...claims, secure_transport: "yes" }), "malformed"],
    ["an unknown version of signatures", () => signed({ ...claims, signature_version: "AWS9" }), "malformed"],
    ["an unknown place of signatures", () => signed({ ...claims, auth_type: "COOKIE" }), "malformed"],
    ["tags that are not texts", () => signed({ ...claims, principal_tags: { team: 1 } }), "malformed"],
    ["tags that are a list", () => signed({ ...claims, principal_tags: ["team"] }), "malformed"],
    ["session policies that are not texts", () => signed({ ...claims, session_policies: [1] }), "malformed"],
    ["an issue time that is no number", () => signed({ ...claims, token_issue_time: "now" }), "malformed"],
    ["a session's end that is no number", () => signed({ ...claims, session_end: "now" }), "malformed"],
    ["a bearer of a token who is none", () => signed({ ...claims, token_borne: false }), "malformed"],
    ["a source identity that is no text", () => signed({ ...claims, source_identity: 1 }), "malformed"],
    ["an anonymous root", () => signed({ ...claims, anonymous: true }), "malformed"],
    ["claims that are missing", () => signed({}), "malformed"],
  ])("%s", async ([, token, reason]) => {
    const { verifier } = party();
    await expect(verifier.verify(await token())).rejects.toMatchObject({ name: "UnauthenticatedError", reason });
  });

  test("a forgery as such, and nothing that a caller may send by mistake", async () => {
    const { verifier } = party();
    const refusal = async (token: string): Promise<unknown> => verifier.verify(token).catch((error: unknown) => error);
    expect(await refusal(tampered(await signed(claims)))).toBeInstanceOf(ForgedTokenError);
    for (const mistaken of ["one.two.three", await signed(claims, { kid: "unknown" }), await signed({})])
      expect(await refusal(mistaken)).not.toBeInstanceOf(ForgedTokenError);
  });

  test("a wrong signature that it has seen before without verifying it again", async () => {
    const { verifier, minter } = party();
    const verify = vi.spyOn(crypto.subtle, "verify");
    onTestFinished(() => verify.mockRestore());
    const forged = tampered(await minter.mint(alice, "storage"));
    for (let count = 0; count < 3; count += 1)
      await expect(verifier.verify(forged)).rejects.toMatchObject({ reason: "untrusted" });
    expect(verify).toHaveBeenCalledTimes(1);
  });

  test("a token that it has accepted before, from the moment of its expiry", async () => {
    const { clock, minter, verifier } = party();
    const token = await minter.mint(alice, "storage");
    clock.advance(299_999);
    await expect(verifier.verify(token)).resolves.toMatchObject({ accountId: "111122223333" });
    clock.advance(1);
    await expect(verifier.verify(token)).rejects.toMatchObject({ reason: "expired" });
    await expect(verifier.verify(token)).rejects.toMatchObject({ reason: "expired" });
  });

  test("without quoting the token", async () => {
    const { verifier } = party();
    const token = tampered(await signed(claims));
    const error: Error = await verifier.verify(token).then(
      () => new Error("accepted"),
      (refusal: Error) => refusal,
    );
    expect(error.message).toBe("The bearer token was not issued by a trusted process.");
    expect(error.cause).toBeUndefined();
  });
});

describe("a clock that is set", () => {
  const dayMs = 86_400_000;

  test.each([
    ["a day back", -dayMs],
    ["ten years back", -3_652 * dayMs],
    ["a day forward", dayMs],
    ["ten years forward", 3_652 * dayMs],
  ])("%s makes new tokens, and the former ones worthless", async (_which, ms) => {
    const { clock, minter, verifier } = party();
    const former = await minter.mint(alice, "storage");
    await verifier.verify(former);
    clock.set(clock.now() + ms);
    expect((await verifier.verify(await minter.mint(alice, "storage"))).accountId).toBe("111122223333");
    await expect(verifier.verify(former)).rejects.toMatchObject({ name: "UnauthenticatedError" });
  });
});

describe("a verifier with a directory", () => {
  test("trusts every process whose public key is there", async () => {
    const { verifier, minterOf } = await inDirectory();
    const [bus, storage] = [await minterOf("event-bus"), await minterOf("object-storage")];
    expect((await verifier.verify(await bus.mint(alice, "storage"))).issuer).toBe("event-bus");
    expect((await verifier.verify(await storage.mint(alice, "storage"))).issuer).toBe("object-storage");
  });

  test("reads it again for an unknown key, at most once a second", async () => {
    const { clock, verifier, minterOf } = await inDirectory();
    await verifier.verify(await (await minterOf("gateway")).mint(alice, "storage"));
    const newcomer = await (await minterOf("event-bus")).mint(alice, "storage");
    await expect(verifier.verify(newcomer)).rejects.toMatchObject({ reason: "untrusted" });
    clock.advance(1_000);
    expect((await verifier.verify(newcomer)).issuer).toBe("event-bus");
  });

  test("forgets what it accepted from a key that is gone", async () => {
    const { clock, directory, verifier, minterOf } = await inDirectory();
    const token = await (await minterOf("gateway")).mint(alice, "storage");
    await verifier.verify(token);
    await rm(join(directory, "gateway.private.pem"));
    const successor = await minterOf("gateway");
    clock.advance(1_000);
    await verifier.verify(await successor.mint(alice, "storage"));
    await expect(verifier.verify(token)).rejects.toMatchObject({ reason: "untrusted" });
  });

  test("reads a directory that it cannot read once a second, too, whatever the keys of tokens", async () => {
    const { clock, directory, verifier, minterOf } = await inDirectory();
    const first = await (await minterOf("gateway")).mint(alice, "storage");
    const second = await (await minterOf("event-bus")).mint(alice, "storage");
    const broken = join(directory, "broken.public.pem");
    await writeFile(broken, "-----BEGIN SECRET-----");
    await expect(verifier.verify(first)).rejects.toThrow("broken.public.pem is not an Ed25519 key");
    // It would succeed now.
    await rm(broken);
    await expect(verifier.verify(second)).rejects.toThrow("broken.public.pem is not an Ed25519 key");
    clock.advance(1_000);
    expect((await verifier.verify(second)).issuer).toBe("event-bus");
  });

  test("names the file that is no key", async () => {
    const { directory, verifier, minterOf } = await inDirectory();
    const token = await (await minterOf("gateway")).mint(alice, "storage");
    await writeFile(join(directory, "broken.public.pem"), "-----BEGIN SECRET-----");
    await expect(verifier.verify(token)).rejects.toThrow("broken.public.pem is not an Ed25519 key");
  });
});
