import type { Clock } from "../kit/clock/clock.ts";
import type { Logger } from "../kit/log/log.ts";
import type { Store } from "../kit/store/store.ts";
import type { Limits } from "./limits.ts";
import { listDeadLetterAccounts, sweepDeadLetters } from "./store/dead-letter.ts";
import { listEventAccounts, sweepEvents } from "./store/event.ts";

/** What the sweep works with. */
export interface SweepOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits: Limits;
}

const intervalMs = 60_000;

/** Deletes events and dead letters whose time is over, in small transactions. */
export const sweep = async ({ store, clock, limits }: SweepOptions, signal: AbortSignal): Promise<void> => {
  const nowMs = clock.now();
  for (const account of await store.read(listEventAccounts)) {
    let hasMore = true;
    while (hasMore && !signal.aborted)
      hasMore = await store.transact((transaction) =>
        sweepEvents(transaction, account, Math.max(0, nowMs - limits.eventLogMs)),
      );
  }
  for (const account of await store.read(listDeadLetterAccounts)) {
    let hasMore = true;
    while (hasMore && !signal.aborted)
      hasMore = await store.transact((transaction) =>
        sweepDeadLetters(transaction, account, Math.max(0, nowMs - limits.deadLetterMs)),
      );
  }
};

/** Sweeps now and every minute; gives what ends it. */
export const startSweep = (options: SweepOptions): (() => Promise<void>) => {
  const stopping = new AbortController();
  let cancelTimer: (() => void) | undefined;
  let running: Promise<void>;
  const run = async (): Promise<void> => {
    try {
      await sweep(options, stopping.signal);
    } catch (error) {
      options.log.error({ err: error }, "the log was not swept; trying again in a minute");
    }
    if (!stopping.signal.aborted)
      cancelTimer = options.clock.schedule(options.clock.now() + intervalMs, () => {
        running = run();
      });
  };
  running = run();
  return async () => {
    stopping.abort();
    cancelTimer?.();
    await running;
  };
};
