import type { KeyObject } from "node:crypto";

import { LRUCache } from "lru-cache";

import type { KeyNames } from "../../kit/keyring/key-names.ts";
import type { Keyring } from "../../kit/keyring/keyring.ts";
import type { SealContext } from "../../kit/keyring/sealed.ts";
import type { Store } from "../../kit/store/store.ts";
import { wrappingKeys } from "../store/layout.ts";

/** What the wrapping keys are opened from. */
export interface WrappingKeysOptions {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly names: KeyNames;
}

/**
 * The keys that the data keys of blobs are sealed under: one of the service, and one for each managed key that was
 * used. The keyring wraps them, so a rotation of the master key wraps these few again, and not the data keys of all
 * blobs. One is created, durably, before it is used first.
 */
export class WrappingKeys {
  readonly #options: WrappingKeysOptions;
  readonly #opened = new LRUCache<string, OpenedKey>({ max: openedMax });

  constructor(options: WrappingKeysOptions) {
    this.#options = options;
  }

  /** The key of the service. */
  ofService(): Promise<KeyObject> {
    return this.#open("service", "");
  }

  /** The key of a managed key; undefined: of the service's own managed key. Throws NamedKeyError. */
  ofManaged(keyName: string | undefined): Promise<KeyObject> {
    if (keyName === undefined) return this.#open("managed", "");
    const keyId = this.#options.names.usableId(keyName);
    return this.#open(`managed/${keyId}`, keyId);
  }

  async #open(id: string, keyName: string): Promise<KeyObject> {
    const { keyring } = this.#options;
    const known = this.#opened.get(id);
    if (known !== undefined) {
      // A key in memory must not outlive the permission to use it.
      keyring.assertUsable(known.wrapped);
      return known.key;
    }
    const wrapped = await this.#findOrCreate(id, keyName);
    const key = keyring.openDataKey(contextOf(id), wrapped);
    this.#opened.set(id, { wrapped, key });
    return key;
  }

  async #findOrCreate(id: string, keyName: string): Promise<Uint8Array> {
    const { store, keyring } = this.#options;
    const found = await store.read((reader) => reader.get(wrappingKeys, [id]));
    if (found !== undefined) return found.wrappedKey;
    const { wrapped } = keyring.createDataKey(keyName, contextOf(id));
    return store.transact(async (transaction) => {
      const existing = await transaction.get(wrappingKeys, [id]);
      if (existing !== undefined) return existing.wrappedKey;
      transaction.put(wrappingKeys, [id], { wrappedKey: wrapped });
      return wrapped;
    });
  }
}

interface OpenedKey {
  readonly wrapped: Uint8Array;
  readonly key: KeyObject;
}

/** Wrapping keys that are kept in memory. */
const openedMax = 1_000;

/** A wrapping key opens only under its own id. */
export const contextOf = (id: string): SealContext => ["wrapping key", id];
