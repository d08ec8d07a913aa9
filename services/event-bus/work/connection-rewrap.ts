import type { Keyring } from "../../kit/keyring/keyring.ts";
import type { WrappedKeys } from "../../kit/keyring/rewrapping.ts";
import type { Reader, Store } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import { rewrapSecret } from "../encryption/connection-secret.ts";
import { findConnection, putConnection } from "../store/connection.ts";
import { connections, eventKeys } from "../store/layout.ts";

type ConnectionKey = readonly [account: string, connection: string];

/**
 * The keys of connections' secrets, which are wrapped again after the master key has been rotated. A damaged one counts
 * as stale, so that its rewrapping says that it fails and the others are rewrapped.
 */
export const wrappedSecretKeys = (store: Store, keyring: Keyring): WrappedKeys<ConnectionKey> => ({
  listStale: () =>
    store.read(async (reader) => {
      const stale: ConnectionKey[] = [];
      for await (const { key, value } of walkTable(reader, connections))
        if (value === undefined || (value.secret !== undefined && keyring.isStale(value.secret.wrappedKey)))
          stale.push(key);
      return stale;
    }),
  rewrap: ([account, name]) =>
    store.transact(async (transaction) => {
      const connection = await findConnection(transaction, account, name);
      if (connection?.secret === undefined || !keyring.isStale(connection.secret.wrappedKey)) return;
      const secret = rewrapSecret(keyring, account, connection, connection.secret);
      putConnection(transaction, account, { ...connection, secret });
    }),
  compact: () => store.compact(connections, {}),
});

/** The wrapped key of any connection's secret or of any bus's events; undefined if there is none that can be read. */
export const findWrappedKey = async (reader: Reader): Promise<Uint8Array | undefined> => {
  for await (const { value } of walkTable(reader, eventKeys)) if (value !== undefined) return value.wrappedKey;
  for await (const { value } of walkTable(reader, connections))
    if (value?.secret !== undefined) return value.secret.wrappedKey;
  return undefined;
};
