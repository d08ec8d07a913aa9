import type { Clock } from "../../kit/clock/clock.ts";
import type { Logger } from "../../kit/log/log.ts";
import type { Store } from "../../kit/store/store.ts";
import type { Transaction } from "../../kit/store/transaction.ts";
import { limits } from "../limits.ts";
import { expiries } from "../store/layout.ts";
import { removeProfile } from "../store/profile.ts";
import type { Compaction } from "./compaction.ts";

/** What the expiry works with. */
export interface ExpiryOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly compaction: Compaction;
}

/**
 * Removes expired profiles from time to time. Operations do not see an expired profile any more; this frees its space
 * and takes it out of the domain's statistics. Returns what ends it, after the removal that runs.
 */
export const startExpiry = (options: ExpiryOptions): (() => Promise<void>) => {
  const { clock, log } = options;
  const ending = new AbortController();
  let running: Promise<void> = Promise.resolve();
  let cancel: (() => void) | undefined;
  const lookOnce = async (): Promise<void> => {
    try {
      await removeExpired(options, ending.signal);
    } catch (error) {
      log.error({ err: error }, "expired profiles could not be removed");
    }
    if (!ending.signal.aborted) cancel = clock.schedule(clock.now() + limits.expiryIntervalMs, look);
  };
  const look = (): void => {
    running = lookOnce();
  };
  look();
  return async () => {
    ending.abort();
    cancel?.();
    await running;
  };
};

/** Removes all profiles that have expired by now; returns how many. */
export const removeExpired = async (options: ExpiryOptions, signal?: AbortSignal): Promise<number> => {
  const { store, clock, compaction } = options;
  const nowMs = clock.now();
  let removed = 0;
  for (;;) {
    const batch = await store.transact((transaction) => removeSome(transaction, nowMs));
    removed += batch;
    if (batch > 0) compaction.request();
    if (batch < limits.expiryBatchProfiles || signal?.aborted === true) return removed;
  }
};

const removeSome = async (transaction: Transaction, nowMs: number): Promise<number> => {
  const due = await transaction.list(expiries, { through: [nowMs], limit: limits.expiryBatchProfiles });
  for (const { key } of due) {
    await removeProfile(transaction, key[1], key[2]);
    transaction.delete(expiries, key);
  }
  return due.length;
};
