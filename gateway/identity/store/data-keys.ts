import type { KeyObject } from "node:crypto";

import type { Clock } from "../../../services/kit/clock/clock.ts";
import { anyKeyNames } from "../../../services/kit/keyring/key-names.ts";
import type { Keyring } from "../../../services/kit/keyring/keyring.ts";
import { openKeyring } from "../../../services/kit/keyring/keyring.ts";
import { masterKeysFile } from "../../../services/kit/keyring/master-keys.ts";
import type { WrappedKeys } from "../../../services/kit/keyring/rewrapping.ts";
import type { Logger } from "../../../services/kit/log/log.ts";
import type { Store } from "../../../services/kit/store/store.ts";
import { dataKeys } from "./layout.ts";

type Purpose = "secrets" | "sessions";

/** The data keys of the store, opened. */
export interface DataKeys {
  readonly keyring: Keyring;
  /** Seals the secrets of access keys. */
  readonly secrets: KeyObject;
  /** Seals session tokens. */
  readonly sessions: KeyObject;
}

/** Opens the data keys, or creates them. Throws MasterKeysError if the master keys do not open them. */
export const openDataKeys = async (store: Store, directory: string, clock: Clock, log: Logger): Promise<DataKeys> => {
  const sample = await store.read((reader) => reader.get(dataKeys, ["secrets"]));
  const path = masterKeysFile(directory);
  const keyring = await openKeyring({ path, names: anyKeyNames, clock, log, sample: sample?.wrapped });
  const open = async (purpose: Purpose): Promise<KeyObject> => {
    const context = contextOf(purpose);
    const fresh = keyring.createDataKey("", context);
    return store.transact(async (transaction) => {
      const known = await transaction.get(dataKeys, [purpose]);
      if (known !== undefined) return keyring.openDataKey(context, known.wrapped);
      transaction.put(dataKeys, [purpose], { wrapped: fresh.wrapped });
      return fresh.key;
    });
  };
  return { keyring, secrets: await open("secrets"), sessions: await open("sessions") };
};

/** The data keys for the rewrapping after a rotation of the master key. */
export const wrappedDataKeys = (store: Store, keyring: Keyring): WrappedKeys<Purpose> => ({
  listStale: async () =>
    (await store.read((reader) => reader.list(dataKeys, { limit: 10 })))
      .filter(({ value }) => keyring.isStale(value.wrapped))
      .map(({ key: [purpose] }) => purpose as Purpose),
  rewrap: (purpose) =>
    store.transact(async (transaction) => {
      const known = await transaction.get(dataKeys, [purpose]);
      if (known === undefined || !keyring.isStale(known.wrapped)) return;
      transaction.put(dataKeys, [purpose], { wrapped: keyring.rewrap(contextOf(purpose), known.wrapped) });
    }),
  compact: () => store.compact(dataKeys, {}),
});

const contextOf = (purpose: Purpose): readonly string[] => ["identity", purpose];
