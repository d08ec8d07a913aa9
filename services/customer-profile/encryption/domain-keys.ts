import type { KeyObject } from "node:crypto";
import { hkdfSync } from "node:crypto";

import { drawRandomBytes } from "../../kit/ids/random-bytes.ts";
import { createKeyedDigest } from "../../kit/keyring/keyed-digest.ts";
import type { Keyring } from "../../kit/keyring/keyring.ts";
import { SealBrokenError, sealKey, secretKey, unsealKey } from "../../kit/keyring/sealed.ts";

/**
 * The keys of domains. The keyring wraps a key for each domain, under the named key of the domain's settings; the key
 * of the domain's index and the data keys of its profiles are derived from it, those with a random seed of the profile.
 * Deleting a wrapped key or a seed makes everything that it protects unreadable.
 */
export interface DomainKeyring {
  /** A new key for a domain, wrapped under the named key. Throws NamedKeyError. */
  wrapNewDomainKey(domainId: Uint8Array, keyName: string): Uint8Array;
  /** The same domain's key under another named key; unchanged if it already is under that. Throws NamedKeyError. */
  moveDomainKey(domainId: Uint8Array, wrapped: Uint8Array, keyName: string): Uint8Array;
  /** Whether there is a newer master key, so that `rewrapDomainKey` is due. */
  isStale(wrapped: Uint8Array): boolean;
  /** The same domain's key wrapped with the latest master key. */
  rewrapDomainKey(domainId: Uint8Array, wrapped: Uint8Array): Uint8Array;
  /** The key of an object type wrapped with the latest master key. */
  rewrapTypeKey(domainId: Uint8Array, typeId: Uint8Array, wrapped: Uint8Array): Uint8Array;
  /**
   * The keys that a domain's data is read and written with. Throws NamedKeyError while its named key cannot be used.
   */
  openDomain(domainId: Uint8Array, wrapped: Uint8Array): DomainKeys;
}

/** The wrapped key of an object type: under its named key, or under the domain's key if it names none any more. */
export interface WrappedTypeKey {
  readonly key: Uint8Array;
  readonly isUnderDomainKey: boolean;
}

/** The keys of one domain in use. */
export interface DomainKeys {
  /** 32 bytes that represent a text in the index: equal for equal texts, and meaningless without the key. */
  digest(parts: readonly string[]): Uint8Array;
  /** The data key of a new profile and the seed that it is derived with. */
  createProfileKey(profileId: Uint8Array): { readonly key: KeyObject; readonly seed: Uint8Array };
  /** The key of the domain's dead letters. */
  readonly letterKey: KeyObject;
  /** A new key for the objects of a type, wrapped under the named key. Throws NamedKeyError. */
  wrapNewTypeKey(typeId: Uint8Array, keyName: string): { readonly key: KeyObject; readonly wrapped: WrappedTypeKey };
  /** The key of a type's objects. Throws NamedKeyError while the key that it is wrapped under cannot be used. */
  openTypeKey(typeId: Uint8Array, wrapped: WrappedTypeKey): KeyObject;
  /** The same key under another named key; an empty name: under the domain's key. Throws NamedKeyError. */
  moveTypeKey(typeId: Uint8Array, wrapped: WrappedTypeKey, keyName: string): WrappedTypeKey;
  /** The data key of a profile; with another's seed, one that opens nothing. Throws SealBrokenError without a seed. */
  openProfileKey(profileId: Uint8Array, seed: Uint8Array | undefined): KeyObject;
}

const keyBytes = 32;
const seedBytes = 32;

/** The keys of domains over the service's keyring. */
export const createDomainKeyring = (keyring: Keyring): DomainKeyring => {
  // By the record, which the store keeps in memory as long as it is often read and does not change.
  const opened = new WeakMap<Uint8Array, { readonly domainId: Uint8Array; readonly keys: DomainKeys }>();
  return {
    wrapNewDomainKey: (domainId, keyName) => keyring.createDataKey(keyName, domainKeyData(domainId)).wrapped,
    moveDomainKey: (domainId, wrapped, keyName) =>
      keyring.isWrappedUnder(wrapped, keyName)
        ? wrapped
        : keyring.moveDataKey(domainKeyData(domainId), wrapped, keyName),
    isStale: (wrapped) => keyring.isStale(wrapped),
    rewrapDomainKey: (domainId, wrapped) => keyring.rewrap(domainKeyData(domainId), wrapped),
    rewrapTypeKey: (domainId, typeId, wrapped) => keyring.rewrap(typeKeyData(domainId, typeId), wrapped),
    openDomain: (domainId, wrapped) => {
      // A cached key must not outlive the permission to use it.
      keyring.assertUsable(wrapped);
      const known = opened.get(wrapped);
      if (known !== undefined && Buffer.compare(known.domainId, domainId) === 0) return known.keys;
      const keys = domainKeys(keyring, keyring.openDataKey(domainKeyData(domainId), wrapped), domainId);
      opened.set(wrapped, { domainId, keys });
      return keys;
    },
  };
};

/** The associated data of a wrapped domain key: it can be unwrapped only for its domain. */
const domainKeyData = (domainId: Uint8Array) => ["domain-key", domainId];

const typeKeyData = (domainId: Uint8Array, typeId: Uint8Array) => ["object-type-key", domainId, typeId];

const domainKeys = (keyring: Keyring, domainKey: KeyObject, domainId: Uint8Array): DomainKeys => {
  const indexDigest = createKeyedDigest(derive(domainKey, "index"));
  const profileDigest = createKeyedDigest(derive(domainKey, "profile-keys"));
  // The seed has a fixed length, so that no two profiles have the same content.
  const profileKey = (profileId: Uint8Array, seed: Uint8Array): KeyObject =>
    secretKey(profileDigest(Buffer.concat([seed, profileId])));
  const typeWrappingKey = derive(domainKey, "type-wrapping");
  const openTypeKey = (typeId: Uint8Array, { key, isUnderDomainKey }: WrappedTypeKey): KeyObject =>
    isUnderDomainKey
      ? unsealKey(typeWrappingKey, typeKeyData(domainId, typeId), key)
      : keyring.openDataKey(typeKeyData(domainId, typeId), key);
  return {
    letterKey: derive(domainKey, "dead-letters"),
    digest: (parts) => indexDigest(JSON.stringify(parts)),
    createProfileKey: (profileId) => {
      const seed = drawRandomBytes(seedBytes);
      return { key: profileKey(profileId, seed), seed };
    },
    openProfileKey: (profileId, seed) => {
      if (seed?.length !== seedBytes) throw new SealBrokenError();
      return profileKey(profileId, seed);
    },
    wrapNewTypeKey: (typeId, keyName) => {
      const { key, wrapped } = keyring.createDataKey(keyName, typeKeyData(domainId, typeId));
      return { key, wrapped: { key: wrapped, isUnderDomainKey: false } };
    },
    openTypeKey,
    moveTypeKey: (typeId, wrapped, keyName) => {
      const context = typeKeyData(domainId, typeId);
      if (keyName === "") {
        if (wrapped.isUnderDomainKey) return wrapped;
        return { key: sealKey(typeWrappingKey, context, openTypeKey(typeId, wrapped)), isUnderDomainKey: true };
      }
      if (wrapped.isUnderDomainKey)
        return { key: keyring.wrapDataKey(keyName, context, openTypeKey(typeId, wrapped)), isUnderDomainKey: false };
      if (keyring.isWrappedUnder(wrapped.key, keyName)) return wrapped;
      return { key: keyring.moveDataKey(context, wrapped.key, keyName), isUnderDomainKey: false };
    },
  };
};

/** The key of content that is readable only with both keys. */
export const jointKey = (first: KeyObject, second: KeyObject): KeyObject => {
  const salt = second.export();
  const bytes = hkdfSync("sha256", first, salt, "quartet/customer-profile joint", keyBytes);
  salt.fill(0);
  return secretKey(new Uint8Array(bytes));
};

const derive = (key: KeyObject, purpose: string): KeyObject =>
  secretKey(new Uint8Array(hkdfSync("sha256", key, "quartet/customer-profile", purpose, keyBytes)));
