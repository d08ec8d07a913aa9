import { create } from "@bufbuild/protobuf";

import type { JobState } from "../../../gen/quartet/kit/storage/v1/records_pb.ts";
import { JobStateSchema } from "../../../gen/quartet/kit/storage/v1/records_pb.ts";
import type { Transaction } from "../store/transaction.ts";
import type { Job, NewJob } from "./job.ts";
import type { JobTables } from "./job-tables.ts";
import { JobPlace } from "./job-tables.ts";

/** One who runs jobs holds a lease on each, told apart from earlier ones of the same job by its attempt. */
export interface Lease {
  readonly job: Job;
  readonly attempt: number;
  readonly runner: string;
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
const unknownKindDelayMs = 60_000;

/** The steps of jobs from queue to queue. Each is only reads and writes of a transaction. */
export class JobQueue {
  readonly #tables: JobTables;

  constructor(tables: JobTables) {
    this.#tables = tables;
  }

  enqueue(tx: Transaction, id: string, job: NewJob, nowMs: number): void {
    const atMs = Math.ceil(job.dueMs ?? nowMs);
    tx.put(this.#tables.bodies, [id], { payload: job.payload });
    const state = create(JobStateSchema, {
      kind: job.kind,
      owner: job.owner,
      sinceMs: BigInt(Math.max(atMs, nowMs)),
    });
    this.#enter(tx, id, state, atMs <= nowMs ? JobPlace.READY : JobPlace.SCHEDULED, atMs);
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
    const due = await tx.list(this.#tables.scheduled, { through: [nowMs], limit });
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
    for await (const { key } of tx.range(this.#tables.leased, { through: [through] })) {
      const [untilMs, id] = key;
      const state = await this.#stateAt(tx, id, JobPlace.LEASED, untilMs);
      if (state !== undefined && state.runner === exceptRunner) continue;
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

  /** Leases ready jobs to a runner, owner by owner. */
  async take(tx: Transaction, options: TakeOptions): Promise<Taken> {
    const leases: Lease[] = [];
    const unknown: { id: string; kind: string }[] = [];
    // A few turns of all owners for one taking: a lone owner still gets everything, and none gets far ahead.
    const quota = Math.ceil(options.count / 4);
    const takenOf = new Map<string, number>();
    let cursor = options.cursor;
    let turn = { isWhole: cursor === undefined, taken: 0, skipped: 0 };
    while (leases.length < options.count) {
      const limit = options.count - leases.length;
      const page = await tx.list(this.#tables.ready, { ...(cursor === undefined ? {} : { after: [cursor] }), limit });
      let ofOwner = 0;
      for (const { key } of page) {
        const [owner, atMs, id] = key;
        if (owner !== cursor) ofOwner = 0;
        cursor = owner;
        const ownerTaken = takenOf.get(owner) ?? 0;
        if (ofOwner >= quota || ownerTaken >= options.ownerRoom(owner)) {
          turn.skipped += 1;
          continue;
        }
        const state = await this.#stateAt(tx, id, JobPlace.READY, atMs);
        tx.delete(this.#tables.ready, key);
        turn.taken += 1;
        if (state === undefined) continue;
        if (!options.knows(state.kind)) {
          this.#enter(tx, id, state, JobPlace.SCHEDULED, options.nowMs + unknownKindDelayMs);
          unknown.push({ id, kind: state.kind });
          continue;
        }
        leases.push(await this.#lease(tx, id, state, options));
        ofOwner += 1;
        takenOf.set(owner, ownerTaken + 1);
      }
      if (page.length === limit) continue;
      // The end of the table: begin again at its start, unless a whole turn has left nothing or brought nothing.
      cursor = undefined;
      if (turn.isWhole && (turn.taken === 0 || turn.skipped === 0)) break;
      turn = { isWhole: true, taken: 0, skipped: 0 };
    }
    return { leases, cursor, unknown };
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
    state.runner = options.runner;
    this.#enter(tx, id, state, JobPlace.LEASED, options.untilMs);
    const job: Job = {
      id,
      kind: state.kind,
      owner: state.owner,
      payload: body?.payload ?? new Uint8Array(),
      sinceMs: Number(state.sinceMs),
      lastReason: state.lastReason,
    };
    return { job, attempt: state.attempts, runner: options.runner };
  }

  /** The state of a job if the entry is still its own. */
  async #stateAt(tx: Transaction, id: string, place: JobPlace, atMs: number): Promise<JobState | undefined> {
    const state = await tx.get(this.#tables.states, [id]);
    return state?.place === place && Number(state.atMs) === atMs ? state : undefined;
  }

  /** The state of a job if the lease still holds. */
  async #held(tx: Transaction, lease: Lease): Promise<JobState | undefined> {
    const state = await tx.get(this.#tables.states, [lease.job.id]);
    const holds = state?.place === JobPlace.LEASED && state.runner === lease.runner && state.attempts === lease.attempt;
    return holds ? state : undefined;
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

/** How a job is given back. */
export interface GiveBack {
  readonly atMs: number;
  readonly isReady: boolean;
  readonly countsAs: number;
  readonly reason: string;
}
