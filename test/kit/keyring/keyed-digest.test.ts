import { createHmac, createSecretKey, randomBytes } from "node:crypto";

import { expect, test } from "vitest";

import { createKeyedDigest } from "../../../services/kit/keyring/keyed-digest.ts";

/** Test case 2 of RFC 4231. */
test("a digest is that of the RFC's example", () => {
  const digest = createKeyedDigest(createSecretKey(Buffer.from("Jefe")));
  expect(digest("what do ya want for nothing?").toString("hex")).toBe(
    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
  );
});

test.each([
  ["nothing", ""],
  ["a text", '["_email","EMAIL_ADDRESS","ann@example.com"]'],
  ["a text beyond ASCII", "Zoë Ærø 😀 \u0000"],
  ["bytes", randomBytes(80)],
  ["the longest that is digested in place", "é".repeat(682)],
  ["more than that", "é".repeat(683)],
  ["a long text", "x".repeat(100_000)],
])("a digest of %s is that of the platform", (_what, content) => {
  for (const keyBytes of [1, 32, 64]) {
    const key = createSecretKey(randomBytes(keyBytes));
    expect(createKeyedDigest(key)(content)).toEqual(createHmac("sha256", key).update(content).digest());
  }
});

test("a digest does not depend on the one before, and keeps its bytes after the next", () => {
  const key = createSecretKey(randomBytes(32));
  const digest = createKeyedDigest(key);
  const long = digest("a long text before a short one");
  expect(digest("a").toString("hex")).toBe(createHmac("sha256", key).update("a").digest("hex"));
  expect(long.toString("hex")).toBe(createHmac("sha256", key).update("a long text before a short one").digest("hex"));
});

test("a key longer than a block is refused", () => {
  expect(() => createKeyedDigest(createSecretKey(randomBytes(65)))).toThrow("a key of a digest has at most 64 bytes");
});
