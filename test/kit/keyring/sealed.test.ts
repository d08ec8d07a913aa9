import { createSecretKey } from "node:crypto";

import { describe, expect, test } from "vitest";

import { seal, sealKey, secretKey, unseal, unsealKey } from "../../../services/kit/keyring/sealed.ts";

const key = createSecretKey(Buffer.alloc(32, 1));
const content = Buffer.from("Zoë");
const context = ["a", Buffer.of(0, 1), "b"];
const turned = (bytes: Buffer, at: number) => {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
};

describe("sealed content", () => {
  test("opens with its key and context", () => {
    expect(unseal(key, context, seal(key, context, content)).toString()).toBe("Zoë");
  });

  test("may be empty and is 28 bytes longer", () => {
    const sealed = seal(key, context, Buffer.alloc(0));
    expect([sealed.length, unseal(key, context, sealed).length]).toEqual([28, 0]);
  });

  test("shows nothing of what was sealed, and never twice the same", () => {
    const [one, other] = [seal(key, context, content), seal(key, context, content)];
    expect(one.includes(content)).toBe(false);
    expect(one.equals(other)).toBe(false);
  });

  const sealed = seal(key, context, content);
  // what differs, key, context, sealed
  test.for([
    ["another key", createSecretKey(Buffer.alloc(32, 2)), context, sealed],
    ["another context", key, ["a", Buffer.of(0, 2), "b"], sealed],
    ["the same bytes cut elsewhere", key, ["a", Buffer.of(0), Buffer.of(1), "b"], sealed],
    ["no context", key, [], sealed],
    ["a turned bit in the nonce", key, context, turned(sealed, 0)],
    ["a turned bit", key, context, turned(sealed, 13)],
    ["a turned bit in the tag", key, context, turned(sealed, sealed.length - 1)],
    ["a cut end", key, context, sealed.subarray(0, -1)],
    ["too few bytes for a tag", key, context, Buffer.alloc(3)],
  ] as const)("does not open with %s, and does not say why", ([, otherKey, otherContext, bytes]) => {
    expect(() => unseal(otherKey, otherContext, bytes)).toThrow(
      "The sealed bytes cannot be opened with this key in this context.",
    );
  });
});

describe("a key", () => {
  test("is sealed and opened like other content", () => {
    const opened = unsealKey(key, context, sealKey(key, context, createSecretKey(Buffer.alloc(32, 3))));
    expect(opened.export()).toEqual(Buffer.alloc(32, 3));
  });

  test("overwrites the bytes from which it is made", () => {
    const bytes = Buffer.alloc(32, 3);
    expect(secretKey(bytes).export()).toEqual(Buffer.alloc(32, 3));
    expect(bytes).toEqual(Buffer.alloc(32));
  });
});
