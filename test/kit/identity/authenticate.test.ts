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
  createVerifier({ publicKeys: new Map([["gateway", gateway.publicKey]]), clock }),
);
const token = await createMinter({ keyPair: gateway, clock }).mint(rootCaller("000000000000"));
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
