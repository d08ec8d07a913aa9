import type { KeyObject } from "node:crypto";
import { createHmac, hkdfSync } from "node:crypto";

import { LRUCache } from "lru-cache";

import { drawRandomBytes } from "../../kit/ids/random-bytes.ts";
import type { Keyring } from "../../kit/keyring/keyring.ts";
import { sealKey, secretKey, unsealKey } from "../../kit/keyring/sealed.ts";

/**
 * The keys of domains. The keyring wraps a key for each domain, under the named key of the domain's settings; the key
 * of the domain's index and the key that wraps the data keys of its profiles are derived from it. Deleting a wrapped
 * key makes everything that it protects unreadable.
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
  /**
   * The keys that a domain's data is read and written with. Throws NamedKeyError while its named key cannot be used.
   */
  openDomain(domainId: Uint8Array, wrapped: Uint8Array): DomainKeys;
}

/** The keys of one domain in use. */
export interface DomainKeys {
  /** 32 bytes that represent a text in the index: equal for equal texts, and meaningless without the key. */
  digest(parts: readonly string[]): Uint8Array;
  wrapNewProfileKey(profileId: Uint8Array): { readonly key: KeyObject; readonly wrapped: Uint8Array };
  /** The data key of a profile. Throws SealBrokenError, also without a wrapped key. */
  openProfileKey(profileId: Uint8Array, wrapped: Uint8Array | undefined): KeyObject;
}

/** Domains whose keys are kept in memory. */
const domainsCachedMax = 1_000;
const keyBytes = 32;

/** The keys of domains over the service's keyring. */
export const createDomainKeyring = (keyring: Keyring): DomainKeyring => {
  const opened = new LRUCache<string, DomainKeys>({ max: domainsCachedMax });
  return {
    wrapNewDomainKey: (domainId, keyName) => keyring.createDataKey(keyName, domainKeyData(domainId)).wrapped,
    moveDomainKey: (domainId, wrapped, keyName) =>
      keyring.isWrappedUnder(wrapped, keyName)
        ? wrapped
        : keyring.moveDataKey(domainKeyData(domainId), wrapped, keyName),
    isStale: (wrapped) => keyring.isStale(wrapped),
    rewrapDomainKey: (domainId, wrapped) => keyring.rewrap(domainKeyData(domainId), wrapped),
    openDomain: (domainId, wrapped) => {
      // A cached key must not outlive the permission to use it.
      keyring.assertUsable(wrapped);
      const identity = `${base64(domainId)} ${base64(wrapped)}`;
      let keys = opened.get(identity);
      if (keys === undefined) {
        keys = domainKeys(keyring.openDataKey(domainKeyData(domainId), wrapped), domainId);
        opened.set(identity, keys);
      }
      return keys;
    },
  };
};

/** The associated data of a wrapped domain key: it can be unwrapped only for its domain. */
const domainKeyData = (domainId: Uint8Array) => ["domain-key", domainId];

const domainKeys = (domainKey: KeyObject, domainId: Uint8Array): DomainKeys => {
  const indexKey = derive(domainKey, "index");
  const profileWrappingKey = derive(domainKey, "profile-wrapping");
  const associatedData = (profileId: Uint8Array) => ["profile-key", domainId, profileId];
  return {
    digest: (parts) => createHmac("sha256", indexKey).update(JSON.stringify(parts), "utf8").digest(),
    wrapNewProfileKey: (profileId) => {
      const key = secretKey(drawRandomBytes(keyBytes));
      return { key, wrapped: sealKey(profileWrappingKey, associatedData(profileId), key) };
    },
    openProfileKey: (profileId, wrapped) =>
      unsealKey(profileWrappingKey, associatedData(profileId), wrapped ?? new Uint8Array()),
  };
};

const derive = (key: KeyObject, purpose: string): KeyObject =>
  secretKey(new Uint8Array(hkdfSync("sha256", key, "quartet/customer-profile", purpose, keyBytes)));

const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
