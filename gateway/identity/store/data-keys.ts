import type { KeyObject } from "node:crypto";

import type { Clock } from "../../../services/kit/clock/clock.ts";
import { anyKeyNames } from "../../../services/kit/keyring/key-names.ts";
import type { Keyring } from "../../../services/kit/keyring/keyring.ts";
import { openKeyring, openUndamaged } from "../../../services/kit/keyring/keyring.ts";
import { masterKeysFile } from "../../../services/kit/keyring/master-keys.ts";
import type { WrappedKeys } from "../../../services/kit/keyring/rewrapping.ts";
import type { Logger } from "../../../services/kit/log/log.ts";
import { findOrDamaged } from "../../../services/kit/store/damage.ts";
import type { Reader, Store } from "../../../services/kit/store/store.ts";
import { walkTable } from "../../../services/kit/store/walk-table.ts";
import { dataKeys } from "./layout.ts";

type Purpose = "secrets" | "sessions";

/** The keys of a purpose, the newest first: it seals, and all open. */
export type SealingKeys = readonly [KeyObject, ...KeyObject[]];

/** The data keys of the store, opened. */
export interface DataKeys {
  readonly keyring: Keyring;
  /** Seal the secrets of access keys. */
  readonly secrets: SealingKeys;
  /** Seal session tokens. */
  readonly sessions: SealingKeys;
}

/** The name of a key in the table: the first is named by its purpose, those after a damaged one have a number. */
const nameOf = (purpose: Purpose, generation: number): string =>
  generation === 1 ? purpose : `${purpose}/${generation}`;

/**
 * Opens the data keys, or creates them. One that is damaged is logged and left as it is, so that it can be restored;
 * another one follows it. Throws MasterKeysError if the master keys do not open them.
 */
export const openDataKeys = async (store: Store, directory: string, clock: Clock, log: Logger): Promise<DataKeys> => {
  const sample = await store.read(findWrapped);
  const path = masterKeysFile(directory);
  const keyring = await openKeyring({ path, names: anyKeyNames, clock, log, sample });
  const open = (purpose: Purpose): Promise<SealingKeys> =>
    store.transact(async (transaction) => {
      const older: KeyObject[] = [];
      let newest: KeyObject | undefined;
      for (let generation = 1; ; generation += 1) {
        const name = nameOf(purpose, generation);
        const found = await findOrDamaged(transaction.get(dataKeys, [name]));
        const key = typeof found === "object" ? openUndamaged(keyring, contextOf(name), found.wrapped) : undefined;
        if (found !== undefined && key === undefined) {
          transaction.afterCommit(() => log.error({ table: dataKeys.name, name }, "a data key is damaged"));
          if (newest !== undefined) older.unshift(newest);
          newest = undefined;
        } else if (key !== undefined) {
          if (newest !== undefined) older.unshift(newest);
          newest = key;
        } else if (newest !== undefined) return [newest, ...older];
        else {
          const fresh = keyring.createDataKey("", contextOf(name));
          transaction.put(dataKeys, [name], { wrapped: fresh.wrapped });
          return [fresh.key, ...older];
        }
      }
    });
  return { keyring, secrets: await open("secrets"), sessions: await open("sessions") };
};

/** Any data key that can be read. */
const findWrapped = async (reader: Reader): Promise<Uint8Array | undefined> => {
  for await (const { value } of walkTable(reader, dataKeys)) if (value !== undefined) return value.wrapped;
  return undefined;
};

/** The data keys for the rewrapping after a rotation of the master key. */
export const wrappedDataKeys = (store: Store, keyring: Keyring): WrappedKeys<string> => ({
  listStale: () =>
    store.read(async (reader) => {
      const stale: string[] = [];
      for await (const { key, value } of walkTable(reader, dataKeys))
        if (value !== undefined && keyring.isStale(value.wrapped)) stale.push(key[0]);
      return stale;
    }),
  rewrap: (name) =>
    store.transact(async (transaction) => {
      const known = await transaction.get(dataKeys, [name]);
      if (known === undefined || !keyring.isStale(known.wrapped)) return;
      transaction.put(dataKeys, [name], { wrapped: keyring.rewrap(contextOf(name), known.wrapped) });
    }),
  compact: () => store.compact(dataKeys, {}),
});

const contextOf = (name: string): readonly string[] => ["identity", name];
