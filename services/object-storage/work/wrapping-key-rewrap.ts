import type { Keyring } from "../../kit/keyring/keyring.ts";
import type { WrappedKeys } from "../../kit/keyring/rewrapping.ts";
import type { Reader, Store } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import { contextOf } from "../encryption/wrapping-keys.ts";
import { wrappingKeys } from "../store/layout.ts";

/**
 * The wrapping keys, which are wrapped again after the master key has been rotated. A damaged one counts as stale, so
 * that its rewrapping says that it fails and the others are rewrapped.
 */
export const storedWrappingKeys = (store: Store, keyring: Keyring): WrappedKeys<string> => ({
  listStale: () =>
    store.read(async (reader) => {
      const stale: string[] = [];
      for await (const { key, value } of walkTable(reader, wrappingKeys))
        if (value === undefined || keyring.isStale(value.wrappedKey)) stale.push(key[0]);
      return stale;
    }),
  rewrap: (id) =>
    store.transact(async (transaction) => {
      const found = await transaction.get(wrappingKeys, [id]);
      if (found === undefined || !keyring.isStale(found.wrappedKey)) return;
      transaction.put(wrappingKeys, [id], { wrappedKey: keyring.rewrap(contextOf(id), found.wrappedKey) });
    }),
  compact: () => store.compact(wrappingKeys, {}),
});

/** Any wrapping key that can be read; undefined if there is none, so that no master key is known to be needed. */
export const findWrappedKey = async (reader: Reader): Promise<Uint8Array | undefined> => {
  for await (const { value } of walkTable(reader, wrappingKeys)) if (value !== undefined) return value.wrappedKey;
  return undefined;
};
