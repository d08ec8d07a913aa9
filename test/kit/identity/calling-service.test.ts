import { generateKeyPairSync } from "node:crypto";

import type { DescMethod } from "@bufbuild/protobuf";
import { SignJWT } from "jose";
import { describe, expect, test } from "vitest";

import { requesterOf } from "../../../services/kit/access/identity.ts";
import { principalCondition } from "../../../services/kit/accounts/principal-conditions.ts";
import { bearerAuthenticate } from "../../../services/kit/identity/authenticate.ts";
import type { Caller } from "../../../services/kit/identity/caller.ts";
import { roleCaller, rootCaller, serviceCaller, userCaller } from "../../../services/kit/identity/caller.ts";
import { keyId } from "../../../services/kit/identity/key-files.ts";
import { createMinter, createVerifier } from "../../../services/kit/identity/tokens.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const clock = new FakeClock();
const issuers = ["gateway", "customer-profile", "event-bus"].map((name) => ({
  name,
  ...generateKeyPairSync("ed25519"),
}));
const [gateway, profiles, bus] = issuers as [
  (typeof issuers)[number],
  (typeof issuers)[number],
  (typeof issuers)[number],
];
const verifier = createVerifier({
  publicKeys: new Map(issuers.map(({ name, publicKey }) => [name, publicKey])),
  clock,
  audience: "object-storage",
});
const service = {
  name: "flows.example.com",
  sourceAccount: "000000000000",
  sourceArn: "arn:aws:profile:us-east-1:000000000000:domains/shop/integrations/inbox",
};
const flows = serviceCaller(service);

describe("a service in its own name", () => {
  test("is the same after the call", async () => {
    const token = await createMinter({ keyPair: profiles, clock }).mint(flows, "object-storage");
    expect(await verifier.verify(token)).toEqual({ ...flows, issuer: "customer-profile" });
  });

  test("needs another token for another source", async () => {
    const minter = createMinter({ keyPair: profiles, clock });
    const other = serviceCaller({ ...service, sourceArn: "arn:aws:profile:us-east-1:000000000000:domains/x" });
    expect(await minter.mint(other, "object-storage")).not.toBe(await minter.mint(flows, "object-storage"));
  });

  test("is named in policies by its name only", () => {
    expect(requesterOf(flows)).toEqual({
      accountId: "",
      principalArn: "",
      isRoot: false,
      isAnonymous: false,
      serviceName: "flows.example.com",
    });
  });

  test.for([
    ["aws:sourceaccount", "000000000000"],
    ["aws:sourcearn", service.sourceArn],
    ["aws:principalservicename", "flows.example.com"],
    ["aws:principalisawsservice", "true"],
    ["aws:principaltype", "Service"],
    ["aws:principalarn", undefined],
    ["aws:principalaccount", undefined],
    ["aws:username", undefined],
  ] as const)("has for %s the value %s", ([key, value]) => {
    expect(principalCondition({ findOrganizationId: () => undefined }, flows, key)).toBe(value);
  });

  // what is wrong with the claims
  test.for<[string, object]>([
    ["an account", { account: "000000000000" }],
    ["a root", { root: true }],
    ["nobody", { anonymous: true, sub: "" }],
    ["another subject", { sub: "arn:aws:iam::000000000000:root" }],
    ["policies", { policies: ["{}"] }],
    ["no name", { service: { ...service, name: "" } }],
    ["no source", { service: { name: service.name } }],
    ["a text for a service", { service: service.name }],
  ])("is refused with %s", async ([, changes]) => {
    const claims = { sub: service.name, account: "", root: false, anonymous: false, policies: [], service };
    const token = await new SignJWT({ ...claims, ...changes })
      .setProtectedHeader({ alg: "EdDSA", kid: keyId(profiles.publicKey) })
      .setIssuer("customer-profile")
      .setAudience("object-storage")
      .setIssuedAt(Math.floor(clock.now() / 1000))
      .setExpirationTime(Math.floor(clock.now() / 1000) + 60)
      .sign(profiles.privateKey);
    await expect(verifier.verify(token)).rejects.toMatchObject({ reason: "malformed" });
  });
});

describe("an issuer with the right to name sessions and services", () => {
  const authenticate = bearerAuthenticate(verifier, {
    gateway: { anyCaller: true },
    "customer-profile": { sessionsFor: ["GetObject"], services: ["flows.example.com"] },
  });
  const role = roleCaller("000000000000", "reader", "flow", []);

  // issuer | caller | method | accepted
  test.for<[(typeof issuers)[number], Caller, string, boolean]>([
    [profiles, flows, "GetObject", true],
    [profiles, flows, "PutObject", false],
    [profiles, serviceCaller({ ...service, name: "logs.example.com" }), "GetObject", false],
    [profiles, role, "GetObject", true],
    [profiles, role, "DeleteObject", false],
    [profiles, rootCaller("000000000000"), "GetObject", false],
    [profiles, { ...role, isRoot: true }, "GetObject", false],
    [profiles, { ...role, isPreauthorized: true }, "GetObject", false],
    [profiles, { ...flows, isPreauthorized: true }, "GetObject", false],
    [profiles, { ...flows, isPreauthorized: true }, "PutObject", false],
    [profiles, userCaller("000000000000", "alice", []), "GetObject", false],
    [gateway, flows, "GetObject", false],
    [gateway, role, "GetObject", true],
    [bus, flows, "GetObject", false],
    [bus, role, "GetObject", false],
  ])("names no others, row %#", async ([issuer, caller, name, accepted]) => {
    const token = await createMinter({ keyPair: issuer, clock }).mint(caller, "object-storage");
    const outcome = await authenticate(`Bearer ${token}`, { name } as DescMethod).then(
      () => "accepted",
      (error: { reason: string }) => error.reason,
    );
    expect(outcome).toBe(accepted ? "accepted" : "untrusted");
  });
});
