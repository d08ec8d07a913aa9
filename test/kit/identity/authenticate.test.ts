import { generateKeyPairSync } from "node:crypto";

import type { DescMethod } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { bearerAuthenticate } from "../../../services/kit/identity/authenticate.ts";
import { rootCaller } from "../../../services/kit/identity/caller.ts";
import { createMinter, createVerifier } from "../../../services/kit/identity/tokens.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const clock = new FakeClock();
const gateway = { name: "gateway", ...generateKeyPairSync("ed25519") };
const authenticate = bearerAuthenticate(
  createVerifier({ publicKeys: new Map([["gateway", gateway.publicKey]]), clock, audience: "storage" }),
  { gateway: { anyCaller: true } },
);
const token = await createMinter({ keyPair: gateway, clock }).mint(rootCaller("000000000000"), "storage");
const method = { name: "GetObject" } as DescMethod;

describe("a call", () => {
  test.for([`Bearer ${token}`, `bearer ${token}`, `BEARER  ${token}`])(
    "with %.10s… is the caller's",
    async (authorization) => {
      expect((await authenticate(authorization, method)).principalArn).toBe("arn:aws:iam::000000000000:root");
    },
  );

  // authorization, reason
  test.for([
    [undefined, "missing"],
    ["", "missing"],
    [token, "malformed"],
    ["Bearer", "malformed"],
    ["Bearer ", "malformed"],
    ["Basic YWxpY2U6c2VjcmV0", "malformed"],
    ["Bearer nonsense", "malformed"],
  ] as const)("with %.20s is refused as %s", async ([authorization, reason]) => {
    await expect(authenticate(authorization, method)).rejects.toMatchObject({ name: "UnauthenticatedError", reason });
  });
});

describe("an issuer", () => {
  const storage = { name: "object-storage", ...generateKeyPairSync("ed25519") };
  const stranger = { name: "event-bus", ...generateKeyPairSync("ed25519") };
  const publicKeys = new Map([gateway, storage, stranger].map(({ name, publicKey }) => [name, publicKey]));
  const authenticateAll = bearerAuthenticate(createVerifier({ publicKeys, clock, audience: "event-bus" }), {
    gateway: { anyCaller: true, preauthorizedFor: ["DescribeRule"] },
    "object-storage": { preauthorizedFor: ["PutEvents"] },
  });
  const root = rootCaller("999999999999");
  const decided = { ...root, isPreauthorized: true };

  // issuer | caller | method | accepted
  test.for([
    [gateway, root, "PutEvents", true],
    [gateway, decided, "PutEvents", false],
    [gateway, decided, "DescribeRule", true],
    [storage, decided, "PutEvents", true],
    [storage, decided, "PutRule", false],
    [storage, root, "PutEvents", false],
    [stranger, root, "PutEvents", false],
    [stranger, decided, "PutEvents", false],
  ] as const)("names only callers whom it has the right to name, row %#", async ([issuer, caller, name, accepted]) => {
    const signed = await createMinter({ keyPair: issuer, clock }).mint(caller, "event-bus");
    const outcome = await authenticateAll(`Bearer ${signed}`, { name } as DescMethod).then(
      ({ accountId }) => accountId,
      (error: { reason: string }) => error.reason,
    );
    expect(outcome).toBe(accepted ? "999999999999" : "untrusted");
  });
});
