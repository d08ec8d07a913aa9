import type { Keyring } from "../../kit/keyring/keyring.ts";
import type { WrappedKeys } from "../../kit/keyring/rewrapping.ts";
import type { Reader, Store } from "../../kit/store/store.ts";
import { contextOf } from "../encryption/wrapping-keys.ts";
import { wrappingKeys } from "../store/layout.ts";

/** The wrapping keys, which are wrapped again after the master key has been rotated. */
export const storedWrappingKeys = (store: Store, keyring: Keyring): WrappedKeys<string> => ({
  listStale: () =>
    store.read(async (reader) => {
      const stale: string[] = [];
      for await (const { key, value } of reader.range(wrappingKeys, {}))
        if (keyring.isStale(value.wrappedKey)) stale.push(key[0]);
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

/** Any wrapping key; undefined if nothing was encrypted yet. */
export const findWrappedKey = async (reader: Reader): Promise<Uint8Array | undefined> => {
  const [first] = await reader.list(wrappingKeys, { limit: 1 });
  return first?.value.wrappedKey;
};
