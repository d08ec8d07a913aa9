import type { Lease } from "./job-lease.ts";

/** A run of a job. */
export interface Running {
  readonly lease: Lease;
  readonly pool: string;
  readonly abort: AbortController;
  /** Its handler has ended; its end is not written yet. */
  isEnding?: boolean;
  /** When its lease ends; infinite: it has none in the store. */
  untilMs: number;
}

/** The runs of a process, counted by owner, by pool and by the groups of pools. */
export class RunningJobs implements Iterable<Running> {
  readonly #leaseMs: number;
  readonly #groupOf: (owner: string) => string;
  readonly #running = new Set<Running>();
  readonly #countOf = new Map<string, number>();
  readonly #countIn = new Map<string, number>();
  /** By pool and group. */
  readonly #countOfGroup = new Map<string, number>();
  /** Of those, the runs of jobs that are among the ready ones in the store, by owner. */
  readonly #readyCountOf = new Map<string, number>();
  #readyCount = 0;
  /** Of those, the runs that are ending, by owner. */
  readonly #endingOf = new Map<string, number>();
  /** The ids of the jobs by their holders, which differ. */
  readonly #ids = new Map<string, string>();
  /** Those of runs that have ended, whose jobs may still be there in a state that is being read. */
  readonly #endedIds = new Map<string, string>();
  /** Ids of jobs that were cancelled, or removed because of their age, while jobs are looked for. */
  readonly #cancelled = new Set<string>();
  #isTaking = false;
  #renewMs = Number.POSITIVE_INFINITY;

  /** `groupOf` is the group of an owner, which does not change. Unset: each is a group. */
  constructor(leaseMs: number, groupOf: (owner: string) => string = (owner) => owner) {
    this.#leaseMs = leaseMs;
    this.#groupOf = groupOf;
  }

  get size(): number {
    return this.#running.size;
  }

  /** No lease is renewed before this instant. */
  get renewMs(): number {
    return this.#renewMs;
  }

  [Symbol.iterator](): Iterator<Running> {
    return this.#running.values();
  }

  /** The runs of an owner. */
  countOf(owner: string): number {
    return this.#countOf.get(owner) ?? 0;
  }

  /** The runs of jobs that are among the ready ones in the store. */
  get readyCount(): number {
    return this.#readyCount;
  }

  /** Of those, the runs of an owner. */
  readyCountOf(owner: string): number {
    return this.#readyCountOf.get(owner) ?? 0;
  }

  /** The runs of an owner that hold a place of its own: of those that are ending, only those beyond a number. */
  placesOf(owner: string, endingMax: number): number {
    return this.countOf(owner) - Math.min(this.#endingOf.get(owner) ?? 0, endingMax);
  }

  /** The handler of a run has ended. */
  end(running: Running): void {
    if (running.isEnding === true || !this.#running.has(running)) return;
    running.isEnding = true;
    addTo(this.#endingOf, running.lease.job.owner, 1);
  }

  /** The runs in a pool. */
  countIn(pool: string): number {
    return this.#countIn.get(pool) ?? 0;
  }

  /** The runs in a pool of one group. */
  countOfGroup(pool: string, group: string): number {
    return this.#countOfGroup.get(groupKey(pool, group)) ?? 0;
  }

  /** Jobs are about to be looked for in the present state of the store. */
  beginTaking(): void {
    this.#isTaking = true;
  }

  /** The jobs that were found have begun. */
  endTaking(): void {
    this.#isTaking = false;
    this.#endedIds.clear();
    this.#cancelled.clear();
  }

  /**
   * Whether a job that was found may begin: not if it has begun or was cancelled since, nor once its age has ended,
   * because a cycle may just be removing it. A job that runs by then is not removed.
   */
  mayBegin({ job, holder, expiresMs }: Lease, nowMs: number): boolean {
    return nowMs < expiresMs && !this.#cancelled.has(job.id) && !this.has(job.id, holder);
  }

  /** Whether a job runs or has run since the taking began. Jobs with the same id have different holders. */
  has(id: string, holder: string): boolean {
    return this.#ids.get(holder) === id || this.#endedIds.get(holder) === id;
  }

  add(running: Running): void {
    this.#running.add(running);
    this.#ids.set(running.lease.holder, running.lease.job.id);
    addTo(this.#countOf, running.lease.job.owner, 1);
    this.#addIn(running, 1);
    this.#addReady(running, 1);
    this.#expectRenewal(running);
  }

  remove(running: Running): void {
    if (!this.#running.delete(running)) return;
    const { job, holder } = running.lease;
    this.#ids.delete(holder);
    if (this.#isTaking) this.#endedIds.set(holder, job.id);
    addTo(this.#countOf, running.lease.job.owner, -1);
    if (running.isEnding === true) addTo(this.#endingOf, running.lease.job.owner, -1);
    this.#addIn(running, -1);
    this.#addReady(running, -1);
  }

  #addIn({ lease, pool }: Running, difference: number): void {
    addTo(this.#countIn, pool, difference);
    addTo(this.#countOfGroup, groupKey(pool, this.#groupOf(lease.job.owner)), difference);
  }

  #addReady({ lease }: Running, difference: number): void {
    if (lease.isNew) return;
    addTo(this.#readyCountOf, lease.job.owner, difference);
    this.#readyCount += difference;
  }

  /** A cycle of an instant has renewed leases until another, and has lost others. */
  settle(renewed: readonly Running[], lost: readonly Running[], nowMs: number, untilMs: number): void {
    for (const running of renewed) running.untilMs = untilMs;
    for (const running of lost) {
      // There is no lease to renew any more, so no instant to wake up for.
      running.untilMs = Number.POSITIVE_INFINITY;
      running.abort.abort(new Error("the job was given to another runner"));
    }
    if (nowMs < this.#renewMs) return;
    this.#renewMs = Number.POSITIVE_INFINITY;
    for (const running of this.#running) this.#expectRenewal(running);
  }

  abort(id: string): void {
    if (this.#isTaking) this.#cancelled.add(id);
    for (const { lease, abort } of this.#running)
      if (lease.job.id === id) abort.abort(new Error("the job was cancelled"));
  }

  clear(): void {
    this.#running.clear();
    this.#ids.clear();
    this.#countOf.clear();
    this.#readyCountOf.clear();
    this.#readyCount = 0;
    this.#endingOf.clear();
    this.#countIn.clear();
    this.#countOfGroup.clear();
  }

  #expectRenewal({ untilMs }: Running): void {
    this.#renewMs = Math.min(this.#renewMs, untilMs - this.#leaseMs / 2);
  }
}

const groupKey = (pool: string, group: string): string => `${pool}/${group}`;

/** Changes a count; a count of 0 is removed. */
const addTo = (counts: Map<string, number>, key: string, difference: number): void => {
  const count = (counts.get(key) ?? 0) + difference;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
};
