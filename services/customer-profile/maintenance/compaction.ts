import type { Clock } from "../../kit/clock/clock.ts";
import type { Logger } from "../../kit/log/log.ts";
import type { Store } from "../../kit/store/store.ts";
import type { Transaction } from "../../kit/store/transaction.ts";
import { limits } from "../limits.ts";
import { domainKeys, profileKeys } from "../store/layout.ts";

/**
 * Takes deleted keys out of the database's files. A deleted record stays in the files until they are compacted; for a
 * data key that means that the erased profile could still be decrypted from them. Only the two small key ranges are
 * compacted, once for all erasures of a while.
 */
export interface Compaction {
  /** Asks for a compaction soon. */
  request(): void;
  /** Compacts now and answers when it is done. */
  run(): Promise<void>;
  /** Compacts what was asked for, and ends. */
  stop(): Promise<void>;
}

/** The compaction of a store's key ranges. */
export const createCompaction = (store: Store, clock: Clock, log: Logger): Compaction => {
  let cancel: (() => void) | undefined;
  let running: Promise<void> = Promise.resolve();
  const run = (): Promise<void> => {
    cancel?.();
    cancel = undefined;
    running = compactBehind(running, store);
    return running;
  };
  const runLogged = (): Promise<void> =>
    run().catch((error: unknown) => {
      running = Promise.resolve();
      log.error({ err: error }, "erased keys could not be compacted away");
    });
  return {
    request: () => {
      cancel ??= clock.schedule(clock.now() + limits.compactionDelayMs, () => void runLogged());
    },
    run,
    stop: async () => {
      if (cancel !== undefined) await runLogged();
      await running;
    },
  };
};

const compactBehind = async (earlier: Promise<void>, store: Store): Promise<void> => {
  await earlier;
  await store.compact(profileKeys, {});
  await store.compact(domainKeys, {});
  await store.transact(fence);
  await store.compact(profileKeys, {});
  await store.compact(domainKeys, {});
};

const beforeAllIds = new Uint8Array();
const afterAllIds = new Uint8Array(17).fill(0xff);

/**
 * Deletes records that never were, at both ends of each range. A record and its deletion that were written soon after
 * each other reach the files together, and the database does not take up a file again that nothing newer overlaps; the
 * fences are what is newer.
 */
const fence = (transaction: Transaction): void => {
  for (const end of [beforeAllIds, afterAllIds]) {
    transaction.delete(profileKeys, [end, end]);
    transaction.delete(domainKeys, [end]);
  }
};
