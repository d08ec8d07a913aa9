import { describe, expect, test } from "vitest";

import { createKeyring } from "../../../services/customer-profile/encryption/keyring.ts";

const masterKey = new Uint8Array(32).fill(7);
const shop = new Uint8Array([1]);
const ann = new Uint8Array([2]);

describe("a domain's keys", () => {
  test("open what they wrapped, after a restart too", () => {
    const wrapped = { wrappingKey: "", key: createKeyring(masterKey).wrapNewDomainKey(shop, "") };
    const profile = createKeyring(masterKey).openDomain(shop, wrapped).wrapNewProfileKey(ann);
    expect(createKeyring(masterKey).openDomain(shop, wrapped).openProfileKey(ann, profile.wrapped)).toEqual(
      profile.key,
    );
  });

  test("are the same under another wrapping key", () => {
    const keyring = createKeyring(masterKey);
    const first = { wrappingKey: "", key: keyring.wrapNewDomainKey(shop, "") };
    const second = { wrappingKey: "alias/crm", key: keyring.rewrapDomainKey(shop, first, "alias/crm") };
    expect(keyring.openDomain(shop, second).digest(["a"])).toEqual(keyring.openDomain(shop, first).digest(["a"]));
  });

  test("give the same text another digest in another domain", () => {
    const keyring = createKeyring(masterKey);
    const digestIn = (id: Uint8Array) =>
      keyring.openDomain(id, { wrappingKey: "", key: keyring.wrapNewDomainKey(id, "") }).digest(["_phone", "112"]);
    expect(digestIn(shop)).toHaveLength(32);
    expect(digestIn(shop)).not.toEqual(digestIn(new Uint8Array([3])));
  });

  const wrapped = createKeyring(masterKey).wrapNewDomainKey(shop, "a");
  test.each([
    ["under another master key", createKeyring(new Uint8Array(32)), shop, "a"],
    ["under another wrapping key", createKeyring(masterKey), shop, "b"],
    ["for another domain", createKeyring(masterKey), ann, "a"],
  ])("do not open %s", (_what, keyring, domainId, wrappingKey) => {
    expect(() => keyring.openDomain(domainId, { wrappingKey, key: wrapped })).toThrow("Stored data cannot be read");
  });

  test("do not open one profile's key as another's", () => {
    const keyring = createKeyring(masterKey);
    const keys = keyring.openDomain(shop, { wrappingKey: "a", key: wrapped });
    const profile = keys.wrapNewProfileKey(ann);
    expect(() => keys.openProfileKey(shop, profile.wrapped)).toThrow("Stored data cannot be read");
  });
});
