import type { Message } from "@bufbuild/protobuf";

import type { Clock } from "../clock/clock.ts";
import { systemClock } from "../clock/clock.ts";
import type { Logger } from "../log/log.ts";
import { currentGivenUp, keepingTrace } from "../trace/current-trace.ts";
import { TransactionRun, CommittedView } from "./transaction-run.ts";
import type { CommitLimits, CommitStats } from "./commit-queue.ts";
import { CommitQueue } from "./commit-queue.ts";
import { ConflictLog } from "./conflict-log.ts";
import type { DumpedRecord } from "./dump.ts";
import { dumpRecords } from "./dump.ts";
import type { Engine } from "./engine.ts";
import type { StoreWriteError } from "./errors.ts";
import { StoreClosedError, StoreOverloadedError } from "./errors.ts";
import type { DatabaseLimits } from "./level-engine.ts";
import { openLevelEngine } from "./level-engine.ts";
import { passedRecords } from "./passed-records.ts";
import { watchPauses } from "./pause-watch.ts";
import type { RangeOptions } from "./range.ts";
import { rangeBounds } from "./range.ts";
import type { KeyTuple, Table } from "./table.ts";
import { encodeKey, encodeKeyPrefix } from "./table.ts";
import { absent, SharedRecords } from "./shared-records.ts";
import type { Reader, Transaction } from "./transaction.ts";
import { ViewReader } from "./view-reader.ts";
import { TransactionCommit } from "./pending-transaction.ts";

export type { RangeOptions } from "./range.ts";
export type { Entry, Reader, StoredRecord, Transaction } from "./transaction.ts";

/** Bounds of a store. Unset ones have their defaults. */
export interface StoreLimits extends CommitLimits, DatabaseLimits {
  /** Transactions that run or wait at the same time; more is refused as overload. */
  readonly transactionsMax: number;
  /** What one transaction may write. */
  readonly transactionBytesMax: number;
  /** Keys of past commits that are remembered to check transactions that still run. */
  readonly conflictKeysMax: number;
}

export const defaultLimits: StoreLimits = {
  attemptsMax: 16,
  waitingBytesMax: 64 * 1024 * 1024,
  groupBytesMax: 8 * 1024 * 1024,
  rerunMsMax: 10,
  transactionsMax: 10_000,
  transactionBytesMax: 64 * 1024 * 1024,
  conflictKeysMax: 100_000,
  cacheBytes: 16 * 1024 * 1024,
  tableBytes: 8 * 1024 * 1024,
  openTablesMax: 990,
  tableCheckBytesMax: 4 * 1024 * 1024 * 1024,
};

/** How a store is opened. */
export interface StoreOptions {
  readonly directory: string;
  /** False gives up durability across power loss, for tests that do not need it. Unset: true. */
  readonly sync?: boolean;
  /** Opens a damaged database without the lost commits, and logs them. Unset: throws StoreDamageError. */
  readonly acceptLoss?: boolean;
  /** When groups are written, as their marks say. Unset: the machine's. */
  readonly clock?: Clock;
  readonly log?: Logger;
  readonly limits?: Partial<StoreLimits>;
  /** Called once, when the disk has refused a write and the store accepts no more transactions. */
  readonly onBroken?: (error: StoreWriteError) => void;
  /** Whether the disk has room for a change of this many bytes; without it StoreFullError is thrown. Unset: always. */
  readonly hasRoomFor?: (bytes: number) => boolean;
}

/** Counts of a store since it was opened, and its present sizes. */
export interface StoreStats extends CommitStats {
  /** Transactions that run or wait. */
  readonly transactions: number;
  readonly reads: number;
  /** Keys that are remembered for conflict checks. */
  readonly conflictKeys: number;
}

/** A transactional store over one ordered database. */
export interface Store {
  /** Runs the function on one consistent state that has every answered commit in it. */
  read<T>(run: (reader: Reader) => Promise<T> | T): Promise<T>;
  /**
   * The record as every read that begins now would see it, if it is in memory because `getShared` has read it;
   * otherwise undefined. Costs neither a state to read nor a promise.
   */
  findKept<K extends KeyTuple, V extends Message>(table: Table<K, V>, key: NoInfer<K>): Readonly<V> | undefined;
  /**
   * Runs the function and commits what it wrote: serializable, atomic, durable when this resolves. The function may be
   * run several times, so it must have no effects but those on its transaction; an error that it throws ends it.
   * Rejects with StoreContentionError, StoreOverloadedError, StoreTransactionTooLargeError, StoreFullError,
   * StoreWriteError, StoreClosedError or the signal's reason; except for StoreWriteError nothing has been written then.
   * Inside a call of the server it is refused as the call is when the call was given up before the commit.
   */
  transact<T>(run: (transaction: Transaction) => Promise<T> | T, options?: TransactOptions): Promise<T>;
  /**
   * Rewrites the files that hold keys of a prefix, so that deleted records cannot be recovered from them. Waits for
   * all reads that began before, so it must not be called from inside a read or a transaction.
   */
  compact<K extends KeyTuple>(table: Table<K>, range: Pick<RangeOptions<NoInfer<K>>, "prefix">): Promise<void>;
  /**
   * Gives back the disk space of a range in which most records were deleted, once it is much. LevelDB by itself keeps
   * what was deleted in the order of keys for long, because it merges where records are added. Reads and writes go on.
   */
  reclaim<K extends KeyTuple>(table: Table<K>, range: RangeOptions<NoInfer<K>>): Promise<void>;
  /**
   * Has the database write to a table what it gathered in memory, where that is much: it then needs no memory, and a
   * start after a crash does not read it from the log. Reads and writes go on.
   */
  flush(): Promise<void>;
  /**
   * Reads all keys of a table in steps, so that absent ones are known without looking for them when it resolves.
   * Rejects if a record of the table is damaged; absent keys are looked for then, as before.
   */
  knowKeys(table: Table): Promise<void>;
  /** Every record as it was when the dump began, in the order of their keys; of a damaged one only its key. */
  dump(): AsyncGenerator<readonly DumpedRecord[], void>;
  stats(): StoreStats;
  /** Refuses new reads and transactions, waits for those that run, closes the database. */
  close(): Promise<void>;
}

export interface TransactOptions {
  /** Gives up waiting; a commit that is already being written still happens and is answered. */
  readonly signal?: AbortSignal;
}

/** Opens or creates the store in a directory. Throws StoreDamageError, and LevelDB's error if it is open elsewhere. */
export const openStore = async (options: StoreOptions): Promise<Store> => {
  const limits = { ...defaultLimits, ...options.limits };
  const engine = await openLevelEngine({
    directory: options.directory,
    sync: options.sync ?? true,
    limits,
    acceptLoss: options.acceptLoss ?? false,
    clock: options.clock ?? systemClock,
    log: options.log,
  });
  return storeOver(engine, limits, options);
};

/** A store over any engine. */
export const storeOver = (
  engine: Engine,
  limits: StoreLimits,
  { log, onBroken, hasRoomFor = () => true }: Pick<StoreOptions, "log" | "onBroken" | "hasRoomFor"> = {},
): Store => {
  const conflicts = new ConflictLog(limits.conflictKeysMax);
  const shared = new SharedRecords();
  const onPassed = passedRecords(log);
  const runParts = { engine, shared, conflicts, bytesMax: limits.transactionBytesMax, onPassed };
  const pauses = watchPauses();
  const queue = new CommitQueue(engine, shared, conflicts, limits, {
    hasRoomFor,
    pauses,
    onBroken: (error) => {
      log?.fatal({ err: error }, "the store is broken");
      onBroken?.(error);
    },
    onDamagedSum: (error) => log?.error({ err: error }, "nothing is added to a damaged record"),
  });
  let order = 0;
  let transactions = 0;
  let reads = 0;
  let closing: Promise<void> | undefined;
  let onIdle: (() => void) | undefined;

  const begin = (): void => {
    if (closing !== undefined) throw new StoreClosedError("the store is closed");
  };
  const finish = (): void => {
    if (transactions + reads === 0) onIdle?.();
  };

  /** Rewrites files; the store is closed after that. */
  const merging = async (merge: () => Promise<void> | undefined): Promise<void> => {
    begin();
    reads += 1;
    try {
      await merge();
    } finally {
      reads -= 1;
      finish();
    }
  };

  const close = async (): Promise<void> => {
    if (transactions + reads > 0) await new Promise<void>((resolve) => (onIdle = resolve));
    pauses.stop();
    await engine.close();
  };

  return {
    async read(run) {
      begin();
      reads += 1;
      const view = new CommittedView(engine, shared);
      try {
        return await run(new ViewReader(view, onPassed));
      } finally {
        const ended = view.close();
        if (ended !== undefined) await ended;
        reads -= 1;
        finish();
      }
    },

    findKept(table, key) {
      begin();
      const kept = shared.find(encodeKey(table, key), shared.epoch);
      return (kept === absent ? undefined : kept) as never;
    },

    async transact(run, { signal } = {}) {
      begin();
      queue.assertWritable();
      if (transactions >= limits.transactionsMax)
        throw new StoreOverloadedError(`${transactions} transactions run or wait`);
      transactions += 1;
      order += 1;
      const commit = new TransactionCommit(
        order,
        { signal, givenUp: currentGivenUp() },
        // A run inside a group is started in the context of the caller who started the group commit.
        keepingTrace(run),
        (ahead) => new TransactionRun(runParts, ahead),
      );
      try {
        do await commit.run();
        while (commit.attempt.isChanging && !(await queue.submit(commit)));
        const result = commit.result;
        commit.attempt.runAfterCommit((error) => log?.error({ err: error }, "a function failed after its commit"));
        return result;
      } finally {
        commit.release();
        transactions -= 1;
        finish();
      }
    },

    compact: (table, { prefix = [] }) =>
      merging(() => engine.erase(encodeKeyPrefix(table, prefix), prefix.length === table.parts.length)),

    reclaim: (table, range) => merging(() => engine.reclaim?.(rangeBounds(table, range))),

    flush: () => merging(() => engine.flush?.()),

    async knowKeys(table) {
      begin();
      await engine.knowKeys?.(encodeKeyPrefix(table, []));
    },

    async *dump() {
      begin();
      reads += 1;
      const snapshot = engine.snapshot();
      try {
        yield* dumpRecords(snapshot);
      } finally {
        await snapshot.close();
        reads -= 1;
        finish();
      }
    },

    stats: () => ({ ...queue.stats, transactions, reads, conflictKeys: conflicts.keyCount }),

    close: () => (closing ??= close()),
  };
};
