import type { KeyObject } from "node:crypto";

import { LRUCache } from "lru-cache";

import type { KeyNames } from "../../kit/keyring/key-names.ts";
import type { Keyring } from "../../kit/keyring/keyring.ts";
import { openUndamaged } from "../../kit/keyring/keyring.ts";
import type { SealContext } from "../../kit/keyring/sealed.ts";
import type { Logger } from "../../kit/log/log.ts";
import { findOrDamaged } from "../../kit/store/damage.ts";
import type { Reader, Store } from "../../kit/store/store.ts";
import { wrappingKeys } from "../store/layout.ts";
import type { ContentKey } from "./content-key.ts";

/** What the wrapping keys are opened from. */
export interface WrappingKeysOptions {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly names: KeyNames;
  readonly log?: Pick<Logger, "error">;
}

/**
 * The keys that the data keys of blobs are sealed under: one of the service, and one for each managed key that was
 * used. The keyring wraps them, so a rotation of the master key wraps these few again, and not the data keys of all
 * blobs. One is created, durably, before it is used first. If its record is damaged, it stays as it is, so that it can
 * be restored, and another one follows it for what is stored from then on.
 */
export class WrappingKeys {
  readonly #options: WrappingKeysOptions;
  readonly #opened = new LRUCache<string, OpenedKey>({ max: openedMax });

  constructor(options: WrappingKeysOptions) {
    this.#options = options;
  }

  /** The key of the service. */
  ofService(): Promise<OpenedKeys> {
    return this.#open("service", "");
  }

  /** The key of a managed key; undefined: of the service's own managed key. Throws NamedKeyError. */
  ofManaged(keyName: string | undefined): Promise<OpenedKeys> {
    if (keyName === undefined) return this.#open("managed", "");
    const keyId = this.#options.names.usableId(keyName);
    return this.#open(`managed/${keyId}`, keyId);
  }

  async #open(id: string, keyName: string): Promise<OpenedKeys> {
    const { keyring } = this.#options;
    const known = this.#opened.get(id);
    if (known !== undefined) {
      // A key in memory must not outlive the permission to use it.
      keyring.assertUsable(known.wrapped);
      return known.keys;
    }
    const [newest, ...others] = await this.#findOrCreate(id, keyName);
    const keys = others.length === 0 ? { key: newest.key } : { key: newest.key, older: others.map((each) => each.key) };
    this.#opened.set(id, { wrapped: newest.wrapped, keys });
    return keys;
  }

  /** The newest first, at least one. */
  async #findOrCreate(id: string, keyName: string): Promise<readonly [StoredKey, ...StoredKey[]]> {
    const { store, keyring, log } = this.#options;
    const found = await store.read((reader) => readGenerations(reader, keyring, id));
    if (found.isUsable) return found.stored as [StoredKey, ...StoredKey[]];
    return store.transact(async (transaction) => {
      const { isUsable, next, stored } = await readGenerations(transaction, keyring, id);
      if (isUsable) return stored as [StoredKey, ...StoredKey[]];
      const { wrapped, key } = keyring.createDataKey(keyName, contextOf(next));
      transaction.put(wrappingKeys, [next], { wrappedKey: wrapped });
      if (next !== id)
        transaction.afterCommit(() => log?.error({ id, next }, "a wrapping key is damaged; another one follows it"));
      return [{ wrapped, key }, ...stored];
    });
  }
}

/** A wrapping key as it is stored, and opened. */
interface StoredKey {
  readonly wrapped: Uint8Array;
  readonly key: KeyObject;
}

interface Generations {
  /** Those that can be read, the newest first. */
  readonly stored: readonly StoredKey[];
  /** Whether there is one, and none after it is damaged. */
  readonly isUsable: boolean;
  /** The name of the one that would be created. */
  readonly next: string;
}

/** The key of an id is stored under it, those that follow damaged ones under it with a number. */
const readGenerations = async (reader: Reader, keyring: Keyring, id: string): Promise<Generations> => {
  const stored: StoredKey[] = [];
  let isUsable = false;
  for (let generation = 1; ; generation += 1) {
    const name = generation === 1 ? id : `${id}#${generation}`;
    const found = await findOrDamaged(reader.get(wrappingKeys, [name]));
    if (found === undefined) return { stored, isUsable, next: name };
    const wrapped = found === "damaged" ? undefined : found.wrappedKey;
    const key = wrapped && openUndamaged(keyring, contextOf(name), wrapped);
    isUsable = key !== undefined;
    if (wrapped !== undefined && key !== undefined) stored.unshift({ wrapped, key });
  }
};

/** An opened wrapping key, and those that sealed before it. */
export type OpenedKeys = Pick<ContentKey, "key" | "older">;

interface OpenedKey {
  readonly wrapped: Uint8Array;
  readonly keys: OpenedKeys;
}

/** Wrapping keys that are kept in memory. */
const openedMax = 1_000;

/** A wrapping key opens only under its own id. */
export const contextOf = (id: string): SealContext => ["wrapping key", id];
