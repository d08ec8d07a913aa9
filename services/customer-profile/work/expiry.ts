import type { Clock } from "../../kit/clock/clock.ts";
import { NamedKeyError } from "../../kit/keyring/key-names.ts";
import type { Store } from "../../kit/store/store.ts";
import type { Transaction } from "../../kit/store/transaction.ts";
import type { DomainKeyring } from "../encryption/domain-keys.ts";
import { detachObject } from "../ingestion/detach-object.ts";
import { limits } from "../limits.ts";
import { findDomainData } from "../store/domain.ts";
import { expiries, objectExpiries } from "../store/layout.ts";
import { removeProfile } from "../store/profile.ts";
import type { Compaction } from "./compaction.ts";

/** The dependencies of the expiry. */
export interface ExpiryOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly compaction: Compaction;
  readonly keyring: DomainKeyring;
}

/**
 * Removes all profiles and objects that have expired by now; returns how many. Operations do not see them any more;
 * this frees their space and takes them out of the domain's statistics. Ends early once the signal is aborted.
 */
export const removeExpired = async (
  { store, clock, compaction, keyring }: ExpiryOptions,
  signal?: AbortSignal,
): Promise<number> => {
  const nowMs = clock.now();
  let removed = 0;
  let after: ObjectExpiryKey | undefined;
  for (;;) {
    const profileCount = await removeProfiles(store, nowMs);
    const objects = await store.transact((transaction) => removeObjects(transaction, keyring, nowMs, after));
    removed += profileCount + objects.removed;
    after = objects.last;
    if (profileCount > 0) compaction.request();
    if (Math.max(profileCount, objects.seen) < limits.expiryBatch || signal?.aborted === true) return removed;
  }
};

/** Removes each profile in a transaction of its own, because a profile may have many objects and keys. */
const removeProfiles = async (store: Store, nowMs: number): Promise<number> => {
  const due = await store.read((reader) => reader.list(expiries, { through: [nowMs], limit: limits.expiryBatch }));
  for (const { key } of due)
    await store.transact(async (transaction) => {
      // The profile may have got a later expiry since it was found due.
      if ((await transaction.get(expiries, key)) === undefined) return;
      await removeProfile(transaction, key[1], key[2]);
      transaction.delete(expiries, key);
    });
  return due.length;
};

type ObjectExpiryKey = readonly [dueMs: number, domainId: Uint8Array, typeId: Uint8Array, objectKey: Uint8Array];

/**
 * Removes expired objects, with the fields that came from them, from profiles that have not expired. Objects of a
 * domain whose encryption key cannot be used are skipped until it can.
 */
const removeObjects = async (
  transaction: Transaction,
  keyring: DomainKeyring,
  nowMs: number,
  after: ObjectExpiryKey | undefined,
): Promise<{ readonly seen: number; readonly removed: number; readonly last: ObjectExpiryKey | undefined }> => {
  const due = await transaction.list(objectExpiries, {
    through: [nowMs],
    limit: limits.expiryBatch,
    ...(after && { after }),
  });
  let removed = 0;
  for (const { key, value } of due) {
    const [, domainId, typeId, objectKey] = key;
    try {
      const domain = await findDomainData(transaction, keyring, domainId);
      // The data of a deleted domain is removed by its own job.
      if (domain !== undefined)
        await detachObject(transaction, domain, { profileId: value.profileId, typeId, objectKey });
    } catch (error) {
      if (error instanceof NamedKeyError) continue;
      throw error;
    }
    transaction.delete(objectExpiries, key);
    removed += 1;
  }
  return { seen: due.length, removed, last: due.at(-1)?.key ?? after };
};
