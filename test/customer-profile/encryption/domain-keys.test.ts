import type { KeyObject } from "node:crypto";
import { createSecretKey } from "node:crypto";

import { describe, expect, test } from "vitest";

import { createDomainKeyring, jointKey } from "../../../services/customer-profile/encryption/domain-keys.ts";
import type { KeyNames } from "../../../services/kit/keyring/key-names.ts";
import { anyKeyNames, declaredKeyNames } from "../../../services/kit/keyring/key-names.ts";
import { createKeyring } from "../../../services/kit/keyring/keyring.ts";
import { seal, unseal } from "../../../services/kit/keyring/sealed.ts";
import { fixedMasterKeys } from "../../../services/kit/keyring/master-keys.ts";

const keyringOf = (names: KeyNames = anyKeyNames, masters = [new Uint8Array(32).fill(7)]) =>
  createDomainKeyring(createKeyring(fixedMasterKeys(masters), names));
const shop = new Uint8Array([1]);
const ann = new Uint8Array([2]);

describe("a domain's keys", () => {
  test("derive the same keys of profiles from their seeds, after a restart too", () => {
    const wrapped = keyringOf().wrapNewDomainKey(shop, "");
    const profile = keyringOf().openDomain(shop, wrapped).createProfileKey(ann);
    expect(keyringOf().openDomain(shop, wrapped).openProfileKey(ann, profile.seed).export()).toEqual(
      profile.key.export(),
    );
  });

  test("are the same under another named key and with another master key", () => {
    const masters = [new Uint8Array(32).fill(7), new Uint8Array(32).fill(8)];
    const wrapped = keyringOf().wrapNewDomainKey(shop, "");
    const keyring = keyringOf(anyKeyNames, masters);
    const moved = keyring.moveDomainKey(shop, wrapped, "alias/crm");
    const rewrapped = keyring.rewrapDomainKey(shop, wrapped);
    expect([wrapped, moved, rewrapped].map((each) => keyring.isStale(each))).toEqual([true, false, false]);
    const digests = [wrapped, moved, rewrapped].map((each) => keyring.openDomain(shop, each).digest(["a"]));
    expect([digests[1], digests[2]]).toEqual([digests[0], digests[0]]);
  });

  test("stay as they are under the named key that they have", () => {
    const wrapped = keyringOf().wrapNewDomainKey(shop, "alias/crm");
    expect(keyringOf().moveDomainKey(shop, wrapped, "arn:svc:kms:us-east-1:000000000000:alias/crm")).toBe(wrapped);
  });

  test("give the same text another digest in another domain", () => {
    const keyring = keyringOf();
    const digestIn = (id: Uint8Array) =>
      keyring.openDomain(id, keyring.wrapNewDomainKey(id, "")).digest(["_phone", "112"]);
    expect(digestIn(shop)).toHaveLength(32);
    expect(digestIn(shop)).not.toEqual(digestIn(new Uint8Array([3])));
  });

  test("do not open for another domain, open already or not, and no profile's key without a seed", () => {
    const keyring = keyringOf();
    const wrapped = keyring.wrapNewDomainKey(shop, "a");
    const broken = expect.objectContaining({ name: "SealBrokenError" });
    expect(() => keyring.openDomain(ann, wrapped)).toThrow(broken);
    const keys = keyring.openDomain(shop, wrapped);
    expect(() => keyring.openDomain(ann, wrapped)).toThrow(broken);
    expect(() => keys.openProfileKey(ann, undefined)).toThrow(broken);
    expect(() => keys.openProfileKey(ann, new Uint8Array(31))).toThrow(broken);
  });

  test("are another for another profile, another seed and another domain", () => {
    const keyring = keyringOf();
    const open = (domainId: Uint8Array) => keyring.openDomain(domainId, keyring.wrapNewDomainKey(domainId, ""));
    const [keys, others] = [open(shop), open(new Uint8Array([3]))];
    const { seed } = keys.createProfileKey(ann);
    const other = new Uint8Array([4]);
    const derived = [
      keys.openProfileKey(ann, seed),
      keys.openProfileKey(other, seed),
      keys.openProfileKey(ann, keys.createProfileKey(ann).seed),
      others.openProfileKey(ann, seed),
    ];
    expect(new Set(derived.map((key) => key.export().toString("hex"))).size).toBe(4);
  });

  test("seal content under two keys that only both open, in their order", () => {
    const [first, second] = [7, 8].map((byte) => createSecretKey(new Uint8Array(32).fill(byte))) as [
      KeyObject,
      KeyObject,
    ];
    const sealed = seal(jointKey(first, second), ["letter"], Buffer.from("Dear Ann"));
    expect(unseal(jointKey(first, second), ["letter"], sealed).toString()).toBe("Dear Ann");
    for (const key of [first, second, jointKey(second, first)])
      expect(() => unseal(key, ["letter"], sealed)).toThrow(expect.objectContaining({ name: "SealBrokenError" }));
  });

  test("that are open already do not open again while their named key is disabled", () => {
    let state: "ENABLED" | "DISABLED" = "ENABLED";
    const keyring = keyringOf({
      usableId: (name) => declaredKeyNames([{ id: "crm", aliases: [], state }]).usableId(name),
    });
    const wrapped = keyring.wrapNewDomainKey(shop, "crm");
    const open = keyring.openDomain(shop, wrapped);
    state = "DISABLED";
    expect(() => keyring.openDomain(shop, wrapped)).toThrow("Key crm is disabled.");
    state = "ENABLED";
    expect(keyring.openDomain(shop, wrapped)).toBe(open);
  });
});
