import type { PeriodicTask } from "../../kit/periodic/periodic.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { Application } from "../application.ts";
import { EventSourceState } from "../../../gen/quartet/eventbus/v1/event_source_pb.ts";
import { stateOf } from "../domain/event-source.ts";
import { retentionStart } from "../domain/archive.ts";
import type { Limits } from "../limits.ts";
import { listAccounts } from "../store/accounts.ts";
import { addUpCounts, deleteEntries, findArchive, listAllArchives, putArchive } from "../store/archive.ts";
import { deleteOldDeadLetters } from "../store/dead-letter.ts";
import { deleteEmptyGroups } from "../store/dead-letter-group.ts";
import { deleteOldRedrives } from "../store/dead-letter-redrive.ts";
import { deleteExpired, expiredPeriodsAt } from "../store/deduplication.ts";
import type { EventKey } from "../store/event.ts";
import { sweepLogStep } from "../store/event.ts";
import { deleteEventSource, findEventSource, listExpiredSources } from "../store/event-source.ts";
import { deadLetterGroups, deadLetterRedrives, deadLetters, events } from "../store/layout.ts";

type Sweeping = Pick<Application, "store" | "clock" | "limits">;

/** Entries of an archive that one step deletes. */
const expiryStep = 500;

/** Does work on one item after the other; one that fails holds up no other. Throws the first failure at the end. */
const eachAlone = async <Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> => {
  const failures: unknown[] = [];
  for (const item of items) await work(item).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
};

/** Deletes the events of the log that nothing holds after their time, in small transactions. */
export const sweepLog = async ({ store, clock, limits }: Sweeping, signal: AbortSignal): Promise<void> => {
  const keptSinceMs = Math.max(0, clock.now() - limits.eventLogMs);
  await eachAlone(await store.read((reader) => listAccounts(reader, events)), async (account) => {
    let reached: EventKey | undefined;
    do {
      const after = reached;
      reached = await store.transact((transaction) => sweepLogStep(transaction, account, keptSinceMs, after));
    } while (reached !== undefined && !signal.aborted);
    if (!signal.aborted) await store.reclaim(events, { prefix: [account], to: [account, keptSinceMs] });
  });
};

/** Updates the sizes of archives and deletes their entries after their retention, in small transactions. */
export const sweepArchives = async ({ store, clock, limits }: Sweeping, signal: AbortSignal): Promise<void> => {
  const nowMs = clock.now();
  await eachAlone(await store.read(listAllArchives), async ({ account, name }) => {
    let hasMore = true;
    while (hasMore && !signal.aborted)
      hasMore = await store.transact(async (transaction) => {
        const hasMoreCounts = await addUpCounts(transaction, account, name);
        const hasMoreExpired = await expireArchive(transaction, account, name, nowMs, limits);
        return hasMoreCounts || hasMoreExpired;
      });
  });
};

/** Deletes dead letters after their time, in small transactions. */
export const sweepDeadLetters = async ({ store, clock, limits }: Sweeping, signal: AbortSignal): Promise<void> => {
  const keptSinceMs = Math.max(0, clock.now() - limits.deadLetterMs);
  await eachAlone(await store.read((reader) => listAccounts(reader, deadLetters)), async (account) => {
    let hasMore = true;
    while (hasMore && !signal.aborted)
      hasMore = await store.transact((transaction) => deleteOldDeadLetters(transaction, account, keptSinceMs));
  });
};

/** Deletes groups without dead letters, and redrives after their time, in small transactions. */
export const sweepDeadLetterGroups = async ({ store, clock, limits }: Sweeping, signal: AbortSignal): Promise<void> => {
  const keptSinceMs = Math.max(0, clock.now() - limits.deadLetterMs);
  await eachAlone(await store.read((reader) => listAccounts(reader, deadLetterGroups)), async (account) => {
    let reached: string | undefined;
    do {
      const after = reached;
      reached = await store.transact((transaction) => deleteEmptyGroups(transaction, account, after));
    } while (reached !== undefined && !signal.aborted);
  });
  await eachAlone(await store.read((reader) => listAccounts(reader, deadLetterRedrives)), async (account) => {
    let hasMore = true;
    while (hasMore && !signal.aborted)
      hasMore = await store.transact((transaction) => deleteOldRedrives(transaction, account, keptSinceMs, expiryStep));
  });
};

/**
 * Deletes deduplication ids after their time, in small transactions. Each round begins where the one before ended, past
 * what it has deleted.
 */
export const deduplicationSweep = ({ store, clock }: Sweeping): PeriodicTask => {
  let from = 0;
  return async (signal) => {
    const expired = expiredPeriodsAt(clock.now());
    let hasMore = true;
    while (hasMore && !signal.aborted)
      hasMore = await store.transact((transaction) => deleteExpired(transaction, expired, from));
    if (!signal.aborted) from = expired.before;
  };
};

/** Deletes partner event sources that were pending for too long, in small transactions. */
export const sweepEventSources = async ({ store, clock }: Sweeping, signal: AbortSignal): Promise<void> => {
  let count: number;
  do
    count = await store.transact(async (transaction) => {
      const expired = await listExpiredSources(transaction.snapshot, clock.now(), expiryStep);
      for (const { account, name } of expired) {
        const source = await findEventSource(transaction, account, name);
        if (source !== undefined && stateOf(source, clock.now()) === EventSourceState.DELETED)
          await deleteEventSource(transaction, source);
      }
      return expired.length;
    });
  while (count === expiryStep && !signal.aborted);
};

/** Deletes entries whose retention is over. Returns whether there may be more. */
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
  const deleted = await deleteEntries(transaction, account, archive.id, {
    beforeMs,
    keptSinceMs: nowMs - limits.eventLogMs,
    limit: expiryStep,
  });
  if (deleted.eventCount > 0n)
    putArchive(transaction, account, {
      ...archive,
      eventCount: archive.eventCount - deleted.eventCount,
      sizeBytes: archive.sizeBytes - deleted.sizeBytes,
    });
  return deleted.hasMore;
};
