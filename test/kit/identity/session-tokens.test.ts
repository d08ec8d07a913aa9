import { createSecretKey } from "node:crypto";

import { describe, expect, test } from "vitest";

import type { Session } from "../../../services/kit/identity/session-tokens.ts";
import { createSessionTokens, packedBytes } from "../../../services/kit/identity/session-tokens.ts";

const keyOf = (byte: number) => createSecretKey(Buffer.alloc(32, byte));
const session: Session = {
  accessKeyId: "ASIATESTTESTTEST",
  secretAccessKey: "a secret of a session",
  accountId: "111122223333",
  issuedMs: 1_767_323_045_000,
  expiresMs: 1_767_326_645_000,
  principal: { kind: "role", name: "reader", id: "AROAREADER", sessionName: "nightly" },
  policies: ['{"Statement":[]}'],
  tags: { team: "sea" },
};

describe("a session token", () => {
  test("holds the session, and shows nothing of it", () => {
    const tokens = createSessionTokens(() => [keyOf(1)]);
    const token = tokens.write(session);
    expect(createSessionTokens(() => [keyOf(1)]).read(token)).toEqual(session);
    expect(tokens.read(token)).toEqual(session);
    const bytes = Buffer.from(token, "base64url").toString("latin1");
    expect(["ASIATEST", "secret", "reader", "111122223333"].filter((text) => bytes.includes(text))).toEqual([]);
  });

  test("is read with a former key, and written with the first one", () => {
    const old = createSessionTokens(() => [keyOf(1)]).write(session);
    const tokens = createSessionTokens(() => [keyOf(2), keyOf(1)]);
    expect(tokens.read(old)).toEqual(session);
    expect(createSessionTokens(() => [keyOf(2)]).read(tokens.write(session))).toEqual(session);
  });

  const token = createSessionTokens(() => [keyOf(1)]).write(session);
  const changed = (at: number) => {
    const bytes = Buffer.from(token, "base64url");
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    return bytes.toString("base64url");
  };
  // what is wrong, the token
  test.for<[string, string]>([
    ["nothing", ""],
    ["another version", changed(0)],
    ["a changed nonce", changed(1)],
    ["a changed content", changed(40)],
    ["a changed tag", changed(Buffer.from(token, "base64url").length - 1)],
    ["a part of it", token.slice(0, 40)],
    ["another alphabet", `${token}==`],
    ["more than 16 KiB", "A".repeat(16 * 1024 + 1)],
    ["another installation's", createSessionTokens(() => [keyOf(9)]).write(session)],
  ])("is not read with %s", ([, given]) => {
    expect(createSessionTokens(() => [keyOf(1)]).read(given)).toBeUndefined();
  });

  test("counts the bytes that policies and tags take up", () => {
    expect([packedBytes({}), packedBytes({ policies: ["{}"] }), packedBytes({ tags: { a: "b" } })]).toEqual([0, 4, 7]);
  });
});
