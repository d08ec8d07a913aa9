/** Goal: whoever makes large tokens by the thousand, one for each session, takes a bounded part of the memory. */
import { generateKeyPairSync, randomBytes } from "node:crypto";

import { expect, test } from "vitest";

import type { Caller } from "../../../services/kit/identity/caller.ts";
import { userCaller } from "../../../services/kit/identity/caller.ts";
import { policiesDigest } from "../../../services/kit/identity/identity-policies.ts";
import { createMinter, createVerifier } from "../../../services/kit/identity/tokens.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const allowing = (resource: string): string =>
  JSON.stringify({ Statement: [{ Effect: "Allow", Action: "s3:GetObject", Resource: resource }] });

test("tokens of 32 Mi characters are cached, the latest ones, and tokens of as much verified", async () => {
  const keys = generateKeyPairSync("ed25519");
  const clock = new FakeClock();
  const minter = createMinter({ keyPair: { name: "gateway", ...keys }, clock });
  const asked: string[] = [];
  const large = Array.from({ length: 9 }, (_none, index) => allowing(`arn:aws:s3:::${index}${"b".repeat(1_000)}`));
  const verifier = createVerifier({
    publicKeys: new Map([["gateway", keys.publicKey]]),
    clock,
    audience: "storage",
    findPolicies: (digest) => {
      asked.push(digest);
      return large;
    },
  });
  const named = userCaller("111122223333", "alice", large);
  const first = minter.mint(named, "storage");
  await verifier.verify(await first);
  await verifier.verify(await first);
  expect(asked).toEqual([policiesDigest(large)]);
  expect(minter.mint(named, "storage")).toBe(first);

  const principalTags = Object.fromEntries(
    Array.from({ length: 40 }, (_none, index) => [`tag-${index}`, "v".repeat(250)]),
  );
  const session = (): Caller => {
    const own = allowing(`arn:aws:s3:::${randomBytes(3_900).toString("hex")}`);
    return { ...userCaller("111122223333", "alice", [own]), principalTags };
  };
  for (let count = 0; count < 2_000; count += 1) await verifier.verify(await minter.mint(session(), "storage"));
  await verifier.verify(await first);
  expect(asked).toHaveLength(2);
  expect(minter.mint(named, "storage")).not.toBe(first);
});
