import type { Transaction } from "../store/transaction.ts";
import type { PoolBounds } from "./job-options.ts";
import type { OwnerRoom } from "./job-options.ts";
import type { Lease, ReadyFrom, ReadyKey, TakeBegin, TakeOptions } from "./job-lease.ts";
import type { JobQueue } from "./job-queue.ts";

/** The jobs that one transaction takes at most. */
export const batchMaxDefault = 256;

/** A lease and the pool in which its job runs. */
export interface PooledLease {
  readonly lease: Lease;
  readonly pool: string;
}

/** The state on which the taking of jobs depends. */
interface TakingOptions extends TakeOptions {
  readonly pools: ReadonlyMap<string, PoolBounds>;
  /** Jobs of the pool that run. */
  runningIn(pool: string): number;
  /** The owners of the pool in the order in which they are served, by group. */
  linesOf(pool: string): (readonly [group: string, owners: Iterator<string>])[];
  /** The jobs that a group may start in a pool, once so many have begun there and so many of these are its own. */
  roomOfGroup(pool: string, group: string, begun: number, own: number): number;
  /** All ready jobs of the owner that do not run are there or after it. */
  fromOf(owner: string): ReadyFrom;
  /** The number of jobs that the owner may start, and when more. */
  roomOf(owner: string, bounds: PoolBounds): Promise<OwnerRoom>;
}

/** An owner that has had a part of its share in this transaction. */
interface Visit {
  left: number;
  readonly againMs: number;
  after: ReadyKey | undefined;
}

/** The owners of one group: first those that were not visited, then again those that may have more. */
interface TakingLine {
  readonly group: string;
  /** Jobs of it that were taken. */
  taken: number;
  readonly fresh: Iterator<string>;
  readonly again: string[];
}

/**
 * Takes jobs in one transaction: groups in turn, and the owners of a group in turn. It reads no entry that it does not
 * take. What it found out about owners holds once the transaction commits.
 */
export class JobTaking {
  readonly leases: PooledLease[] = [];
  /** Jobs of kinds without a handler; they were put off. */
  readonly unknown: { readonly id: string; readonly kind: string }[] = [];
  /** Owners without further ready jobs. */
  readonly drained: string[] = [];
  /** Owners that may start no further job before an instant. */
  readonly waits: (readonly [owner: string, untilMs: number])[] = [];
  readonly served = new Set<string>();
  /** The last jobs of owners that were read; all up to them were taken, or are not to be. */
  readonly passed = new Map<string, ReadyFrom>();
  readonly #queue: JobQueue;
  readonly #tx: Transaction;
  readonly #options: TakingOptions;
  readonly #visits = new Map<string, Visit>();

  constructor(queue: JobQueue, tx: Transaction, options: TakingOptions) {
    this.#queue = queue;
    this.#tx = tx;
    this.#options = options;
  }

  async take(): Promise<void> {
    for (const [pool, bounds] of this.#options.pools) await this.#takeIn(pool, bounds);
  }

  async #takeIn(pool: string, bounds: PoolBounds): Promise<void> {
    let left = Math.min(
      bounds.concurrency - this.#options.runningIn(pool),
      bounds.batchMax ?? batchMaxDefault,
      batchMaxDefault - this.leases.length,
    );
    // A lone owner still gets all places, and none gets far ahead.
    const share = Math.ceil(left / 4);
    const lines = this.#options
      .linesOf(pool)
      .map(([group, fresh]): TakingLine => ({ group, taken: 0, fresh, again: [] }));
    let begun = 0;
    // Elements that are pushed are visited after all others: groups take turns.
    for (const line of lines) {
      if (left <= 0) return;
      // It goes on when a run of the pool has ended.
      const room = this.#options.roomOfGroup(pool, line.group, begun, line.taken);
      if (room <= 0) continue;
      const next = line.fresh.next();
      const owner = next.done === true ? line.again.shift() : next.value;
      if (owner === undefined) continue;
      const visit = await this.#visitOf(owner, bounds);
      const before = this.leases.length;
      if (visit.left > 0) await this.#takeOf(owner, pool, visit, Math.min(share, left, room), line);
      else this.waits.push([owner, visit.againMs]);
      const taken = this.leases.length - before;
      left -= taken;
      begun += taken;
      line.taken += taken;
      lines.push(line);
    }
  }

  async #visitOf(owner: string, bounds: PoolBounds): Promise<Visit> {
    const present = this.#visits.get(owner);
    if (present !== undefined) return present;
    const { count, againMs } = await this.#options.roomOf(owner, bounds);
    const visit = { left: Math.max(0, count), againMs, after: undefined };
    this.#visits.set(owner, visit);
    return visit;
  }

  async #takeOf(owner: string, pool: string, visit: Visit, count: number, line: TakingLine): Promise<void> {
    const limit = Math.min(count, visit.left);
    const begin = visit.after === undefined ? beginOf(owner, this.#options.fromOf(owner)) : { after: visit.after };
    const taken = await this.#queue.take(this.#tx, owner, begin, limit, this.#options);
    for (const lease of taken.leases) this.leases.push({ lease, pool });
    this.unknown.push(...taken.unknown);
    visit.left -= taken.leases.length;
    visit.after = taken.last ?? visit.after;
    this.served.add(owner);
    if (taken.last !== undefined) this.passed.set(owner, { atMs: taken.last[1], afterId: taken.last[2] });
    if (taken.isDrained) this.drained.push(owner);
    else if (visit.left === 0) this.waits.push([owner, visit.againMs]);
    else line.again.push(owner);
  }
}

const beginOf = (owner: string, { atMs, afterId }: ReadyFrom): TakeBegin =>
  afterId === undefined ? { from: [owner, atMs] } : { after: [owner, atMs, afterId] };
