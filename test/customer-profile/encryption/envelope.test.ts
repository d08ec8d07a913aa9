import { describe, expect, test } from "vitest";

import { newKey, open, seal } from "../../../services/customer-profile/encryption/envelope.ts";

const turned = (bytes: Uint8Array, index: number) => bytes.map((byte, at) => (at === index ? byte ^ 1 : byte));
const plain = Buffer.from("Ann Lee");

describe("sealed bytes", () => {
  test("open with the same key in the same place", () => {
    const key = newKey();
    expect(Buffer.from(open(key, ["a", "b"], seal(key, ["a", "b"], plain))).toString()).toBe("Ann Lee");
  });

  test("show nothing of what was sealed, and never twice the same", () => {
    const key = newKey();
    const first = seal(key, ["a"], plain);
    const second = seal(key, ["a"], plain);
    expect(first.nonce).toHaveLength(12);
    expect(first.ciphertext).toHaveLength(7 + 16);
    expect(Buffer.from(first.ciphertext).includes(plain)).toBe(false);
    expect(first.nonce).not.toEqual(second.nonce);
    expect(first.ciphertext).not.toEqual(second.ciphertext);
  });

  const key = newKey();
  const sealed = seal(key, ["a", "b"], plain);
  test.each([
    // what differs, key, place, sealed
    ["another key", newKey(), ["a", "b"], sealed],
    ["another place", key, ["a", "c"], sealed],
    ["the same letters in other parts", key, ["ab"], sealed],
    ["a turned bit", key, ["a", "b"], { ...sealed, ciphertext: turned(sealed.ciphertext, 0) }],
    ["a turned bit in the tag", key, ["a", "b"], { ...sealed, ciphertext: turned(sealed.ciphertext, 22) }],
    ["a cut end", key, ["a", "b"], { ...sealed, ciphertext: sealed.ciphertext.subarray(0, 20) }],
    ["too few bytes for a tag", key, ["a", "b"], { ...sealed, ciphertext: new Uint8Array(3) }],
    ["nothing", key, ["a", "b"], undefined],
  ] as const)("are refused as damaged with %s", (_what, otherKey, place, other) => {
    expect(() => open(otherKey, place, other)).toThrow("Stored data cannot be read");
  });
});
