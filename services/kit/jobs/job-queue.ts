import { create } from "@bufbuild/protobuf";

import type { JobBody, JobState } from "../../../gen/quartet/kit/storage/v1/records_pb.ts";
import { JobStateSchema } from "../../../gen/quartet/kit/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../store/transaction.ts";
import { parseTrace } from "../trace/trace-context.ts";
import type { Instants } from "./due-instants.ts";
import type { Job, NewJob } from "./job.ts";
import type { GiveBack, Lease, ReadyKey, RunningHere, TakeBegin, TakeOptions } from "./job-lease.ts";
import { bodyOf, expiresOf, leaseOf } from "./job-lease.ts";
import type { JobTables } from "./job-tables.ts";
import { JobPlace } from "./job-tables.ts";
import type { Readied } from "./readied-jobs.ts";
import { addReadied } from "./readied-jobs.ts";

/** What is due, and from where the tables are read for it. */
interface MoveOptions {
  readonly nowMs: number;
  readonly bounds: Instants;
}

/** Jobs of one owner that a transaction takes. */
interface Taken {
  readonly leases: readonly Lease[];
  /** Jobs of kinds without a handler; they were put off. */
  readonly unknown: readonly { readonly id: string; readonly kind: string }[];
  /** The last entry that was read; undefined: none was. */
  readonly last: ReadyKey | undefined;
  /** True if the owner has no further ready job. */
  readonly isDrained: boolean;
}

/** A job that was added. */
interface Enqueued {
  /** Since when the job is ready; undefined: it is not. */
  readonly readyMs: number | undefined;
  /** The instants at which something is to be done with it if it is not run. */
  readonly instants: Partial<Instants>;
  /** With which the job may run once it is committed; undefined: the job is to be read from the store for it. */
  readonly lease: Lease | undefined;
}

/** A job that was removed because its age ended before it was run. */
export interface Expired {
  readonly job: Job;
  readonly attempts: number;
}

/** How a queue is used. */
export interface QueueUse {
  /** Differs for each process, so that the names of its jobs do. */
  readonly name: string;
  /**
   * Whether other processes take jobs of the queue. Then a job that runs has a lease in the store; otherwise it stays
   * where it is, and the process knows what runs.
   */
  readonly isShared: boolean;
}

/** Payloads up to this size are stored with their job's state, which saves a record. */
const inlineBytesMax = 4_096;

/** Payloads up to this size are stored with the state of a new job, which is seldom written again. */
const newBytesMax = 65_536;

/** How long a job whose kind has no handler is put off. */
export const unknownKindDelayMs = 60_000;

/** How long after the end of its age a ready job is removed: the last run may be due at that instant. */
const expiryGraceMs = 1_000;

/** How long after the end of its age a job that was not ready is looked at again. */
const recheckMs = 60_000;

/**
 * The steps of jobs from queue to queue. Each consists only of reads and writes of a transaction. Entries are found by
 * unchecked reads, because entries are added all the time; each step depends on the job's state, whose read is checked.
 */
export class JobQueue {
  readonly #tables: JobTables;
  readonly #use: QueueUse;
  #named = 0;
  /** New jobs of this process whose records may have been removed by others than the ends of their runs. */
  readonly #doubted = new Set<string>();

  constructor(tables: JobTables, use: QueueUse) {
    this.#tables = tables;
    this.#use = use;
  }

  /**
   * Adds a job; returns whether it is ready, and the instant at which something is to be done with it otherwise. It is
   * added as a new one if it can be and `isWanted`, because it will be in memory.
   */
  enqueue(tx: Transaction, id: string, job: NewJob, nowMs: number, isWanted: boolean): Enqueued {
    const atMs = Math.ceil(job.dueMs ?? nowMs);
    const isReady = atMs <= nowMs;
    const expiresMs = job.expiresMs === undefined ? undefined : Math.ceil(job.expiresMs) + expiryGraceMs;
    const state = create(JobStateSchema, {
      kind: job.kind,
      owner: job.owner,
      sinceMs: BigInt(Math.max(atMs, nowMs)),
      expiresMs: BigInt(expiresMs ?? 0),
      runner: this.#use.isShared ? "" : this.#newName(),
    });
    state.body = bodyOf(job);
    // The job that it replaces may have had a record.
    if (job.id !== undefined) {
      tx.delete(this.#tables.bodies, [id]);
      tx.delete(this.#tables.fresh, [id]);
    }
    const mayBeNew = isReady && job.id === undefined && job.payload.byteLength <= newBytesMax && !this.#use.isShared;
    const isNew = isWanted && mayBeNew;
    if (isNew) {
      state.place = JobPlace.READY;
      state.atMs = BigInt(atMs);
      tx.put(this.#tables.fresh, [id], state);
    } else {
      this.#putBody(tx, id, state);
      if (expiresMs !== undefined) tx.put(this.#tables.expiring, [expiresMs, id], {});
      this.#enter(tx, id, state, isReady ? JobPlace.READY : JobPlace.SCHEDULED, atMs);
    }
    return {
      readyMs: isReady ? atMs : undefined,
      lease: isNew ? leaseOf(id, job, state) : undefined,
      instants: { scheduledMs: isReady ? Infinity : atMs, expiringMs: expiresMs ?? Infinity },
    };
  }

  /** Removes the job from whichever queue it is in. False if it does not exist. */
  async cancel(tx: Transaction, id: string): Promise<boolean> {
    const state = await tx.get(this.#tables.states, [id]);
    const fresh = state === undefined ? await tx.get(this.#tables.fresh, [id]) : undefined;
    if (state !== undefined) this.#remove(tx, id, state);
    if (fresh !== undefined) {
      this.doubt(id);
      tx.delete(this.#tables.fresh, [id]);
    }
    return state !== undefined || fresh !== undefined;
  }

  /** A transaction may remove the record of a new job, which a run of the job cannot know. */
  doubt(id: string): void {
    this.#doubted.add(id);
  }

  /** A job runs no longer and is not in memory. */
  forget(id: string): void {
    this.#doubted.delete(id);
  }

  /** The ids of new jobs, in order, at most `limit`. */
  async listNew(reader: Reader, limit: number): Promise<string[]> {
    return (await reader.list(this.#tables.fresh, { limit })).map(({ key }) => key[0]);
  }

  /** Moves a new job to the tables of all others, where it is ready; undefined: it is not new, or does not exist. */
  async settle(tx: Transaction, id: string): Promise<JobState | undefined> {
    const state = await tx.get(this.#tables.fresh, [id]);
    if (state === undefined) return undefined;
    this.#moveNew(tx, id, state);
    this.#enter(tx, id, state, JobPlace.READY, Number(state.atMs));
    return state;
  }

  /** Makes at most `limit` due jobs ready, which it adds to `owners`. */
  async promote(tx: Transaction, { nowMs, bounds }: MoveOptions, limit: number, owners: Readied): Promise<void> {
    if (bounds.scheduledMs > nowMs) return;
    const due = await tx.snapshot.list(this.#tables.scheduled, { from: [bounds.scheduledMs], through: [nowMs], limit });
    for (const { key } of due) {
      const [atMs, id] = key;
      const state = await this.#stateAt(tx, id, JobPlace.SCHEDULED, atMs);
      tx.delete(this.#tables.scheduled, key);
      if (state === undefined) continue;
      this.#enter(tx, id, state, JobPlace.READY, atMs);
      addReadied(owners, state.owner, atMs);
    }
  }

  /**
   * Makes at most `limit` jobs ready whose lease has ended, or that another runner holds, and adds them to `owners`;
   * returns the number of entries read.
   */
  async reclaim(
    tx: Transaction,
    { nowMs, bounds }: MoveOptions,
    limit: number,
    owners: Readied,
    exceptRunner?: string,
  ): Promise<number> {
    const through = exceptRunner === undefined ? nowMs : Number.MAX_SAFE_INTEGER;
    if (bounds.leasedMs > through) return 0;
    const range = { from: [bounds.leasedMs] as [number], through: [through] as [number] };
    let count = 0;
    for await (const { key } of tx.snapshot.range(this.#tables.leased, range)) {
      const [untilMs, id] = key;
      const state = await this.#stateAt(tx, id, JobPlace.LEASED, untilMs);
      if (exceptRunner !== undefined && state?.runner.startsWith(`${exceptRunner}/`) === true) continue;
      tx.delete(this.#tables.leased, key);
      if (state !== undefined) {
        state.runner = this.#use.isShared ? "" : this.#newName();
        this.#enter(tx, id, state, JobPlace.READY, Number(state.sinceMs));
        addReadied(owners, state.owner, Number(state.sinceMs));
      }
      count += 1;
      if (count === limit) break;
    }
    return count;
  }

  /** The state of a job; undefined if it does not exist. */
  async find(reader: Reader, id: string) {
    const state = (await reader.get(this.#tables.states, [id])) ?? (await reader.get(this.#tables.fresh, [id]));
    if (state === undefined) return undefined;
    const isRunning = state.place === JobPlace.LEASED;
    return {
      job: await this.#jobOf(reader, id, state),
      isRunning,
      attempts: state.attempts,
      dueMs: Number(state.atMs),
    };
  }

  /** Takes at most `limit` ready jobs of an owner for a runner, the oldest after an entry first. */
  async take(tx: Transaction, owner: string, begin: TakeBegin, limit: number, options: TakeOptions): Promise<Taken> {
    const leases: Lease[] = [];
    const unknown: { readonly id: string; readonly kind: string }[] = [];
    let last: ReadyKey | undefined;
    // Without leases in the store, the entries of jobs that run are among the others, most of them before `after`.
    const pageMax = limit + (this.#use.isShared || "after" in begin ? 0 : options.running.readyCountOf(owner));
    const page = await tx.snapshot.list(this.#tables.ready, {
      prefix: [owner],
      ...("after" in begin ? { after: begin.after } : { from: [...begin.from] }),
      limit: pageMax,
    });
    for (const { key } of page) {
      if (leases.length + unknown.length === limit) return { leases, unknown, last, isDrained: false };
      const [, atMs, id] = key;
      last = key;
      const state = await this.#stateAt(tx, id, JobPlace.READY, atMs);
      if (state === undefined) tx.delete(this.#tables.ready, key);
      else if (options.running.has(id, state.runner) || expiresOf(state) <= options.nowMs) continue;
      else if (options.knows(state.kind)) leases.push(await this.#lease(tx, id, state, options));
      else {
        tx.delete(this.#tables.ready, key);
        this.#enter(tx, id, state, JobPlace.SCHEDULED, options.nowMs + unknownKindDelayMs);
        unknown.push({ id, kind: state.kind });
      }
    }
    return { leases, unknown, last, isDrained: page.length < pageMax };
  }

  /** Removes at most `limit` jobs whose age has ended while they were ready and did not run. */
  async expire(
    tx: Transaction,
    { nowMs, bounds }: MoveOptions,
    limit: number,
    running: RunningHere,
  ): Promise<readonly Expired[]> {
    if (bounds.expiringMs > nowMs) return [];
    const due = await tx.snapshot.list(this.#tables.expiring, { from: [bounds.expiringMs], through: [nowMs], limit });
    const expired: Expired[] = [];
    for (const { key } of due) {
      const [expiresMs, id] = key;
      const state = await tx.get(this.#tables.states, [id]);
      tx.delete(this.#tables.expiring, key);
      if (state === undefined || Number(state.expiresMs) !== expiresMs) continue;
      if (state.place === JobPlace.READY && !running.has(id, state.runner)) {
        expired.push({ job: await this.#jobOf(tx, id, state), attempts: state.attempts });
        this.#remove(tx, id, state);
        continue;
      }
      // A run, or the policy after it, ends a job that is not ready.
      state.expiresMs = BigInt(nowMs + recheckMs);
      tx.put(this.#tables.states, [id], state);
      tx.put(this.#tables.expiring, [nowMs + recheckMs, id], {});
    }
    return expired;
  }

  /** Renews a lease. False if it was lost. */
  async renew(tx: Transaction, lease: Lease, untilMs: number): Promise<boolean> {
    const state = await this.#held(tx, lease);
    if (state === undefined) return false;
    tx.delete(this.#tables.leased, [Number(state.atMs), lease.job.id]);
    this.#enter(tx, lease.job.id, state, JobPlace.LEASED, untilMs);
    return true;
  }

  /** Removes a finished job. False if the lease was lost. The record of a new job is known without a read. */
  finish(tx: Transaction, lease: Lease): Promise<boolean> | boolean {
    const { job, isNew } = lease;
    if (!isNew || this.#doubted.has(job.id)) return this.#finishRead(tx, lease);
    tx.expectUnchanged(this.#tables.fresh, [job.id]);
    tx.delete(this.#tables.fresh, [job.id]);
    return true;
  }

  async #finishRead(tx: Transaction, lease: Lease): Promise<boolean> {
    const state = await this.#held(tx, lease);
    if (state === undefined) return false;
    if (lease.isNew) tx.delete(this.#tables.fresh, [lease.job.id]);
    else this.#remove(tx, lease.job.id, state);
    return true;
  }

  /** Puts a job back to run again. False if the lease was lost. */
  async giveBack(tx: Transaction, lease: Lease, back: GiveBack): Promise<boolean> {
    const state = await this.#held(tx, lease);
    if (state === undefined) return false;
    if (lease.isNew) this.#moveNew(tx, lease.job.id, state);
    else if (this.#use.isShared) {
      tx.delete(this.#tables.leased, [Number(state.atMs), lease.job.id]);
      state.runner = "";
    } else tx.delete(this.#tables.ready, [state.owner, Number(state.atMs), lease.job.id]);
    state.attempts = back.countsAs;
    state.lastReason = back.reason;
    this.#enter(tx, lease.job.id, state, back.isReady ? JobPlace.READY : JobPlace.SCHEDULED, back.atMs);
    return true;
  }

  async #lease(tx: Transaction, id: string, state: JobState, options: TakeOptions): Promise<Lease> {
    const job = await this.#jobOf(tx, id, state);
    if (!this.#use.isShared)
      return { job, attempt: state.attempts + 1, holder: state.runner, expiresMs: expiresOf(state), isNew: false };
    tx.delete(this.#tables.ready, [state.owner, Number(state.atMs), id]);
    state.attempts += 1;
    this.#named += 1;
    state.runner = `${options.runner}/${this.#named}`;
    this.#enter(tx, id, state, JobPlace.LEASED, options.untilMs);
    return { job, attempt: state.attempts, holder: state.runner, expiresMs: Number.POSITIVE_INFINITY, isNew: false };
  }

  async #jobOf(reader: Reader, id: string, state: JobState): Promise<Job> {
    const body: JobBody | undefined = state.body ?? (await reader.get(this.#tables.bodies, [id]));
    return {
      id,
      kind: state.kind,
      owner: state.owner,
      payload: body?.payload ?? new Uint8Array(),
      sinceMs: Number(state.sinceMs),
      lastReason: state.lastReason,
      trace: body === undefined ? undefined : parseTrace(body.traceParent, body.traceState),
    };
  }

  /** The state of a job if the entry is still current. */
  async #stateAt(tx: Transaction, id: string, place: JobPlace, atMs: number): Promise<JobState | undefined> {
    const state = await tx.get(this.#tables.states, [id]);
    return state?.place === place && Number(state.atMs) === atMs ? state : undefined;
  }

  /** The state of a job if the lease still holds. */
  async #held(tx: Transaction, lease: Lease): Promise<JobState | undefined> {
    const state = await tx.get(lease.isNew ? this.#tables.fresh : this.#tables.states, [lease.job.id]);
    const place = this.#use.isShared ? JobPlace.LEASED : JobPlace.READY;
    return state?.place === place && state.runner === lease.holder ? state : undefined;
  }

  /** Removes the record of a new job, which from now on is found by the end of its age. */
  #moveNew(tx: Transaction, id: string, state: JobState): void {
    tx.delete(this.#tables.fresh, [id]);
    this.#putBody(tx, id, state);
    if (state.expiresMs > 0n) tx.put(this.#tables.expiring, [Number(state.expiresMs), id], {});
  }

  /** A large body gets a record of its own, because the state is written with every change of a queue. */
  #putBody(tx: Transaction, id: string, state: JobState): void {
    if (state.body === undefined || state.body.payload.byteLength <= inlineBytesMax) return;
    tx.put(this.#tables.bodies, [id], state.body);
    delete state.body;
  }

  #newName(): string {
    this.#named += 1;
    return `${this.#use.name}/${this.#named}`;
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
    if (state.body === undefined) tx.delete(this.#tables.bodies, [id]);
    tx.delete(this.#tables.states, [id]);
    if (state.expiresMs > 0n) tx.delete(this.#tables.expiring, [Number(state.expiresMs), id]);
    if (state.place === JobPlace.READY) tx.delete(this.#tables.ready, [state.owner, atMs, id]);
    else tx.delete(state.place === JobPlace.LEASED ? this.#tables.leased : this.#tables.scheduled, [atMs, id]);
  }
}
