import type { Clock } from "../../kit/clock/clock.ts";
import { NamedKeyError } from "../../kit/keyring/key-names.ts";
import type { Logger } from "../../kit/log/log.ts";
import type { Store } from "../../kit/store/store.ts";
import type { Transaction } from "../../kit/store/transaction.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import type { DomainKeyring } from "../encryption/domain-keys.ts";
import { detachObject } from "../ingestion/detach-object.ts";
import { limits } from "../limits.ts";
import { findDomainData } from "../store/domain.ts";
import { expiries, objectExpiries } from "../store/layout.ts";
import { removeProfile } from "../store/profile.ts";
import type { Compaction } from "./compaction.ts";
import { unlessDamaged } from "./damage.ts";

/** The dependencies of the expiry. */
export interface ExpiryOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly compaction: Compaction;
  readonly keyring: DomainKeyring;
  readonly log: Logger;
}

/**
 * Removes all profiles and objects that have expired by now; returns how many. Operations do not see them any more;
 * this frees their space and takes them out of the statistics. What cannot be removed because a record of it is
 * damaged is logged and left, and the others are removed. Ends early once the signal is aborted.
 */
export const removeExpired = async (options: ExpiryOptions, signal?: AbortSignal): Promise<number> => {
  const nowMs = options.clock.now();
  let removed = 0;
  // Also for expired profiles that objects have removed, to be attached to another one.
  options.compaction.request();
  let afterProfile: ProfileExpiryKey | undefined;
  let afterObject: ObjectExpiryKey | undefined;
  for (;;) {
    const profiles = await removeProfiles(options, nowMs, afterProfile);
    const objects = await removeObjects(options, nowMs, afterObject);
    removed += profiles.removed + objects.removed;
    afterProfile = profiles.last;
    afterObject = objects.last;
    if (Math.max(profiles.seen, objects.seen) < limits.expiryBatch || signal?.aborted === true) return removed;
  }
};

type ProfileExpiryKey = readonly [dueMs: number, domainId: Uint8Array, profileId: Uint8Array];
type ObjectExpiryKey = readonly [dueMs: number, domainId: Uint8Array, typeId: Uint8Array, objectKey: Uint8Array];

/** What was found due after a position, how much of it was removed, and the position after it. */
interface Removal<Key> {
  readonly seen: number;
  readonly removed: number;
  readonly last: Key | undefined;
}

/** The next batch of what is due by now, after a position. */
const dueRange = <Key>(
  nowMs: number,
  after: Key | undefined,
): { readonly through: [number]; readonly limit: number; readonly after: Key | undefined } => ({
  through: [nowMs],
  limit: limits.expiryBatch,
  after,
});

/** Removes each profile in a transaction of its own, because a profile may have many objects and keys. */
const removeProfiles = async (
  options: ExpiryOptions,
  nowMs: number,
  after: ProfileExpiryKey | undefined,
): Promise<Removal<ProfileExpiryKey>> => {
  const due = await options.store.read((reader) =>
    Array.fromAsync(walkTable(reader, expiries, dueRange(nowMs, after))),
  );
  let removed = 0;
  for (const { key } of due) removed += await removeUndamaged(options, [key], (each) => removeOne(each, key));
  return { seen: due.length, removed, last: due.at(-1)?.key ?? after };
};

const removeOne = async (transaction: Transaction, key: ProfileExpiryKey): Promise<number> => {
  // The profile may have got a later expiry since it was found due.
  if ((await transaction.get(expiries, key)) === undefined) return 0;
  await removeProfile(transaction, key[1], key[2]);
  transaction.delete(expiries, key);
  return 1;
};

/**
 * Removes expired objects, with the fields that came from them, from profiles that have not expired: together, or, if
 * one of them is damaged, each by itself.
 */
const removeObjects = async (
  options: ExpiryOptions,
  nowMs: number,
  after: ObjectExpiryKey | undefined,
): Promise<Removal<ObjectExpiryKey>> => {
  const { store, keyring } = options;
  const found = await store.read((reader) =>
    Array.fromAsync(walkTable(reader, objectExpiries, dueRange(nowMs, after))),
  );
  const due = found.map(({ key }) => key);
  const removed = await removeUndamaged(options, due, (transaction, keys) => detachExpired(transaction, keyring, keys));
  return { seen: due.length, removed, last: due.at(-1) ?? after };
};

/** Detaches objects; those of a domain whose encryption key cannot be used are left until it can. */
const detachExpired = async (
  transaction: Transaction,
  keyring: DomainKeyring,
  keys: readonly ObjectExpiryKey[],
): Promise<number> => {
  let removed = 0;
  for (const key of keys) {
    const [, domainId, typeId, objectKey] = key;
    const found = await transaction.get(objectExpiries, key);
    // The object may have got a later expiry since it was found due.
    if (found === undefined) continue;
    try {
      const domain = await findDomainData(transaction, keyring, domainId);
      // The data of a deleted domain is removed by its own job.
      if (domain !== undefined)
        await detachObject(transaction, domain, { profileId: found.profileId, typeId, objectKey });
    } catch (error) {
      if (error instanceof NamedKeyError) continue;
      throw error;
    }
    transaction.delete(objectExpiries, key);
    removed += 1;
  }
  return removed;
};

/** Removes what has expired in one transaction, without what is damaged, which is logged; returns how much it was. */
const removeUndamaged = async <Key>(
  { store, log }: ExpiryOptions,
  keys: readonly Key[],
  remove: (transaction: Transaction, keys: readonly Key[]) => Promise<number>,
): Promise<number> => {
  const removed = await unlessDamaged(
    keys,
    (some) => store.transact((transaction) => remove(transaction, some)),
    (error) => log.error({ err: error }, "what has expired cannot be removed: a record of it is damaged"),
  );
  return removed.reduce((sum, count) => sum + count, 0);
};
