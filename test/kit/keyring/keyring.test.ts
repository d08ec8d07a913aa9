import { describe, expect, test } from "vitest";

import type { NamedKey } from "../../../services/kit/keyring/key-names.ts";
import { anyKeyNames, declaredKeyNames } from "../../../services/kit/keyring/key-names.ts";
import { createKeyring } from "../../../services/kit/keyring/keyring.ts";
import { fixedMasterKeys } from "../../../services/kit/keyring/master-keys.ts";

const first = Buffer.alloc(32, 1);
const second = Buffer.alloc(32, 2);
const before = () => createKeyring(fixedMasterKeys([first]), anyKeyNames);
const after = () => createKeyring(fixedMasterKeys([first, second]), anyKeyNames);
const onlySecond = () => createKeyring(fixedMasterKeys([second]), anyKeyNames);
const declaring = (...keys: NamedKey[]) => createKeyring(fixedMasterKeys([first]), declaredKeyNames(keys));
const context = ["domain", "shop"];
const firstIsMissing = "Master key 24d076ef41648f3a, which wraps this data, is not in the file of master keys.";
const broken = expect.objectContaining({ name: "SealBrokenError" });

describe("a data key", () => {
  test("opens again in its context, without its name", () => {
    const { key, wrapped } = before().createDataKey("alias/shop", context);
    expect(before().openDataKey(context, wrapped).export()).toEqual(key.export());
  });

  test("is 32 bytes, and when wrapped 71 more than the id of the named key", () => {
    const { key, wrapped } = before().createDataKey("crm", []);
    expect([key.symmetricKeySize, wrapped.length]).toEqual([32, 74]);
  });

  test("differs each time and is not part of its wrapped form", () => {
    const keyring = before();
    const [one, other] = [keyring.createDataKey("k", context), keyring.createDataKey("k", context)];
    expect(one.key.equals(other.key)).toBe(false);
    expect(one.wrapped.includes(one.key.export())).toBe(false);
  });

  // what is wrong, context
  test.for<[string, readonly string[]]>([
    ["another context", ["domain", "other"]],
    ["parts cut elsewhere", ["domainshop"]],
    ["no context", []],
  ])("does not open with %s", ([, given]) => {
    const { wrapped } = before().createDataKey("alias/shop", context);
    expect(() => before().openDataKey(given, wrapped)).toThrow(broken);
  });

  test("does not open under another installation's master key, which differs from damage", () => {
    const { wrapped } = before().createDataKey("k", context);
    expect(() => onlySecond().openDataKey(context, wrapped)).toThrow(firstIsMissing);
  });

  test("does not open when any byte of its wrapped form is changed, or when that is cut", () => {
    const { wrapped } = before().createDataKey("k", context);
    const opened: number[] = [];
    for (let at = 0; at < wrapped.length; at += 1) {
      const changed = Buffer.from(wrapped);
      changed[at] = (changed[at] ?? 0) ^ 0x80;
      for (const bytes of [changed, wrapped.subarray(0, at)])
        try {
          before().openDataKey(context, bytes);
          opened.push(at);
        } catch {
          continue;
        }
    }
    expect(opened).toEqual([]);
  });
});

test("the header of a wrapped key suffices to know that its master key is an older one", () => {
  const header = Buffer.from("0100000000000000000000", "hex");
  expect(before().isStale(header)).toBe(true);
  expect(() => before().isStale(header.subarray(1))).toThrow(broken);
  expect(() => before().isStale(header.subarray(0, -1))).toThrow(broken);
});

describe("a rotated master key", () => {
  test("leaves older data keys readable and distinguishes them", () => {
    const { key, wrapped } = before().createDataKey("k", context);
    expect(after().openDataKey(context, wrapped).export()).toEqual(key.export());
    expect([
      before().isStale(wrapped),
      after().isStale(wrapped),
      after().isStale(after().createDataKey("k", context).wrapped),
    ]).toEqual([false, true, false]);
  });

  test("suffices when a data key was wrapped again", () => {
    const { key, wrapped } = before().createDataKey("k", context);
    const rewrapped = after().rewrap(context, wrapped);
    expect(onlySecond().openDataKey(context, rewrapped).export()).toEqual(key.export());
    expect(() => onlySecond().openDataKey(context, wrapped)).toThrow(firstIsMissing);
  });

  test("also wraps keys again that may not be opened now", () => {
    const { key, wrapped } = before().createDataKey("crm", context);
    const disabled = createKeyring(
      fixedMasterKeys([first, second]),
      declaredKeyNames([{ id: "crm", aliases: [], state: "DISABLED" }]),
    );
    expect(onlySecond().openDataKey(context, disabled.rewrap(context, wrapped)).export()).toEqual(key.export());
  });
});

describe("a named key", () => {
  test("can be exchanged for another, and the data key stays", () => {
    const keyring = before();
    const { key, wrapped } = keyring.createDataKey("old", context);
    const moved = keyring.moveDataKey(context, wrapped, "new");
    expect([keyring.isWrappedUnder(wrapped, "new"), keyring.isWrappedUnder(moved, "new")]).toEqual([false, true]);
    expect(keyring.openDataKey(context, moved).export()).toEqual(key.export());
  });

  test("still opens its data keys when its alias means another key", () => {
    const one: NamedKey = { id: "one", aliases: ["alias/crm"], state: "ENABLED" };
    const { key, wrapped } = declaring(one).createDataKey("alias/crm", context);
    const later = declaring({ ...one, aliases: [] }, { id: "two", aliases: ["alias/crm"], state: "ENABLED" });
    expect(later.openDataKey(context, wrapped).export()).toEqual(key.export());
    expect(later.isWrappedUnder(wrapped, "alias/crm")).toBe(false);
  });

  test("that was used before any was declared opens its data keys as what it means now", () => {
    const { key, wrapped } = before().createDataKey("alias/crm", context);
    expect(
      declaring({ id: "one", aliases: ["alias/crm"], state: "ENABLED" })
        .openDataKey(context, wrapped)
        .export(),
    ).toEqual(key.export());
    expect(() => declaring().openDataKey(context, wrapped)).toThrow("Key alias/crm does not exist.");
  });

  // state, message
  test.for([
    ["DISABLED", "Key crm is disabled."],
    ["PENDING_DELETION", "Key crm is pending deletion."],
  ] as const)("that is %s wraps, opens and moves nothing", ([state, message]) => {
    const { wrapped } = before().createDataKey("crm", context);
    const keyring = declaring({ id: "crm", aliases: [], state }, { id: "other", aliases: [], state: "ENABLED" });
    const other = keyring.createDataKey("other", context).wrapped;
    expect(() => keyring.createDataKey("crm", context)).toThrow(message);
    expect(() => keyring.openDataKey(context, wrapped)).toThrow(message);
    expect(() => keyring.assertUsable(wrapped)).toThrow(message);
    expect(() => keyring.moveDataKey(context, wrapped, "other")).toThrow(message);
    expect(() => keyring.moveDataKey(context, other, "crm")).toThrow(message);
  });
});
