import { describe, expect, test } from "vitest";

import { createKeyring } from "../../../services/kit/keyring/keyring.ts";
import { fixedMasterKeys } from "../../../services/kit/keyring/master-keys.ts";
import { seal, unseal } from "../../../services/kit/keyring/sealed.ts";

const first = Buffer.alloc(32, 1);
const second = Buffer.alloc(32, 2);
const before = () => createKeyring(fixedMasterKeys(new Map([[1, first]])));
const after = () =>
  createKeyring(
    fixedMasterKeys(
      new Map([
        [1, first],
        [2, second],
      ]),
    ),
  );
const context = ["domain", "shop"];

describe("a data key", () => {
  test("opens again with its key id and context", () => {
    const { key, wrapped } = before().createDataKey("alias/shop", context);
    expect(before().openDataKey("alias/shop", context, wrapped)).toEqual(key);
  });

  test("is 32 bytes, and 65 when wrapped", () => {
    const { key, wrapped } = before().createDataKey("", []);
    expect([key.length, wrapped.length]).toEqual([32, 65]);
  });

  test("differs each time and does not stand in its wrapped form", () => {
    const keyring = before();
    const [one, other] = [keyring.createDataKey("k", context), keyring.createDataKey("k", context)];
    expect(one.key.equals(other.key)).toBe(false);
    expect(one.wrapped.includes(one.key)).toBe(false);
  });

  // what is wrong, key id, context
  test.for<[string, string, readonly string[]]>([
    ["another key id", "alias/other", context],
    ["another context", "alias/shop", ["domain", "other"]],
    ["parts cut elsewhere", "alias/shop", ["domainshop"]],
    ["no context", "alias/shop", []],
  ])("does not open with %s", ([, keyId, given]) => {
    const { wrapped } = before().createDataKey("alias/shop", context);
    expect(() => before().openDataKey(keyId, given, wrapped)).toThrow(
      expect.objectContaining({ name: "SealBrokenError" }),
    );
  });

  test("does not open under another installation's master key", () => {
    const { wrapped } = before().createDataKey("k", context);
    const stranger = createKeyring(fixedMasterKeys(new Map([[1, second]])));
    expect(() => stranger.openDataKey("k", context, wrapped)).toThrow(
      expect.objectContaining({ name: "SealBrokenError" }),
    );
  });

  test("does not open when any byte of its wrapped form is changed, or when that is cut", () => {
    const { wrapped } = before().createDataKey("k", context);
    const opened: number[] = [];
    for (let at = 0; at < wrapped.length; at += 1) {
      const changed = Buffer.from(wrapped);
      changed[at] = (changed[at] ?? 0) ^ 0x80;
      for (const bytes of [changed, wrapped.subarray(0, at)])
        try {
          before().openDataKey("k", context, bytes);
          opened.push(at);
        } catch {
          continue;
        }
    }
    expect(opened).toEqual([]);
  });
});

describe("rotation", () => {
  test("leaves older data keys readable and tells them apart", () => {
    const { key, wrapped } = before().createDataKey("k", context);
    expect(after().openDataKey("k", context, wrapped)).toEqual(key);
    expect([
      before().isStale(wrapped),
      after().isStale(wrapped),
      after().isStale(after().createDataKey("k", context).wrapped),
    ]).toEqual([false, true, false]);
  });

  test("moves a data key under the latest master key, which then suffices", () => {
    const { key, wrapped } = before().createDataKey("k", context);
    const moved = after().rewrap("k", context, wrapped);
    const onlySecond = createKeyring(fixedMasterKeys(new Map([[2, second]])));
    expect(onlySecond.openDataKey("k", context, moved)).toEqual(key);
    expect(() => onlySecond.openDataKey("k", context, wrapped)).toThrow(
      "Master key 1, which wraps this data, is not in the file of master keys.",
    );
  });

  test("moves a data key to another key id", () => {
    const keyring = before();
    const { key, wrapped } = keyring.createDataKey("old", context);
    const moved = keyring.rewrap("old", context, wrapped, "new");
    expect(keyring.openDataKey("new", context, moved)).toEqual(key);
    expect(() => keyring.openDataKey("old", context, moved)).toThrow(
      expect.objectContaining({ name: "SealBrokenError" }),
    );
  });
});

describe("sealed content", () => {
  test("opens with its key and context", () => {
    expect(unseal(first, context, seal(first, context, Buffer.from("Zoë"))).toString()).toBe("Zoë");
  });

  test("may be empty and is 28 bytes longer", () => {
    expect(seal(first, context, Buffer.alloc(0))).toHaveLength(28);
    expect(unseal(first, context, seal(first, context, Buffer.alloc(0)))).toHaveLength(0);
  });

  test("does not say why it does not open", () => {
    expect(() => unseal(second, context, seal(first, context, Buffer.from("x")))).toThrow(
      "The sealed bytes cannot be opened with this key in this context.",
    );
  });
});
