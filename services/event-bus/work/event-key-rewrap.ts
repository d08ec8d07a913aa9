import type { Keyring } from "../../kit/keyring/keyring.ts";
import type { WrappedKeys } from "../../kit/keyring/rewrapping.ts";
import type { Store } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import { keyContext } from "../encryption/event-sealing.ts";
import { findEventKey, putEventKey } from "../store/event-key.ts";
import { eventKeys } from "../store/layout.ts";

type EventKeyName = readonly [account: string, id: string];

/**
 * The data keys of events, which are wrapped again after the master key has been rotated. A damaged one counts as
 * stale, so that its rewrapping says that it fails and the others are rewrapped.
 */
export const wrappedEventKeys = (store: Store, keyring: Keyring): WrappedKeys<EventKeyName> => ({
  listStale: () =>
    store.read(async (reader) => {
      const stale: EventKeyName[] = [];
      for await (const { key, value } of walkTable(reader, eventKeys))
        if (value === undefined || keyring.isStale(value.wrappedKey) || keyring.isStale(value.wrappedLetterKey))
          stale.push(key);
      return stale;
    }),
  rewrap: ([account, id]) =>
    store.transact(async (transaction) => {
      const present = await findEventKey(transaction, account, id);
      if (present === undefined) return;
      putEventKey(transaction, account, id, {
        wrappedKey: keyring.rewrap(keyContext(account, id, false), present.wrappedKey),
        wrappedLetterKey: keyring.rewrap(keyContext(account, id, true), present.wrappedLetterKey),
      });
    }),
  compact: () => store.compact(eventKeys, {}),
});
