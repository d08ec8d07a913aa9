import type { WrappedKeys } from "../../kit/keyring/rewrapping.ts";
import type { Store } from "../../kit/store/store.ts";
import type { DomainKeyring } from "../encryption/domain-keys.ts";
import { domainKeys } from "../store/layout.ts";

/** The keys of domains, which are rewrapped after a rotation of the master key. Those of profiles need not be. */
export const wrappedDomainKeys = (store: Store, keyring: DomainKeyring): WrappedKeys<Uint8Array> => ({
  listStale: () =>
    store.read(async (reader) => {
      const stale: Uint8Array[] = [];
      for await (const { key, value } of reader.range(domainKeys, {}))
        if (keyring.isStale(value.key)) stale.push(key[0]);
      return stale;
    }),
  rewrap: (domainId) =>
    store.transact(async (transaction) => {
      const stored = await transaction.get(domainKeys, [domainId]);
      if (stored === undefined || !keyring.isStale(stored.key)) return;
      transaction.put(domainKeys, [domainId], { key: keyring.rewrapDomainKey(domainId, stored.key) });
    }),
  compact: () => store.compact(domainKeys, {}),
});
