import { AddedUp, encodeSum } from "./additions.ts";
import type { ByteString } from "./byte-string.ts";
import type { ConflictLog } from "./conflict-log.ts";
import type { Engine } from "./engine.ts";
import {
  StoreContentionError,
  StoreCorruptionError,
  StoreFullError,
  StoreOverloadedError,
  StoreWriteError,
} from "./errors.ts";
import type { PauseWatch } from "./pause-watch.ts";
import { untilConnectionsAreRead } from "./pause-watch.ts";
import type { PendingTransaction } from "./pending-transaction.ts";
import type { SharedRecords } from "./shared-records.ts";
import { WriteSet } from "./write-set.ts";

/** The bounds of the group commit. */
export interface CommitLimits {
  /** How often one transaction is run before it is refused for contention. */
  readonly attemptsMax: number;
  /** Changes that may wait for their group; more is refused as overload. */
  readonly waitingBytesMax: number;
  /** A group is closed when its changes reach this. */
  readonly groupBytesMax: number;
  /** How long losers may run again inside their group, which waits for them. */
  readonly rerunMsMax: number;
}

/** The functions that a group commit calls. */
export interface CommitHooks {
  /** Whether the disk has room for a group of this many bytes. */
  readonly hasRoomFor: (bytes: number) => boolean;
  /** Called once, when the disk has refused a write. */
  readonly onBroken: (error: StoreWriteError) => void;
  /** Called once for each damaged record to which something was to be added. */
  readonly onDamagedSum: (error: StoreCorruptionError) => void;
  /** Whether this process was stopped a moment ago. */
  readonly pauses: Pick<PauseWatch, "isJustOver">;
}

/** How many times longer a transaction may run inside its group when it would be refused otherwise. */
const lastChanceFactor = 20;

/** Counts of the group commit since the store was opened. */
export interface CommitStats {
  readonly groups: number;
  readonly commits: number;
  /** Bytes of keys and values in the groups. */
  readonly writtenBytes: number;
  readonly conflicts: number;
  readonly reruns: number;
  readonly waiting: number;
  readonly waitingBytes: number;
}

/**
 * The one place where anything is committed. While a group is being written the next one gathers. A group is: all
 * waiting transactions whose reads still hold, oldest first; then the others, run again one by one on top of those,
 * so that even callers who all change the same record share one disk write. No caller is answered, with a result or
 * with a refusal that rests on the group's changes, before the group is durable.
 */
export class CommitQueue {
  readonly #engine: Engine;
  readonly #shared: SharedRecords;
  readonly #log: ConflictLog;
  readonly #limits: CommitLimits;
  readonly #hooks: CommitHooks;
  #waiting: PendingTransaction[] = [];
  #waitingBytes = 0;
  readonly #damagedSums = new Set<ByteString>();
  #isRunning = false;
  #broken: StoreWriteError | undefined;
  #groups = 0;
  #commits = 0;
  #writtenBytes = 0;
  #conflicts = 0;
  #reruns = 0;

  constructor(engine: Engine, shared: SharedRecords, log: ConflictLog, limits: CommitLimits, hooks: CommitHooks) {
    this.#engine = engine;
    this.#shared = shared;
    this.#log = log;
    this.#limits = limits;
    this.#hooks = hooks;
  }

  get stats(): CommitStats {
    return {
      groups: this.#groups,
      commits: this.#commits,
      writtenBytes: this.#writtenBytes,
      conflicts: this.#conflicts,
      reruns: this.#reruns,
      waiting: this.#waiting.length,
      waitingBytes: this.#waitingBytes,
    };
  }

  /** Throws StoreWriteError once the disk has refused a write. */
  assertWritable(): void {
    if (this.#broken !== undefined) throw this.#broken;
  }

  /** Resolves to true when the transaction is durable, to false if it must run again; rejects if it failed. */
  submit(transaction: PendingTransaction): Promise<boolean> {
    this.assertWritable();
    if (this.#waitingBytes + transaction.bytes > this.#limits.waitingBytesMax && this.#waiting.length > 0)
      throw new StoreOverloadedError(`${this.#waitingBytes} bytes wait to be committed`);
    this.#waitingBytes += transaction.bytes;
    this.#waiting.push(transaction);
    const outcome = transaction.expectOutcome();
    if (!this.#isRunning) {
      this.#isRunning = true;
      void this.#run();
    }
    return outcome;
  }

  async #run(): Promise<void> {
    for (;;) {
      // One turn of the event loop, so that callers who were just answered can join with their next transaction.
      await new Promise(setImmediate);
      if (this.#hooks.pauses.isJustOver) await untilConnectionsAreRead();
      if (this.#waiting.length === 0) break;
      const transactions = this.#take();
      try {
        await this.#commitGroup(transactions);
      } catch (error) {
        // No caller may wait for ever, whatever failed; failing one that was answered has no effect.
        this.#break(error);
        for (const transaction of transactions) transaction.fail(this.#broken);
      }
    }
    this.#isRunning = false;
  }

  #take(): PendingTransaction[] {
    this.#waiting.sort((left, right) => left.order - right.order);
    let bytes = 0;
    let count = 0;
    while (count < this.#waiting.length && bytes < this.#limits.groupBytesMax)
      bytes += (this.#waiting[count++] as PendingTransaction).bytes;
    this.#waitingBytes -= bytes;
    return this.#waiting.splice(0, count);
  }

  async #commitGroup(transactions: readonly PendingTransaction[]): Promise<void> {
    const changes = new WriteSet();
    const members: PendingTransaction[] = [];
    const losers: PendingTransaction[] = [];
    for (const transaction of transactions) {
      const { givenUp } = transaction;
      if (this.#broken !== undefined) transaction.fail(this.#broken);
      else if (givenUp !== undefined) transaction.fail(givenUp.reason);
      else if (this.#isStale(transaction) || transaction.attempt.reads.isTouchedBy(changes)) losers.push(transaction);
      else {
        changes.setAll(transaction.attempt.changes);
        members.push(transaction);
      }
    }
    members.push(...(await this.#rerun(losers, changes)));
    await this.#addUp(members, changes);
    if (changes.size > 0 && !this.#hooks.hasRoomFor(changes.bytes)) {
      for (const transaction of members)
        transaction.fail(new StoreFullError("the disk has too little room for this change"));
      return;
    }
    if (changes.size > 0 && !(await this.#write(changes))) {
      for (const transaction of members) transaction.fail(this.#broken);
      return;
    }
    this.#commits += members.length;
    for (const transaction of members) transaction.succeed();
  }

  /**
   * Adds what the members add to records, on top of what is committed and of what the group writes itself. Nothing is
   * added to a damaged record: it stays as it is, so that nobody reads a wrong sum, and holds up no change.
   */
  async #addUp(members: readonly PendingTransaction[], changes: WriteSet): Promise<void> {
    const addedUp = new AddedUp();
    for (const { attempt } of members) addedUp.append(attempt.changes, attempt.additions);
    if (addedUp.sums.size === 0) return;
    const committed = this.#engine.snapshot();
    try {
      for (const [key, addition] of addedUp.sums)
        try {
          changes.set(key, encodeSum(key, addition, changes.has(key) ? changes.get(key) : committed.get(key)));
        } catch (error) {
          if (!(error instanceof StoreCorruptionError)) throw error;
          if (!this.#damagedSums.has(key)) this.#hooks.onDamagedSum(error);
          this.#damagedSums.add(key);
        }
    } finally {
      await committed.close();
    }
  }

  #isStale(transaction: PendingTransaction): boolean {
    const version = transaction.attempt.version;
    return version !== undefined && this.#log.hasConflict(version, transaction.attempt.reads);
  }

  /** Runs losers again on top of the group's changes and adds theirs; returns those that joined the group. */
  async #rerun(losers: readonly PendingTransaction[], changes: WriteSet): Promise<PendingTransaction[]> {
    const joined: PendingTransaction[] = [];
    const { attemptsMax, rerunMsMax } = this.#limits;
    const endMs = performance.now() + rerunMsMax;
    for (const transaction of losers) {
      this.#conflicts += 1;
      // Before it is refused, a slow transaction gets more time once, in which nobody can overtake it.
      const isLastChance = transaction.attempts === attemptsMax - 1;
      const leftMs = isLastChance ? lastChanceFactor * rerunMsMax : endMs - performance.now();
      if (transaction.attempts >= attemptsMax) transaction.fail(new StoreContentionError(transaction.attempts));
      else if (
        (transaction.isSlow && !isLastChance) ||
        transaction.lastRunMs >= leftMs ||
        changes.bytes >= this.#limits.groupBytesMax
      )
        transaction.lose();
      else {
        this.#reruns += 1;
        if (await transaction.runWithin(changes, leftMs)) {
          changes.setAll(transaction.attempt.changes);
          joined.push(transaction);
        } else transaction.lose();
      }
    }
    return joined;
  }

  async #write(changes: WriteSet): Promise<boolean> {
    this.#shared.beginWrite(changes.writes);
    try {
      await this.#engine.write(changes.writes);
    } catch (error) {
      // After a failed write the end of the log is unknown, and recovery might not find what is written after it.
      this.#break(error);
      return false;
    } finally {
      this.#shared.endWrite();
    }
    this.#groups += 1;
    this.#writtenBytes += changes.bytes;
    this.#log.append(changes);
    return true;
  }

  #break(error: unknown): void {
    if (this.#broken !== undefined) return;
    this.#broken = new StoreWriteError(error);
    this.#hooks.onBroken(this.#broken);
  }
}
