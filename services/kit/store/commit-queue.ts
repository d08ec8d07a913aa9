import type { ConflictLog } from "./conflict-log.ts";
import type { Engine } from "./engine.ts";
import { StoreContentionError, StoreOverloadedError, StoreWriteError } from "./errors.ts";
import type { PendingTransaction } from "./pending-transaction.ts";
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

/** How many times longer a transaction may run inside its group when it would be refused otherwise. */
const lastChanceFactor = 20;

/** What the group commit has done so far. */
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
 * so that even callers who all change the same record share one disk write. Nobody is answered, neither with a
 * result nor with a refusal that rests on the group's changes, before the group is durable.
 */
export class CommitQueue {
  readonly #engine: Engine;
  readonly #log: ConflictLog;
  readonly #limits: CommitLimits;
  readonly #onBroken: (error: StoreWriteError) => void;
  #waiting: PendingTransaction[] = [];
  #waitingBytes = 0;
  #isRunning = false;
  #broken: StoreWriteError | undefined;
  #groups = 0;
  #commits = 0;
  #writtenBytes = 0;
  #conflicts = 0;
  #reruns = 0;

  constructor(engine: Engine, log: ConflictLog, limits: CommitLimits, onBroken: (error: StoreWriteError) => void) {
    this.#engine = engine;
    this.#log = log;
    this.#limits = limits;
    this.#onBroken = onBroken;
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

  /** Resolves to true when the work is durable, to false when it must be run again; rejects when it will not be. */
  submit(work: PendingTransaction): Promise<boolean> {
    this.assertWritable();
    if (this.#waitingBytes + work.bytes > this.#limits.waitingBytesMax && this.#waiting.length > 0)
      throw new StoreOverloadedError(`${this.#waitingBytes} bytes wait to be committed`);
    this.#waitingBytes += work.bytes;
    this.#waiting.push(work);
    const outcome = work.expectOutcome();
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
      if (this.#waiting.length === 0) break;
      const works = this.#take();
      try {
        await this.#commitGroup(works);
      } catch (error) {
        // Nobody may wait for ever, whatever went wrong; who was answered already does not notice.
        this.#break(error);
        for (const work of works) work.fail(this.#broken);
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

  async #commitGroup(works: readonly PendingTransaction[]): Promise<void> {
    const changes = new WriteSet();
    const members: PendingTransaction[] = [];
    const losers: PendingTransaction[] = [];
    for (const work of works) {
      if (this.#broken !== undefined) work.fail(this.#broken);
      else if (work.signal?.aborted) work.fail(work.signal.reason);
      else if (this.#isStale(work) || work.attempt.reads.isTouchedBy(changes)) losers.push(work);
      else {
        changes.setAll(work.attempt.changes);
        members.push(work);
      }
    }
    members.push(...(await this.#rerun(losers, changes)));
    if (changes.size > 0 && !(await this.#write(changes))) {
      for (const work of members) work.fail(this.#broken);
      return;
    }
    this.#commits += members.length;
    for (const work of members) work.succeed();
  }

  #isStale(work: PendingTransaction): boolean {
    const version = work.attempt.version;
    return version !== undefined && this.#log.hasConflict(version, work.attempt.reads);
  }

  /** Runs losers again on top of the group's changes and adds theirs; gives those that joined the group. */
  async #rerun(losers: readonly PendingTransaction[], changes: WriteSet): Promise<PendingTransaction[]> {
    const joined: PendingTransaction[] = [];
    const { attemptsMax, rerunMsMax } = this.#limits;
    const endMs = performance.now() + rerunMsMax;
    for (const work of losers) {
      this.#conflicts += 1;
      // Before it is refused, a slow transaction gets more time once, in which nobody can overtake it.
      const isLastChance = work.attempts === attemptsMax - 1;
      const leftMs = isLastChance ? lastChanceFactor * rerunMsMax : endMs - performance.now();
      if (work.attempts >= attemptsMax) work.fail(new StoreContentionError(work.attempts));
      else if (
        (work.isSlow && !isLastChance) ||
        work.lastRunMs >= leftMs ||
        changes.bytes >= this.#limits.groupBytesMax
      )
        work.lose();
      else {
        this.#reruns += 1;
        if (await work.runWithin(changes, leftMs)) {
          changes.setAll(work.attempt.changes);
          joined.push(work);
        } else work.lose();
      }
    }
    return joined;
  }

  async #write(changes: WriteSet): Promise<boolean> {
    try {
      await this.#engine.write(changes.writes);
    } catch (error) {
      // After a failed write the end of the log file is unknown, and what is written behind it might not be found again.
      this.#break(error);
      return false;
    }
    this.#groups += 1;
    this.#writtenBytes += changes.bytes;
    this.#log.append(changes);
    return true;
  }

  #break(error: unknown): void {
    if (this.#broken !== undefined) return;
    this.#broken = new StoreWriteError(error);
    this.#onBroken(this.#broken);
  }
}
