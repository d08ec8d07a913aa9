import { setImmediate as turn, setTimeout as delay } from "node:timers/promises";

import { isStillAhead } from "../clock/clock.ts";
import { StoreClosedError, StoreContentionError } from "../store/errors.ts";
import type { Job } from "./job.ts";
import { expiredReason } from "./job.ts";
import type { Lease } from "./job-lease.ts";
import type { Expired, JobQueue } from "./job-queue.ts";
import { unknownKindDelayMs } from "./job-queue.ts";
import type { Ending, JobsStats } from "./job-counts.ts";
import { JobCounts } from "./job-counts.ts";
import { setAsideDamaged } from "./damaged-jobs.ts";
import type { Instants } from "./due-instants.ts";
import { DueInstants } from "./due-instants.ts";
import { EndedRuns } from "./ended-runs.ts";
import { GroupRooms } from "./group-rooms.ts";
import type { HandedJob } from "./handed-jobs.ts";
import { HandedJobs } from "./handed-jobs.ts";
import { JobCycle } from "./job-cycle.ts";
import { JobHanding } from "./job-handing.ts";
import { JobRuns } from "./job-runs.ts";
import type { JobsOptions, PoolBounds } from "./job-options.ts";
import { OwnerRooms } from "./owner-rooms.ts";
import { isOfStore } from "./run-ends.ts";
import { WokenLoop } from "./woken-loop.ts";
import { listReadyOwners, ReadyOwners } from "./ready-owners.ts";
import type { Running } from "./running-jobs.ts";
import { RunningJobs } from "./running-jobs.ts";

const onePool = "";
const troubleDelayMs = 1_000;
/** New jobs that one transaction moves to the others. */
const leavingMax = 256;

/**
 * Runs jobs. One loop takes ready jobs, as many as may run; another starts jobs that were just enqueued without reading
 * them; a third runs cycles. A cycle is one transaction: it writes the ends of the runs that ended since the last one
 * and makes due jobs ready. So one synced write serves many jobs, and memory holds few that wait. Taking a job writes
 * nothing if no other process takes jobs of the queue: a ready job starts at once, and after a crash is where it was.
 */
export class JobRunner {
  readonly #queue: JobQueue;
  readonly #options: JobsOptions;
  readonly #name: string;
  readonly #isShared: boolean;
  readonly #pools: ReadonlyMap<string, PoolBounds>;
  readonly #owners: ReadyOwners;
  readonly #leaseMs: number;
  readonly #running: RunningJobs;
  readonly #groups: GroupRooms;
  readonly #cycle: JobCycle;
  readonly #handed = new HandedJobs();
  readonly #handing: JobHanding;
  /** True if owners with ready jobs may be in the store only. */
  #mustFindOwners = true;
  readonly #idleWaiters: (() => void)[] = [];
  readonly #ended: EndedRuns;
  /** New jobs that are to be moved to those in the store. */
  #leaving: HandedJob[] = [];
  #state: "new" | "started" | "stopping" | "stopped" = "new";
  readonly #cycles: WokenLoop;
  readonly #takes: WokenLoop;
  readonly #hands: WokenLoop;
  readonly #runs: JobRuns;
  #cancelTimer: (() => void) | undefined;
  readonly #due: DueInstants;
  #mustReclaimAll: boolean;
  readonly #counts: JobCounts;
  /** After a failure of the store, nothing is done before this instant. */
  #troubleMs = Number.NEGATIVE_INFINITY;
  #transactions = 0;

  /** `name` differs for each process. */
  constructor(queue: JobQueue, options: JobsOptions, name: string) {
    this.#queue = queue;
    this.#options = options;
    this.#name = name;
    this.#isShared = options.isShared ?? false;
    const { concurrency = 64, concurrencyPerOwner = concurrency } = options;
    this.#pools = new Map(Object.entries(options.pools ?? { [onePool]: { concurrency, concurrencyPerOwner } }));
    this.#owners = new ReadyOwners(options.placeOf ?? ((owner) => ({ pool: onePool, group: owner })));
    this.#leaseMs = options.leaseMs ?? 60_000;
    this.#running = new RunningJobs(this.#leaseMs, (owner) => this.#owners.groupOf(owner));
    this.#groups = new GroupRooms(this.#pools, this.#running, this.#owners);
    this.#ended = new EndedRuns(this.#pools);
    this.#due = new DueInstants(this.#isShared);
    const parts = {
      pools: this.#pools,
      owners: this.#owners,
      running: this.#running,
      rooms: new OwnerRooms(this.#running, options.gate),
      groups: this.#groups,
    };
    this.#cycle = new JobCycle(queue, options, { runner: this.#name, leaseMs: this.#leaseMs, ...parts });
    this.#handing = new JobHanding({
      ...parts,
      handed: this.#handed,
      store: options.store,
      nowMs: () => options.clock.now(),
      mayStart: () => this.#mayTake() && !this.#mustFindOwners,
      knows: (kind) => Object.hasOwn(options.handlers, kind),
      begin: (lease, pool) => this.#runs.begin({ lease, pool }, Number.POSITIVE_INFINITY),
      leave: (handed) => {
        this.#leaving.push(handed);
        this.#wake(this.#cycles);
      },
    });
    this.#runs = new JobRuns({
      options,
      queue,
      running: this.#running,
      isStopping: () => this.#state !== "started",
      ending: (owner) => this.#reconsider(owner),
      end: (ended) => {
        this.#ended.add(ended);
        this.#wake(this.#cycles);
      },
      leave: (running, ending) => this.#leave(running, ending),
    });
    this.#mustReclaimAll = !this.#isShared;
    const ends = { onTrouble: (error: unknown) => this.#onTrouble(error), onRest: () => this.#rest() };
    this.#cycles = new WokenLoop({ ...ends, step: () => this.#runCycle() });
    this.#takes = new WokenLoop({ ...ends, step: () => this.#take() });
    this.#hands = new WokenLoop({ ...ends, step: () => this.#handing.step() });
    this.#counts = new JobCounts(Object.keys(options.handlers));
  }

  get stats(): JobsStats {
    const running = [...this.#running].map(({ lease }) => lease.job.kind);
    return { ...this.#counts.read(running), cycles: this.#transactions, ownersWaiting: this.#owners.waitingCount };
  }

  start(): void {
    if (this.#state !== "new") return;
    this.#state = "started";
    this.wake();
  }

  /** Runs a cycle and takes jobs, because something may have changed. */
  wake(): void {
    this.#wake(this.#cycles);
    this.#wakeTaking();
  }

  #wakeTaking(): void {
    // A pass that finds nothing to take would be run for each run that ends.
    const isIdle = !this.#takes.isActive && !this.#mustFindOwners && this.#owners.isEmpty;
    if (isIdle) this.#owners.beginTaking(this.#options.clock.now());
    else this.#wake(this.#takes);
    if (!this.#handed.isEmpty) this.#wake(this.#hands);
  }

  #wake(loop: WokenLoop): void {
    if (this.#state === "new" || this.#state === "stopped") return;
    loop.wake();
  }

  /** The runs of jobs that are among the ready ones in the store, and the jobs that wait in memory. */
  get counted(): { readonly ready: number; readonly fresh: number } {
    return { ready: this.#running.readyCount, fresh: this.#handed.count + this.#leaving.length };
  }

  /** Whether a job that is enqueued now is to be a new one, which starts from memory. */
  mayHand(job: Pick<Job, "owner" | "kind" | "payload" | "memo">): boolean {
    return !this.#isShared && this.#handing.mayAdd(job);
  }

  /** An owner has a job that is ready since an instant. With a lease, it is a new one. */
  addReady(owner: string, sinceMs: number, lease?: Lease): void {
    if (lease !== undefined) {
      this.#handing.add(lease, sinceMs);
      return this.#wake(this.#hands);
    }
    this.#owners.add(owner, sinceMs);
    this.#wake(this.#takes);
  }

  /** Something is to be done with a job at these instants. */
  expect(instants: Partial<Instants>): void {
    const beforeMs = this.#due.nextMs;
    this.#due.expect(instants);
    if (this.#due.nextMs < beforeMs && !this.#cycles.isActive) this.#wakeAt(this.#nextDueMs());
  }

  readonly isRunning = (id: string): boolean => [...this.#running].some(({ lease }) => lease.job.id === id);

  abort(id: string): void {
    this.#handed.remove(id);
    this.#running.abort(id);
    if (!this.isRunning(id)) this.#queue.forget(id);
  }

  /** A transaction replaces the job. */
  replace(id: string): void {
    if (this.isRunning(id) || this.#handed.has(id)) this.#queue.doubt(id);
  }

  idle(): Promise<void> {
    if (this.#state === "stopped") return Promise.resolve();
    return new Promise((resolve) => {
      this.#idleWaiters.push(resolve);
      this.wake();
    });
  }

  async stop(limitMs = 10_000): Promise<void> {
    if (this.#state === "new") this.#state = "stopped";
    if (this.#state !== "started") return;
    this.#state = "stopping";
    this.#cancelTimer?.();
    for (const owner of this.#handed.owners) this.#leaving.push(...this.#handed.take(owner, Number.POSITIVE_INFINITY));
    this.#wake(this.#cycles);
    await this.#untilNothingRuns(limitMs);
    for (const running of this.#running) running.abort.abort(new Error("the process stops"));
    await this.#untilNothingRuns(1_000);
    // The remaining runs keep their leases, because it is unknown whether they will finish.
    this.#state = "stopped";
    await Promise.all([this.#cycles.rested(), this.#takes.rested(), this.#hands.rested()]);
    this.#cancelTimer?.();
  }

  async #untilNothingRuns(limitMs: number): Promise<void> {
    const timer = new AbortController();
    await Promise.race([this.idle(), delay(limitMs, undefined, { signal: timer.signal }).catch(() => {})]);
    timer.abort();
  }

  /** A loop has nothing more to do. */
  #rest(): void {
    this.#wakeAt(this.#nextDueMs());
    if ([this.#cycles, this.#takes, this.#hands].some(({ isActive }) => isActive) || this.#running.size > 0) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  #onTrouble(error: unknown): void {
    if (error instanceof StoreContentionError) return this.wake();
    if (error instanceof StoreClosedError) {
      this.#state = "stopped";
      this.#running.clear();
      this.#handed.clear();
      this.#leaving = [];
      return;
    }
    this.#options.log.error({ err: error }, "jobs cannot be taken or written back; trying again");
    this.#troubleMs = this.#options.clock.now() + troubleDelayMs;
    void setAsideDamaged(this.#options, error);
  }

  #mayTake(): boolean {
    return this.#state === "started" && !this.#isInTrouble(this.#options.clock.now());
  }

  #isInTrouble(nowMs: number): boolean {
    return isStillAhead(this.#troubleMs, troubleDelayMs, nowMs);
  }

  /** Writes what ended and moves what is due. */
  async #runCycle(): Promise<void> {
    const { clock, store } = this.#options;
    if (this.#isInTrouble(clock.now())) return;
    const isMoving = clock.now() >= this.#due.nextMs;
    if (isMoving) this.#leaving.push(...this.#handed.takeExpired(clock.now()));
    const isIdle = this.#ended.isEmpty && this.#leaving.length === 0;
    if (isIdle && !isMoving && clock.now() < this.#running.renewMs) return;
    // The runs that end in the same turn end in one transaction.
    if (!isIdle) await turn();
    const leaving = this.#leaving.splice(0, leavingMax);
    const ended = this.#ended.take();
    this.#due.begin();
    if (isMoving && this.#isShared) this.#mustFindOwners = true;
    try {
      const facts = {
        nowMs: clock.now(),
        bounds: this.#due.bounds,
        isMoving,
        leaving,
        mustReclaimAll: this.#mustReclaimAll,
      };
      const cycle = await store.transact((tx) => this.#cycle.write(tx, ended, facts));
      this.#transactions += 1;
      this.#due.settle(cycle.added, cycle.found, facts.nowMs);
      // The age of a job in memory has no entry in the store.
      if (isMoving) this.#due.expect({ expiringMs: this.#handed.expiresMs });
      for (const { lease, readyMs } of leaving) this.addReady(lease.job.owner, readyMs);
      for (const [owner, { sinceMs, count }] of cycle.readied) this.#owners.add(owner, sinceMs, count);
      if (cycle.readied.size > 0) this.#wake(this.#takes);
      for (const { running, back, ending } of ended) {
        this.#leave(running, ending);
        if (back?.isReady === true) this.addReady(running.lease.job.owner, back.atMs);
      }
      this.#running.settle(cycle.renewed, cycle.lost, facts.nowMs, cycle.untilMs);
      this.#endExpired(cycle.expired);
      if (this.#due.nextMs <= clock.now()) this.wake();
      else this.#mustReclaimAll = false;
      if (!this.#ended.isEmpty || this.#leaving.length > 0) this.wake();
    } catch (error) {
      this.#leaving.unshift(...leaving);
      // One of the ends may be what fails, and must not hold up the others.
      const alone = isOfStore(error) ? [] : ended.filter(({ apply }) => apply !== undefined);
      this.#ended.restore(ended.filter((each) => !alone.includes(each)));
      for (const each of alone) void this.#runs.finish(each);
      throw error;
    }
  }

  /** Takes jobs that are ready, as many as may run. */
  async #take(): Promise<void> {
    if (!this.#mayTake()) return;
    this.#running.beginTaking();
    await this.#takeReady().finally(() => this.#running.endTaking());
  }

  async #takeReady(): Promise<void> {
    const { clock, store, log } = this.#options;
    this.#owners.beginTaking(clock.now());
    if (this.#mustFindOwners) await this.#findOwners();
    if (!this.#canTakeMore()) return;
    const nowMs = clock.now();
    const taken = await store.transact((tx) => this.#cycle.take(tx, nowMs));
    if (this.#isShared) this.#transactions += 1;
    this.#owners.settle(taken);
    // Jobs in memory may have waited for those of their owners that were taken.
    if (!this.#handed.isEmpty) this.#wake(this.#hands);
    for (const unknown of taken.unknown) log.warn(unknown, "no handler for this kind of job");
    if (taken.unknown.length > 0) this.expect({ scheduledMs: nowMs + unknownKindDelayMs });
    const untilMs = this.#isShared ? nowMs + this.#leaseMs : Number.POSITIVE_INFINITY;
    for (const pooled of taken.leases)
      if (this.#running.mayBegin(pooled.lease, clock.now())) this.#runs.begin(pooled, untilMs);
    if (this.#isShared && taken.leases.length > 0) this.expect({ leasedMs: untilMs });
    if (this.#canTakeMore()) this.#wake(this.#takes);
  }

  /** Jobs whose age ended were removed; one of them may just have been taken. */
  #endExpired(expired: readonly Expired[]): void {
    for (const { job, attempts } of expired) {
      this.abort(job.id);
      this.#counts.add(job.kind, "exhausted");
      this.#options.log.warn({ id: job.id, kind: job.kind, attempts, reason: expiredReason }, "a job was given up");
    }
  }

  /** Finds the owners of jobs that were ready before the start, or that other processes have enqueued. */
  async #findOwners(): Promise<void> {
    if (!this.#isShared) await this.#settleNew();
    const { store, tables, clock } = this.#options;
    for await (const owner of listReadyOwners(store, tables)) this.#owners.find(owner, clock.now());
    this.#mustFindOwners = false;
  }

  /** Moves the jobs that were new when an earlier process ended. */
  async #settleNew(): Promise<void> {
    const { store } = this.#options;
    for (;;) {
      const ids = await store.read((reader) => this.#queue.listNew(reader, leavingMax));
      if (ids.length === 0) return;
      const expiringMs = await store.transact(async (tx) => {
        let first = Number.POSITIVE_INFINITY;
        for (const id of ids) first = Math.min(first, Number((await this.#queue.settle(tx, id))?.expiresMs) || first);
        return first;
      });
      this.#transactions += 1;
      this.expect({ expiringMs });
    }
  }

  /** True if a pool has places and owners that may have a job for them. */
  #canTakeMore(): boolean {
    if (this.#state !== "started") return false;
    return [...this.#pools.keys()].some((pool) => this.#groups.hasAny(pool));
  }

  /** The end of a run is written, so it no longer runs and is counted. */
  #leave(running: Running, ending: Ending | undefined): void {
    this.#running.remove(running);
    this.#queue.forget(running.lease.job.id);
    if (ending !== undefined) this.#counts.add(running.lease.job.kind, ending);
    this.#reconsider(running.lease.job.owner);
    this.#wake(this.#cycles);
  }

  /** A run of the owner holds its place no longer. */
  #reconsider(owner: string): void {
    this.#owners.reconsider(owner);
    this.#wakeTaking();
  }

  /** When the next job is due, an owner may go on, a lease ends, or a lease must be renewed. */
  #nextDueMs(): number {
    const dueMs = Math.min(this.#due.nextMs, this.#running.renewMs, this.#owners.nextMs);
    return this.#isInTrouble(this.#options.clock.now()) ? this.#troubleMs : dueMs;
  }

  #wakeAt(atMs: number): void {
    if (!Number.isFinite(atMs) || this.#state !== "started") return;
    const { clock } = this.#options;
    this.#cancelTimer?.();
    // Always wait first: an entry that remains due (e.g. while its lease is renewed) would busy-loop.
    this.#cancelTimer = clock.schedule(Math.max(Math.ceil(atMs), clock.now() + 1), () => this.wake());
  }
}
