import type { WrappedKeys } from "../../kit/keyring/rewrapping.ts";
import type { Store } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import type { DomainKeyring } from "../encryption/domain-keys.ts";
import { domainKeys, objectTypeKeys } from "../store/layout.ts";

/**
 * The keys of domains, which are rewrapped after a rotation of the master key. Those of profiles need not be. A damaged
 * one counts as stale, so that its rewrapping says that it fails and the others are rewrapped.
 */
export const wrappedDomainKeys = (store: Store, keyring: DomainKeyring): WrappedKeys<Uint8Array> => ({
  listStale: () =>
    store.read(async (reader) => {
      const stale: Uint8Array[] = [];
      for await (const { key, value } of walkTable(reader, domainKeys))
        if (value === undefined || keyring.isStale(value.key)) stale.push(key[0]);
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

type TypeKeyPlace = readonly [domainId: Uint8Array, typeId: Uint8Array];

/** The keys of object types that the keyring wraps, which are rewrapped likewise. */
export const wrappedTypeKeys = (store: Store, keyring: DomainKeyring): WrappedKeys<TypeKeyPlace> => ({
  listStale: () =>
    store.read(async (reader) => {
      const stale: TypeKeyPlace[] = [];
      for await (const { key, value } of walkTable(reader, objectTypeKeys))
        if (value === undefined || (!value.isUnderDomainKey && keyring.isStale(value.key))) stale.push(key);
      return stale;
    }),
  rewrap: (place) =>
    store.transact(async (transaction) => {
      const stored = await transaction.get(objectTypeKeys, place);
      if (stored === undefined || stored.isUnderDomainKey || !keyring.isStale(stored.key)) return;
      transaction.put(objectTypeKeys, place, { key: keyring.rewrapTypeKey(...place, stored.key) });
    }),
  compact: () => store.compact(objectTypeKeys, {}),
});
