import { createHmac, hkdfSync } from "node:crypto";

import { LRUCache } from "lru-cache";

import type { SealedBytes } from "./envelope.ts";
import { keyBytes, newKey, open, seal } from "./envelope.ts";

/**
 * The keys of the service. From the master key a wrapping key is derived for each key name that a domain can ask for;
 * it wraps the domain's key; from that one are derived the key of the domain's index and the key that wraps the data
 * keys of its profiles. What a wrapped key protects is unreadable when the wrapped key is gone.
 */
export interface Keyring {
  /** A new key for a domain, wrapped under the named key. */
  wrapNewDomainKey(domainId: Uint8Array, keyName: string): SealedBytes;
  /** The same domain's key under another named key. */
  rewrapDomainKey(domainId: Uint8Array, wrapped: WrappedDomainKey, keyName: string): SealedBytes;
  /** What can be done with a domain's data. */
  openDomain(domainId: Uint8Array, wrapped: WrappedDomainKey): DomainKeys;
}

/** A domain's key as it is stored. */
export interface WrappedDomainKey {
  /** Empty: the installation's own. */
  readonly wrappingKey: string;
  readonly key?: SealedBytes;
}

/** The keys of one domain in use. */
export interface DomainKeys {
  /** 32 bytes that stand for a text in the index: the same for the same text, and of no use without the key. */
  digest(parts: readonly string[]): Uint8Array;
  wrapNewProfileKey(profileId: Uint8Array): { readonly key: Uint8Array; readonly wrapped: SealedBytes };
  openProfileKey(profileId: Uint8Array, wrapped: SealedBytes | undefined): Uint8Array;
}

/** Domains whose keys are kept in memory. */
const domainsCachedMax = 1_000;

/** The keyring over a master key of 32 bytes. */
export const createKeyring = (masterKey: Uint8Array): Keyring => {
  const opened = new LRUCache<string, DomainKeys>({ max: domainsCachedMax });
  const wrappingKey = (name: string) => derive(masterKey, "domain-wrapping", name);
  const unwrap = (domainId: Uint8Array, wrapped: WrappedDomainKey) =>
    open(wrappingKey(wrapped.wrappingKey), domainKeyPlace(domainId), wrapped.key);
  return {
    wrapNewDomainKey: (domainId, keyName) => seal(wrappingKey(keyName), domainKeyPlace(domainId), newKey()),
    rewrapDomainKey: (domainId, wrapped, keyName) =>
      seal(wrappingKey(keyName), domainKeyPlace(domainId), unwrap(domainId, wrapped)),
    openDomain: (domainId, wrapped) => {
      // The nonce is part of the identity, so a key that was wrapped anew is opened anew.
      const identity = `${hex(domainId)}/${hex(wrapped.key?.nonce ?? new Uint8Array())}`;
      let keys = opened.get(identity);
      if (keys === undefined) {
        keys = domainKeys(unwrap(domainId, wrapped), domainId);
        opened.set(identity, keys);
      }
      return keys;
    },
  };
};

const domainKeyPlace = (domainId: Uint8Array) => ["domain-key", domainId];

const domainKeys = (domainKey: Uint8Array, domainId: Uint8Array): DomainKeys => {
  const indexKey = derive(domainKey, "index", "");
  const profileWrappingKey = derive(domainKey, "profile-wrapping", "");
  const place = (profileId: Uint8Array) => ["profile-key", domainId, profileId];
  return {
    digest: (parts) => createHmac("sha256", indexKey).update(JSON.stringify(parts), "utf8").digest(),
    wrapNewProfileKey: (profileId) => {
      const key = newKey();
      return { key, wrapped: seal(profileWrappingKey, place(profileId), key) };
    },
    openProfileKey: (profileId, wrapped) => open(profileWrappingKey, place(profileId), wrapped),
  };
};

const derive = (key: Uint8Array, purpose: string, name: string): Uint8Array =>
  new Uint8Array(hkdfSync("sha256", key, "quartet/customer-profile", `${purpose}/${name}`, keyBytes));

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
