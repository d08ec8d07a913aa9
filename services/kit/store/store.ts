import type { Logger } from "../log/log.ts";
import { keepingTrace } from "../trace/current-trace.ts";
import { TransactionRun, CommittedView } from "./transaction-run.ts";
import type { CommitLimits, CommitStats } from "./commit-queue.ts";
import { CommitQueue } from "./commit-queue.ts";
import { ConflictLog } from "./conflict-log.ts";
import type { Engine } from "./engine.ts";
import type { StoreWriteError } from "./errors.ts";
import { StoreClosedError, StoreOverloadedError } from "./errors.ts";
import { openLevelEngine } from "./level-engine.ts";
import type { RangeOptions } from "./range.ts";
import type { KeyTuple, Table } from "./table.ts";
import { encodeKeyPrefix } from "./table.ts";
import type { Reader, Transaction } from "./transaction.ts";
import { ViewReader } from "./view-reader.ts";
import { TransactionCommit } from "./pending-transaction.ts";

export type { RangeOptions } from "./range.ts";
export type { Entry, Reader, Transaction } from "./transaction.ts";

/** Bounds of a store; what is not set has its default. */
export interface StoreLimits extends CommitLimits {
  /** Transactions that run or wait at the same time; more is refused as overload. */
  readonly transactionsMax: number;
  /** What one transaction may write. */
  readonly transactionBytesMax: number;
  /** Keys of past commits that are remembered to check transactions that still run. */
  readonly conflictKeysMax: number;
  /** Memory for blocks of the database that were read. */
  readonly cacheBytes: number;
}

export const defaultLimits: StoreLimits = {
  attemptsMax: 16,
  waitingBytesMax: 64 * 1024 * 1024,
  groupBytesMax: 8 * 1024 * 1024,
  rerunMsMax: 10,
  transactionsMax: 10_000,
  transactionBytesMax: 64 * 1024 * 1024,
  conflictKeysMax: 100_000,
  cacheBytes: 32 * 1024 * 1024,
};

/** How a store is opened. */
export interface StoreOptions {
  readonly directory: string;
  /** False gives up durability across power loss, for tests that do not need it. Unset: true. */
  readonly sync?: boolean;
  readonly log?: Logger;
  readonly limits?: Partial<StoreLimits>;
  /** Told once, when the disk has refused a write and the store takes no more transactions. */
  readonly onBroken?: OnBroken;
}

/** Told why a store takes no more transactions. */
export type OnBroken = (error: StoreWriteError) => void;

/** What a store has done since it was opened and holds now. */
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
   * Runs the function and commits what it wrote: serializable, atomic, durable when this resolves. The function may be
   * run several times, so it must have no effects but those on its transaction; what it throws ends the transaction.
   * Rejects with StoreContentionError, StoreOverloadedError, StoreTransactionTooLargeError, StoreWriteError,
   * StoreClosedError or the signal's reason; except for StoreWriteError nothing has been written then.
   */
  transact<T>(run: (transaction: Transaction) => Promise<T> | T, options?: TransactOptions): Promise<T>;
  /**
   * Rewrites the files that hold keys of a prefix, so that what was deleted there cannot be recovered from them. Waits
   * for everything that began to read before, so it must not be called from inside a read or a transaction.
   */
  compact<K extends KeyTuple>(table: Table<K>, range: Pick<RangeOptions<NoInfer<K>>, "prefix">): Promise<void>;
  stats(): StoreStats;
  /** Refuses new work, waits for what runs, closes the database. */
  close(): Promise<void>;
}

export interface TransactOptions {
  /** Gives up waiting; a commit that is already being written still happens and is answered. */
  readonly signal?: AbortSignal;
}

/** Opens or creates the store in a directory. */
export const openStore = async (options: StoreOptions): Promise<Store> => {
  const limits = { ...defaultLimits, ...options.limits };
  const engine = await openLevelEngine({
    directory: options.directory,
    sync: options.sync ?? true,
    cacheBytes: limits.cacheBytes,
  });
  return storeOver(engine, limits, options.log, options.onBroken);
};

/** A store over any engine. */
export const storeOver = (engine: Engine, limits: StoreLimits, log?: Logger, onBroken?: OnBroken): Store => {
  const conflicts = new ConflictLog(limits.conflictKeysMax);
  const queue = new CommitQueue(engine, conflicts, limits, (error) => {
    log?.fatal({ err: error }, "the store is broken");
    onBroken?.(error);
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

  const close = async (): Promise<void> => {
    if (transactions + reads > 0) await new Promise<void>((resolve) => (onIdle = resolve));
    await engine.close();
  };

  return {
    async read(run) {
      begin();
      reads += 1;
      const view = new CommittedView(engine);
      try {
        return await run(new ViewReader(view));
      } finally {
        await view.close();
        reads -= 1;
        finish();
      }
    },

    async transact(run, { signal } = {}) {
      begin();
      queue.assertWritable();
      if (transactions >= limits.transactionsMax)
        throw new StoreOverloadedError(`${transactions} transactions run or wait`);
      transactions += 1;
      order += 1;
      const work = new TransactionCommit(
        order,
        signal,
        // A run inside its group is begun by whoever began to write groups.
        keepingTrace(run),
        (ahead) => new TransactionRun(engine, conflicts, limits.transactionBytesMax, ahead),
      );
      try {
        do await work.run();
        while (work.attempt.changes.size > 0 && !(await queue.submit(work)));
        const result = work.result;
        work.attempt.runAfterCommit((error) => log?.error({ err: error }, "a function failed after its commit"));
        return result;
      } finally {
        work.release();
        transactions -= 1;
        finish();
      }
    },

    async compact(table, { prefix = [] }) {
      begin();
      reads += 1;
      try {
        await engine.erase(encodeKeyPrefix(table, prefix), prefix.length === table.parts.length);
      } finally {
        reads -= 1;
        finish();
      }
    },

    stats: () => ({ ...queue.stats, transactions, reads, conflictKeys: conflicts.keyCount }),

    close: () => (closing ??= close()),
  };
};
