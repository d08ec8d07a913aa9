import { create } from "@bufbuild/protobuf";

import type { JobState } from "../../../gen/quartet/kit/storage/v1/records_pb.ts";
import { JobStateSchema } from "../../../gen/quartet/kit/storage/v1/records_pb.ts";
import type { RangeOptions } from "../store/range.ts";
import type { Reader, Transaction } from "../store/transaction.ts";
import { currentTrace } from "../trace/current-trace.ts";
import { formatTraceparent, parseTrace } from "../trace/trace-context.ts";
import type { Job, NewJob } from "./job.ts";
import type { JobTables } from "./job-tables.ts";
import { JobPlace } from "./job-tables.ts";

/** The right to run a job until an instant. */
export interface Lease {
  readonly job: Job;
  readonly attempt: number;
  /** The runner and a number per lease: a job that replaced another may have the same id and the same attempts. */
  readonly holder: string;
}

/** Which runner takes jobs, and how many. */
interface TakeOptions {
  readonly runner: string;
  readonly nowMs: number;
  readonly untilMs: number;
  /** At most this many jobs. */
  readonly count: number;
  /** The owner that was served last; the next one is served first. */
  readonly cursor: string | undefined;
  /** The number of further jobs of one owner that may run. */
  ownerRoom(owner: string): number;
  knows(kind: string): boolean;
}

export interface Taken {
  readonly leases: readonly Lease[];
  readonly cursor: string | undefined;
  /** Jobs of kinds without a handler; they were put off. */
  readonly unknown: readonly { readonly id: string; readonly kind: string }[];
}

/** How long a job whose kind has no handler is put off. */
export const unknownKindDelayMs = 60_000;

/**
 * The steps of jobs from queue to queue. Each consists only of reads and writes of a transaction. Entries are found by
 * unchecked reads, because entries are added all the time; each step depends on the job's state, whose read is checked.
 */
export class JobQueue {
  readonly #tables: JobTables;
  #leases = 0;

  constructor(tables: JobTables) {
    this.#tables = tables;
  }

  /** Adds a job; returns the instant for which it is scheduled, or undefined if it is ready. */
  enqueue(tx: Transaction, id: string, job: NewJob, nowMs: number): number | undefined {
    const atMs = Math.ceil(job.dueMs ?? nowMs);
    const isReady = atMs <= nowMs;
    tx.put(this.#tables.bodies, [id], { payload: job.payload, ...traceMembers() });
    const state = create(JobStateSchema, {
      kind: job.kind,
      owner: job.owner,
      sinceMs: BigInt(Math.max(atMs, nowMs)),
    });
    this.#enter(tx, id, state, isReady ? JobPlace.READY : JobPlace.SCHEDULED, atMs);
    return isReady ? undefined : atMs;
  }

  /** Removes the job from whichever queue it is in. False if it does not exist. */
  async cancel(tx: Transaction, id: string): Promise<boolean> {
    const state = await tx.get(this.#tables.states, [id]);
    if (state === undefined) return false;
    this.#remove(tx, id, state);
    return true;
  }

  /** Makes at most `limit` due jobs ready; returns their number. */
  async promote(tx: Transaction, nowMs: number, limit: number): Promise<number> {
    const due = await tx.snapshot.list(this.#tables.scheduled, { through: [nowMs], limit });
    for (const { key } of due) {
      const [atMs, id] = key;
      const state = await this.#stateAt(tx, id, JobPlace.SCHEDULED, atMs);
      tx.delete(this.#tables.scheduled, key);
      if (state !== undefined) this.#enter(tx, id, state, JobPlace.READY, atMs);
    }
    return due.length;
  }

  /** Makes at most `limit` jobs ready whose lease has ended, or that another runner holds; returns their number. */
  async reclaim(tx: Transaction, nowMs: number, limit: number, exceptRunner?: string): Promise<number> {
    const through = exceptRunner === undefined ? nowMs : Number.MAX_SAFE_INTEGER;
    let count = 0;
    for await (const { key } of tx.snapshot.range(this.#tables.leased, { through: [through] })) {
      const [untilMs, id] = key;
      const state = await this.#stateAt(tx, id, JobPlace.LEASED, untilMs);
      if (exceptRunner !== undefined && state?.runner.startsWith(`${exceptRunner}/`) === true) continue;
      tx.delete(this.#tables.leased, key);
      if (state !== undefined) {
        state.runner = "";
        this.#enter(tx, id, state, JobPlace.READY, Number(state.sinceMs));
      }
      count += 1;
      if (count === limit) break;
    }
    return count;
  }

  /** The earliest instant at which a scheduled job is due or a lease ends; infinite if there is neither. */
  async nextInstant(reader: Reader): Promise<number> {
    const scheduled = await reader.list(this.#tables.scheduled, { limit: 1 });
    const leased = await reader.list(this.#tables.leased, { limit: 1 });
    return Math.min(scheduled[0]?.key[0] ?? Number.POSITIVE_INFINITY, leased[0]?.key[0] ?? Number.POSITIVE_INFINITY);
  }

  /** The number of jobs that may run now, at most `limit`. */
  async countDue(reader: Reader, nowMs: number, limit: number): Promise<number> {
    let count = 0;
    const tables = [
      reader.range(this.#tables.ready, { limit }),
      reader.range(this.#tables.scheduled, { through: [nowMs], limit }),
    ];
    for (const entries of tables) for await (const _entry of entries) count += 1;
    return Math.min(count, limit);
  }

  /** Leases ready jobs to a runner, owner by owner. */
  async take(tx: Transaction, options: TakeOptions): Promise<Taken> {
    const taking = new Taking(options);
    // Every turn begins after the owner that was served last and visits each owner once. Another one follows while an
    // owner that has had its share may still have jobs for the remaining places.
    do {
      taking.beginTurn();
      await this.#takeTurn(tx, taking);
    } while (taking.left > 0 && taking.hasMore);
    return { leases: taking.leases, unknown: taking.unknown, cursor: taking.cursor };
  }

  async #takeTurn(tx: Transaction, taking: Taking): Promise<void> {
    const begin = taking.cursor;
    const rounds: RangeOptions<ReadyKey>[] = begin === undefined ? [{}] : [{ after: [begin] }, { through: [begin] }];
    for (const round of rounds) {
      let bounds = round;
      // Of an owner at its limit few entries are read in vain, however many it has; of all others many at once.
      let limit = pageEntriesMin;
      for (;;) {
        limit = Math.min(limit, taking.left);
        if (limit === 0) return;
        const page = await tx.snapshot.list(this.#tables.ready, { ...bounds, limit });
        for (const { key } of page) if (taking.admits(key)) await this.#takeOne(tx, taking, key);
        const last = page.at(-1)?.key;
        if (page.length < limit || last === undefined) break;
        bounds = { ...bounds, after: taking.isServed(last[0]) ? [last[0]] : last };
        limit *= 2;
      }
    }
  }

  async #takeOne(tx: Transaction, taking: Taking, key: ReadyKey): Promise<void> {
    const [owner, atMs, id] = key;
    const { options } = taking;
    const state = await this.#stateAt(tx, id, JobPlace.READY, atMs);
    tx.delete(this.#tables.ready, key);
    taking.cursor = owner;
    if (state === undefined) return;
    if (options.knows(state.kind)) taking.add(await this.#lease(tx, id, state, options));
    else {
      this.#enter(tx, id, state, JobPlace.SCHEDULED, options.nowMs + unknownKindDelayMs);
      taking.unknown.push({ id, kind: state.kind });
    }
  }

  /** Renews a lease. False if it was lost. */
  async renew(tx: Transaction, lease: Lease, untilMs: number): Promise<boolean> {
    const state = await this.#held(tx, lease);
    if (state === undefined) return false;
    tx.delete(this.#tables.leased, [Number(state.atMs), lease.job.id]);
    this.#enter(tx, lease.job.id, state, JobPlace.LEASED, untilMs);
    return true;
  }

  /** Removes a finished job. False if the lease was lost. */
  async finish(tx: Transaction, lease: Lease): Promise<boolean> {
    const state = await this.#held(tx, lease);
    if (state === undefined) return false;
    this.#remove(tx, lease.job.id, state);
    return true;
  }

  /** Puts a job back to run again. False if the lease was lost. */
  async giveBack(tx: Transaction, lease: Lease, back: GiveBack): Promise<boolean> {
    const state = await this.#held(tx, lease);
    if (state === undefined) return false;
    tx.delete(this.#tables.leased, [Number(state.atMs), lease.job.id]);
    state.runner = "";
    state.attempts = back.countsAs;
    state.lastReason = back.reason;
    this.#enter(tx, lease.job.id, state, back.isReady ? JobPlace.READY : JobPlace.SCHEDULED, back.atMs);
    return true;
  }

  async #lease(tx: Transaction, id: string, state: JobState, options: TakeOptions): Promise<Lease> {
    const body = await tx.get(this.#tables.bodies, [id]);
    state.attempts += 1;
    this.#leases += 1;
    state.runner = `${options.runner}/${this.#leases}`;
    this.#enter(tx, id, state, JobPlace.LEASED, options.untilMs);
    const job: Job = {
      id,
      kind: state.kind,
      owner: state.owner,
      payload: body?.payload ?? new Uint8Array(),
      sinceMs: Number(state.sinceMs),
      lastReason: state.lastReason,
      trace: body === undefined ? undefined : parseTrace(body.traceParent, body.traceState),
    };
    return { job, attempt: state.attempts, holder: state.runner };
  }

  /** The state of a job if the entry is still current. */
  async #stateAt(tx: Transaction, id: string, place: JobPlace, atMs: number): Promise<JobState | undefined> {
    const state = await tx.get(this.#tables.states, [id]);
    return state?.place === place && Number(state.atMs) === atMs ? state : undefined;
  }

  /** The state of a job if the lease still holds. */
  async #held(tx: Transaction, lease: Lease): Promise<JobState | undefined> {
    const state = await tx.get(this.#tables.states, [lease.job.id]);
    return state?.place === JobPlace.LEASED && state.runner === lease.holder ? state : undefined;
  }

  #enter(tx: Transaction, id: string, state: JobState, place: JobPlace, atMs: number): void {
    state.place = place;
    state.atMs = BigInt(atMs);
    tx.put(this.#tables.states, [id], state);
    if (place === JobPlace.READY) tx.put(this.#tables.ready, [state.owner, atMs, id], {});
    else tx.put(place === JobPlace.LEASED ? this.#tables.leased : this.#tables.scheduled, [atMs, id], {});
  }

  #remove(tx: Transaction, id: string, state: JobState): void {
    const atMs = Number(state.atMs);
    tx.delete(this.#tables.bodies, [id]);
    tx.delete(this.#tables.states, [id]);
    if (state.place === JobPlace.READY) tx.delete(this.#tables.ready, [state.owner, atMs, id]);
    else tx.delete(state.place === JobPlace.LEASED ? this.#tables.leased : this.#tables.scheduled, [atMs, id]);
  }
}

/** The members of a job's body for the trace in which it is enqueued. */
const traceMembers = (): { traceParent?: string; traceState?: string } => {
  const trace = currentTrace();
  return trace === undefined ? {} : { traceParent: formatTraceparent(trace), traceState: trace.state };
};

type ReadyKey = readonly [owner: string, atMs: number, id: string];

/** The entries of the first page that a turn reads. */
const pageEntriesMin = 8;

/** The leases of one transaction so far. */
class Taking {
  readonly options: TakeOptions;
  readonly leases: Lease[] = [];
  readonly unknown: { readonly id: string; readonly kind: string }[] = [];
  cursor: string | undefined;
  /** True if this turn left jobs to the next one because their owner has had its share. */
  hasMore = false;
  /** The jobs of one owner in one turn: a lone owner still gets all places, and none gets far ahead. */
  readonly #share: number;
  readonly #takenOf = new Map<string, number>();
  readonly #turnCountOf = new Map<string, number>();

  constructor(options: TakeOptions) {
    this.options = options;
    this.cursor = options.cursor;
    this.#share = Math.ceil(options.count / 4);
  }

  get left(): number {
    return this.options.count - this.leases.length;
  }

  beginTurn(): void {
    this.hasMore = false;
    this.#turnCountOf.clear();
  }

  /** True if the job is taken in this turn. */
  admits([owner]: ReadyKey): boolean {
    if (this.left === 0 || !this.#hasRoom(owner)) return false;
    const count = this.#turnCountOf.get(owner) ?? 0;
    if (count === this.#share) this.hasMore = true;
    else this.#turnCountOf.set(owner, count + 1);
    return count < this.#share;
  }

  /** True if no further job of the owner is taken in this turn. */
  isServed(owner: string): boolean {
    if (!this.#hasRoom(owner)) return true;
    const hasShare = this.#turnCountOf.get(owner) === this.#share;
    if (hasShare) this.hasMore = true;
    return hasShare;
  }

  add(lease: Lease): void {
    this.leases.push(lease);
    const { owner } = lease.job;
    this.#takenOf.set(owner, (this.#takenOf.get(owner) ?? 0) + 1);
  }

  #hasRoom(owner: string): boolean {
    return (this.#takenOf.get(owner) ?? 0) < this.options.ownerRoom(owner);
  }
}

/** How a job is put back. */
export interface GiveBack {
  readonly atMs: number;
  readonly isReady: boolean;
  /** The number of the job's attempts after this. */
  readonly countsAs: number;
  readonly reason: string;
}
