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

/** One who runs jobs holds a lease on each. */
export interface Lease {
  readonly job: Job;
  readonly attempt: number;
  /** The runner and a number of its own: a job that took another's id has the same id and the same attempts. */
  readonly holder: string;
}

/** Who takes jobs, and how many. */
export interface TakeOptions {
  readonly runner: string;
  readonly nowMs: number;
  readonly untilMs: number;
  /** At most this many jobs. */
  readonly count: number;
  /** The owner who was served last; the one after it is served first. */
  readonly cursor: string | undefined;
  /** How many more jobs of one owner may run. */
  ownerRoom(owner: string): number;
  knows(kind: string): boolean;
}

export interface Taken {
  readonly leases: readonly Lease[];
  readonly cursor: string | undefined;
  /** Jobs of kinds that nobody here runs; they were put off. */
  readonly unknown: readonly { readonly id: string; readonly kind: string }[];
}

/** How long a job is put off whose kind no handler is known for. */
export const unknownKindDelayMs = 60_000;

/**
 * The steps of jobs from queue to queue. Each is only reads and writes of a transaction. Entries are found by unchecked
 * reads, because others add entries all the time; what a step rests on is the job's state, and that is checked.
 */
export class JobQueue {
  readonly #tables: JobTables;
  #leases = 0;

  constructor(tables: JobTables) {
    this.#tables = tables;
  }

  /** Adds a job; gives the instant it is scheduled for, or undefined when it is ready. */
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

  /** Removes the job wherever it is. False when there is none. */
  async cancel(tx: Transaction, id: string): Promise<boolean> {
    const state = await tx.get(this.#tables.states, [id]);
    if (state === undefined) return false;
    this.#remove(tx, id, state);
    return true;
  }

  /** Makes at most `limit` scheduled jobs ready whose time has come; gives how many. */
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

  /** Makes at most `limit` leased jobs ready whose lease has ended, or all that somebody else holds; gives how many. */
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

  /** The earliest instant at which a scheduled job is due or a lease ends; infinite when there is neither. */
  async nextInstant(reader: Reader): Promise<number> {
    const scheduled = await reader.list(this.#tables.scheduled, { limit: 1 });
    const leased = await reader.list(this.#tables.leased, { limit: 1 });
    return Math.min(scheduled[0]?.key[0] ?? Number.POSITIVE_INFINITY, leased[0]?.key[0] ?? Number.POSITIVE_INFINITY);
  }

  /** How many jobs may run now, as far as `limit`. */
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
    // Every turn begins behind the owner who was served last and goes once round. What a turn passes over because its
    // owner has had enough fills the places that are left at its end; another turn is made only when a page was cut.
    let isCut = true;
    while (isCut && taking.left > 0) {
      const before = taking.count;
      isCut = await this.#takeTurn(tx, taking);
      for (const entry of taking.passedOver()) await this.#takeOne(tx, taking, entry);
      if (taking.count === before) break;
    }
    return { leases: taking.leases, unknown: taking.unknown, cursor: taking.cursor };
  }

  /** One turn of all owners; true when an owner may have more than was looked at. */
  async #takeTurn(tx: Transaction, taking: Taking): Promise<boolean> {
    const begin = taking.cursor;
    const rounds: RangeOptions<ReadyKey>[] = begin === undefined ? [{}] : [{ after: [begin] }, { through: [begin] }];
    let isCut = false;
    for (const round of rounds) {
      let bounds = round;
      while (taking.left > 0) {
        const limit = taking.left;
        const page = await tx.snapshot.list(this.#tables.ready, { ...bounds, limit });
        for (const { key } of page) if (taking.admits(key)) await this.#takeOne(tx, taking, key);
        const last = page.at(-1)?.key[0];
        if (page.length < limit || last === undefined) break;
        isCut = true;
        bounds = { ...bounds, after: [last] };
      }
    }
    return isCut;
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

  /** Prolongs a lease. False when it was lost. */
  async renew(tx: Transaction, lease: Lease, untilMs: number): Promise<boolean> {
    const state = await this.#held(tx, lease);
    if (state === undefined) return false;
    tx.delete(this.#tables.leased, [Number(state.atMs), lease.job.id]);
    this.#enter(tx, lease.job.id, state, JobPlace.LEASED, untilMs);
    return true;
  }

  /** Removes a job that its runner is done with. False when the lease was lost. */
  async finish(tx: Transaction, lease: Lease): Promise<boolean> {
    const state = await this.#held(tx, lease);
    if (state === undefined) return false;
    this.#remove(tx, lease.job.id, state);
    return true;
  }

  /** Gives a job back to run again. `countsAs` is how many attempts it has behind it then. False when the lease was lost. */
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

  /** The state of a job if the entry is still its own. */
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

/** What a job's body says of the trace in which it is enqueued. */
const traceMembers = (): { traceParent?: string; traceState?: string } => {
  const trace = currentTrace();
  return trace === undefined ? {} : { traceParent: formatTraceparent(trace), traceState: trace.state };
};

type ReadyKey = readonly [owner: string, atMs: number, id: string];

/** What one taking has so far. */
class Taking {
  readonly options: TakeOptions;
  readonly leases: Lease[] = [];
  readonly unknown: { readonly id: string; readonly kind: string }[] = [];
  cursor: string | undefined;
  /** What one owner gets in one turn: a lone owner still gets everything, and none gets far ahead. */
  readonly #quota: number;
  readonly #takenOf = new Map<string, number>();
  #turnOwner: string | undefined;
  #turnCount = 0;
  #passedOver: ReadyKey[] = [];

  constructor(options: TakeOptions) {
    this.options = options;
    this.cursor = options.cursor;
    this.#quota = Math.ceil(options.count / 4);
  }

  get count(): number {
    return this.leases.length;
  }

  get left(): number {
    return this.options.count - this.leases.length;
  }

  /** Whether the job is taken in this turn; otherwise it is kept for the places that are left. */
  admits(key: ReadyKey): boolean {
    const [owner] = key;
    if (owner !== this.#turnOwner) {
      this.#turnOwner = owner;
      this.#turnCount = 0;
    }
    this.#turnCount += 1;
    if (this.#turnCount <= this.#quota && this.#hasRoom(owner)) return true;
    if (this.#passedOver.length < 4 * this.options.count) this.#passedOver.push(key);
    return false;
  }

  /** Ends the turn: what it passed over, as far as there are places for it. */
  *passedOver(): Generator<ReadyKey, void> {
    const keys = this.#passedOver;
    this.#passedOver = [];
    this.#turnOwner = undefined;
    for (const key of keys) if (this.left > 0 && this.#hasRoom(key[0])) yield key;
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

/** How a job is given back. */
export interface GiveBack {
  readonly atMs: number;
  readonly isReady: boolean;
  readonly countsAs: number;
  readonly reason: string;
}
