import type { Clock } from "../../kit/clock/clock.ts";
import { NamedKeyError } from "../../kit/keyring/key-names.ts";
import type { Logger } from "../../kit/log/log.ts";
import type { Store } from "../../kit/store/store.ts";
import type { Transaction } from "../../kit/store/transaction.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import { idText } from "../domain/identifier.ts";
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
  /** What is removed of a domain before the others have their turn. Unset: 5,000, and twice as much each time. */
  readonly turn?: number;
}

/**
 * Removes all profiles and objects that have expired by now; returns how many. Operations do not see them any more;
 * this frees their space and takes them out of the statistics. What cannot be removed because a record of it is
 * damaged is logged and left, and the others are removed. Domains take turns: of one of which much has expired, the
 * rest is removed when the others have had theirs, also what has expired meanwhile. As what is left is passed over
 * again each time, turns get longer. Ends early once the signal is aborted.
 */
export const removeExpired = async (options: ExpiryOptions, signal?: AbortSignal): Promise<number> => {
  let removed = 0;
  // Also for expired profiles that objects have removed, to be attached to another one.
  options.compaction.request();
  for (let turn = options.turn ?? limits.expiryTurnMin; ; turn = Math.min(2 * turn, limits.expiryTurnMax)) {
    const turns = new DomainTurns(turn);
    removed += await removeInTurns(options, turns, signal);
    if (!turns.isAnyLeft || signal?.aborted === true) return removed;
  }
};

/** The turns of domains, in which each has so much of it removed. */
class DomainTurns {
  readonly #turn: number;
  readonly #taken = new Map<string, number>();
  /** Something was left because the turn of its domain is over. */
  isAnyLeft = false;

  constructor(turn: number) {
    this.#turn = turn;
  }

  /** Whether the turn of a domain goes on. */
  goesOn(domainId: Uint8Array): boolean {
    const isOver = (this.#taken.get(idText(domainId)) ?? 0) >= this.#turn;
    if (isOver) this.isAnyLeft = true;
    return !isOver;
  }

  /** What could not be removed does not count, so that it keeps nothing after it from being removed. */
  count(removed: readonly (ProfileExpiryKey | ObjectExpiryKey)[]): number {
    for (const [, domainId] of removed) this.#taken.set(idText(domainId), (this.#taken.get(idText(domainId)) ?? 0) + 1);
    return removed.length;
  }
}

/** Removes what has expired by now, as far as the turns of its domains go. */
const removeInTurns = async (options: ExpiryOptions, turns: DomainTurns, signal?: AbortSignal): Promise<number> => {
  const nowMs = options.clock.now();
  let removed = 0;
  let afterProfile: ProfileExpiryKey | undefined;
  let afterObject: ObjectExpiryKey | undefined;
  for (;;) {
    const profiles = await removeProfiles(options, turns, nowMs, afterProfile);
    const objects = await removeObjects(options, turns, nowMs, afterObject);
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
  turns: DomainTurns,
  nowMs: number,
  after: ProfileExpiryKey | undefined,
): Promise<Removal<ProfileExpiryKey>> => {
  const due = await options.store.read((reader) =>
    Array.fromAsync(walkTable(reader, expiries, dueRange(nowMs, after))),
  );
  let removed = 0;
  for (const { key } of due)
    if (turns.goesOn(key[1]))
      removed += turns.count(await removeUndamaged(options, [key], (each) => removeOne(each, key)));
  return { seen: due.length, removed, last: due.at(-1)?.key ?? after };
};

const removeOne = async (transaction: Transaction, key: ProfileExpiryKey): Promise<ProfileExpiryKey[]> => {
  // The profile may have got a later expiry since it was found due.
  if ((await transaction.get(expiries, key)) === undefined) return [];
  await removeProfile(transaction, key[1], key[2]);
  transaction.delete(expiries, key);
  return [key];
};

/**
 * Removes expired objects, with the fields that came from them, from profiles that have not expired: together, or, if
 * one of them is damaged, each by itself.
 */
const removeObjects = async (
  options: ExpiryOptions,
  turns: DomainTurns,
  nowMs: number,
  after: ObjectExpiryKey | undefined,
): Promise<Removal<ObjectExpiryKey>> => {
  const { store, keyring } = options;
  const found = await store.read((reader) =>
    Array.fromAsync(walkTable(reader, objectExpiries, dueRange(nowMs, after))),
  );
  const due = found.map(({ key }) => key).filter((key) => turns.goesOn(key[1]));
  const removed = await removeUndamaged(options, due, (transaction, keys) => detachExpired(transaction, keyring, keys));
  return { seen: found.length, removed: turns.count(removed), last: found.at(-1)?.key ?? after };
};

/** Detaches objects; those of a domain whose encryption key cannot be used are left until it can. */
const detachExpired = async (
  transaction: Transaction,
  keyring: DomainKeyring,
  keys: readonly ObjectExpiryKey[],
): Promise<ObjectExpiryKey[]> => {
  const removed: ObjectExpiryKey[] = [];
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
    removed.push(key);
  }
  return removed;
};

/** Removes what has expired in one transaction, without what is damaged, which is logged; returns what it was. */
const removeUndamaged = async <Key>(
  { store, log }: ExpiryOptions,
  keys: readonly Key[],
  remove: (transaction: Transaction, keys: readonly Key[]) => Promise<Key[]>,
): Promise<Key[]> => {
  const removed = await unlessDamaged(
    keys,
    (some) => store.transact((transaction) => remove(transaction, some)),
    (error) => log.error({ err: error }, "what has expired cannot be removed: a record of it is damaged"),
  );
  return removed.flat();
};
