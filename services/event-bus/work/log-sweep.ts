import type { Clock } from "../../kit/clock/clock.ts";
import type { Logger } from "../../kit/log/log.ts";
import type { Store, Transaction } from "../../kit/store/store.ts";
import { retentionStart } from "../domain/archive.ts";
import type { Limits } from "../limits.ts";
import { addUpArchive, findArchive, letEntriesGo, listAllArchives, putArchive } from "../store/archive.ts";
import { listDeadLetterAccounts, sweepDeadLetters } from "../store/dead-letter.ts";
import type { EventPlace } from "../store/event.ts";
import { listEventAccounts, sweepEvents } from "../store/event.ts";

/** What the sweep works with. */
export interface SweepOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits: Limits;
}

const intervalMs = 60_000;

/** Entries of an archive that one step lets go. */
const expiryStep = 500;

/** Deletes events, archive entries and dead letters whose time is over, in small transactions. */
export const sweep = async ({ store, clock, limits }: SweepOptions, signal: AbortSignal): Promise<void> => {
  const nowMs = clock.now();
  for (const account of await store.read(listEventAccounts)) {
    const keptSinceMs = Math.max(0, nowMs - limits.eventLogMs);
    let reached: EventPlace | undefined;
    do {
      const after = reached;
      reached = await store.transact((transaction) => sweepEvents(transaction, account, keptSinceMs, after));
    } while (reached !== undefined && !signal.aborted);
  }
  for (const { account, name } of await store.read(listAllArchives)) {
    let hasMore = true;
    while (hasMore && !signal.aborted)
      hasMore = await store.transact(async (transaction) => {
        const isCounted = !(await addUpArchive(transaction, account, name));
        const isKept = !(await expireArchive(transaction, account, name, nowMs, limits));
        return !(isCounted && isKept);
      });
  }
  for (const account of await store.read(listDeadLetterAccounts)) {
    let hasMore = true;
    while (hasMore && !signal.aborted)
      hasMore = await store.transact((transaction) =>
        sweepDeadLetters(transaction, account, Math.max(0, nowMs - limits.deadLetterMs)),
      );
  }
};

/** Lets entries go whose retention is over; says whether there may be more. */
const expireArchive = async (
  transaction: Transaction,
  account: string,
  name: string,
  nowMs: number,
  limits: Limits,
): Promise<boolean> => {
  const archive = await findArchive(transaction, account, name);
  const beforeMs = archive && retentionStart(archive.retentionDays, nowMs);
  if (archive === undefined || beforeMs === undefined) return false;
  const gone = await letEntriesGo(transaction, account, archive.id, {
    beforeMs,
    keptSinceMs: nowMs - limits.eventLogMs,
    limit: expiryStep,
  });
  if (gone.eventCount > 0n)
    putArchive(transaction, account, {
      ...archive,
      eventCount: archive.eventCount - gone.eventCount,
      sizeBytes: archive.sizeBytes - gone.sizeBytes,
    });
  return gone.hasMore;
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
