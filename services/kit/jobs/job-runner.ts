import { setTimeout as delay } from "node:timers/promises";

import { StoreClosedError, StoreContentionError } from "../store/errors.ts";
import type { Transaction } from "../store/transaction.ts";
import type { JobHandler, JobOutcome, JobPolicy, JobRetry } from "./job.ts";
import { expiredReason } from "./job.ts";
import type { Expired, GiveBack, JobQueue, Lease } from "./job-queue.ts";
import { untraced, TracedCall } from "../trace/traced-call.ts";
import type { Ending, JobsStats } from "./job-counts.ts";
import { JobCounts } from "./job-counts.ts";
import type { Instants } from "./due-instants.ts";
import { DueInstants } from "./due-instants.ts";
import { EndedRuns } from "./ended-runs.ts";
import type { Cycle } from "./job-cycle.ts";
import { JobCycle } from "./job-cycle.ts";
import type { JobsOptions, PoolBounds } from "./job-options.ts";
import type { PooledLease } from "./job-taking.ts";
import { ReadyOwners } from "./ready-owners.ts";
import type { Running } from "./running-jobs.ts";
import { RunningJobs } from "./running-jobs.ts";

/** The number of owners that are read at a time when their jobs are looked for. */
const ownersPageMax = 1_000;
/** The one pool of a queue without pools. */
const onePool = "";
const troubleDelayMs = 1_000;

/**
 * Runs jobs in cycles. One cycle is one transaction: it writes the ends of the runs that ended since the last one,
 * renews leases, makes due jobs ready and leases as many as may run. So one synced write serves many jobs, and memory
 * holds only the running ones. A cycle runs when a job is enqueued, when a run ends, and when a job is due.
 */
export class JobRunner {
  readonly #queue: JobQueue;
  readonly #options: JobsOptions;
  readonly #name: string;
  readonly #pools: ReadonlyMap<string, PoolBounds>;
  readonly #owners: ReadyOwners;
  readonly #leaseMs: number;
  readonly #running: RunningJobs;
  readonly #cycle: JobCycle;
  /**
   * Owners that got a ready job or whose run ended since the cycle began, which it may not have seen, with the earliest
   * instant of these jobs.
   */
  readonly #changed = new Map<string, number>();
  /** True if owners with ready jobs may be in the store only. */
  #mustFindOwners = true;
  readonly #idleWaiters: (() => void)[] = [];
  readonly #ended: EndedRuns;
  #state: "new" | "started" | "stopping" | "stopped" = "new";
  #isWoken = false;
  #cycling: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  readonly #due: DueInstants;
  #mustReclaimAll: boolean;
  readonly #counts: JobCounts;
  #cycles = 0;

  constructor(queue: JobQueue, options: JobsOptions) {
    this.#queue = queue;
    this.#options = options;
    this.#name = options.ids.uuid();
    const { concurrency = 64, concurrencyPerOwner = concurrency } = options;
    this.#pools = new Map(Object.entries(options.pools ?? { [onePool]: { concurrency, concurrencyPerOwner } }));
    this.#owners = new ReadyOwners(options.placeOf ?? ((owner) => ({ pool: onePool, group: owner })));
    this.#leaseMs = options.leaseMs ?? 60_000;
    this.#running = new RunningJobs(this.#leaseMs);
    this.#ended = new EndedRuns(this.#pools);
    this.#due = new DueInstants(options.isShared ?? false);
    this.#cycle = new JobCycle(queue, options, {
      runner: this.#name,
      leaseMs: this.#leaseMs,
      pools: this.#pools,
      owners: this.#owners,
      running: this.#running,
    });
    this.#mustReclaimAll = !(options.isShared ?? false);
    this.#counts = new JobCounts(Object.keys(options.handlers));
  }

  get stats(): JobsStats {
    const running = [...this.#running].map(({ lease }) => lease.job.kind);
    return { ...this.#counts.read(running), cycles: this.#cycles, ownersWaiting: this.#owners.waitingCount };
  }

  start(): void {
    if (this.#state !== "new") return;
    this.#state = "started";
    this.wake();
  }

  /** Runs a cycle, because something may have changed. */
  wake(): void {
    if (this.#state === "new" || this.#state === "stopped") return;
    this.#isWoken = true;
    // Cycles serve jobs of all traces.
    this.#cycling ??= untraced(() => this.#cycleWhileWoken());
  }

  /** An owner has a job that is ready since an instant. */
  addReady(owner: string, sinceMs: number): void {
    this.#change(owner, sinceMs);
    this.#owners.add(owner, sinceMs);
    this.wake();
  }

  /** Something is to be done with a job at these instants. */
  expect(instants: Partial<Instants>): void {
    const beforeMs = this.#due.nextMs;
    this.#due.expect(instants);
    if (this.#due.nextMs < beforeMs && this.#cycling === undefined) this.#wakeAt(this.#nextDueMs());
  }

  abort(id: string): void {
    this.#running.abort(id);
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
    await this.#untilNothingRuns(limitMs);
    for (const running of this.#running) running.abort.abort(new Error("the process stops"));
    await this.#untilNothingRuns(1_000);
    // The remaining runs keep their leases, because it is unknown whether they will finish.
    this.#state = "stopped";
    await this.#cycling;
    this.#cancelTimer?.();
  }

  async #untilNothingRuns(limitMs: number): Promise<void> {
    const timer = new AbortController();
    await Promise.race([this.idle(), delay(limitMs, undefined, { signal: timer.signal }).catch(() => {})]);
    timer.abort();
  }

  async #cycleWhileWoken(): Promise<void> {
    while (this.#isWoken) {
      this.#isWoken = false;
      this.#cancelTimer?.();
      try {
        await this.#runCycle();
        if (!this.#isWoken) this.#wakeAt(this.#nextDueMs());
      } catch (error) {
        this.#onTrouble(error);
      }
    }
    this.#cycling = undefined;
    if (this.#running.size === 0) for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  #onTrouble(error: unknown): void {
    if (error instanceof StoreContentionError) {
      this.#isWoken = true;
      return;
    }
    if (error instanceof StoreClosedError) {
      this.#state = "stopped";
      this.#running.clear();
      return;
    }
    this.#options.log.error({ err: error }, "jobs cannot be taken or written back; trying again");
    this.#wakeAt(this.#options.clock.now() + troubleDelayMs);
  }

  async #runCycle(): Promise<void> {
    const { clock, store } = this.#options;
    const ended = this.#ended.take();
    this.#due.begin();
    this.#changed.clear();
    this.#owners.release(clock.now());
    // The cycle that writes the end of a run can start the next job of its owner.
    for (const { running } of ended) this.#owners.reconsider(running.lease.job.owner);
    const isMoving = clock.now() >= this.#due.nextMs;
    if (isMoving && this.#options.isShared === true) this.#mustFindOwners = true;
    try {
      await this.#findOwners();
      const facts = {
        nowMs: clock.now(),
        bounds: this.#due.bounds,
        isMoving,
        isTaking: this.#state === "started",
        mustReclaimAll: this.#mustReclaimAll,
      };
      const cycle = await store.transact((tx) => this.#cycle.write(tx, ended, facts));
      this.#cycles += 1;
      this.#due.settle(cycle.added, cycle.found, facts.nowMs);
      this.#settleOwners(cycle);
      for (const { running, back, ending } of ended) {
        if (back?.isReady === true) this.#owners.add(running.lease.job.owner, back.atMs);
        this.#leave(running, ending);
      }
      this.#running.settle(cycle.renewed, cycle.lost, facts.nowMs, cycle.untilMs);
      this.#logExpired(cycle.expired);
      if (this.#due.nextMs <= clock.now()) this.#isWoken = true;
      else this.#mustReclaimAll = false;
      if (cycle.taken !== undefined) {
        for (const unknown of cycle.taken.unknown) this.#options.log.warn(unknown, "no handler for this kind of job");
        for (const taken of cycle.taken.leases) this.#begin(taken, cycle.untilMs, clock.now());
      }
      if (this.#canTakeMore() || !this.#ended.isEmpty) this.#isWoken = true;
    } catch (error) {
      this.#ended.restore(ended);
      throw error;
    }
  }

  /** Finds the owners of jobs that were ready before the start, or that other processes have enqueued. */
  async #findOwners(): Promise<void> {
    if (!this.#mustFindOwners || this.#state !== "started") return;
    let last: string | undefined;
    for (;;) {
      const after = last;
      const owners = await this.#options.store.read((reader) => this.#queue.listOwners(reader, after, ownersPageMax));
      for (const owner of owners) this.#owners.add(owner, 0);
      last = owners.at(-1);
      if (owners.length < ownersPageMax) break;
    }
    this.#mustFindOwners = false;
  }

  /** What a committed cycle found out about owners holds, unless they have changed since it began. */
  #settleOwners({ taken, readied }: Cycle): void {
    for (const [owner, untilMs] of taken?.passed ?? [])
      this.#owners.passed(owner, Math.min(untilMs, this.#changed.get(owner) ?? untilMs));
    for (const [owner, sinceMs] of readied) this.#owners.add(owner, sinceMs);
    if (taken === undefined) return;
    for (const owner of taken.served) this.#owners.moveToEnd(owner);
    for (const owner of taken.drained) if (!readied.has(owner) && !this.#changed.has(owner)) this.#owners.remove(owner);
    for (const [owner, untilMs] of taken.waits) if (!this.#changed.has(owner)) this.#owners.wait(owner, untilMs);
  }

  #change(owner: string, sinceMs: number): void {
    this.#changed.set(owner, Math.min(sinceMs, this.#changed.get(owner) ?? sinceMs));
  }

  #logExpired(expired: readonly Expired[]): void {
    for (const { job, attempts } of expired) {
      this.#counts.add(job.kind, "exhausted");
      this.#options.log.warn({ id: job.id, kind: job.kind, attempts, reason: expiredReason }, "a job was given up");
    }
  }

  /** True if a pool has places and owners that may have a job for them. */
  #canTakeMore(): boolean {
    if (this.#state !== "started") return false;
    for (const [pool, { concurrency }] of this.#pools)
      if (this.#owners.hasAny(pool) && this.#running.countIn(pool) < concurrency) return true;
    return false;
  }

  #begin({ lease, pool }: PooledLease, untilMs: number, nowMs: number): void {
    const running: Running = { lease, pool, untilMs, abort: new AbortController() };
    this.#running.add(running);
    this.#options.gate?.begin(lease.job.owner, nowMs);
    const { job, attempt } = lease;
    const work = new TracedCall(`job ${job.kind}`, "consumer", { parent: job.trace }, () => ({
      "job.id": job.id,
      "job.attempt": attempt,
    }));
    void work.run(async () => work.end(await this.#run(running)));
  }

  /** Runs a job and settles its end; returns the reason if it is not done. */
  async #run(running: Running): Promise<string | undefined> {
    const { lease, abort } = running;
    const handler = this.#options.handlers[lease.job.kind] as JobHandler;
    let outcome: JobOutcome;
    try {
      outcome = await handler(lease.job, { signal: abort.signal, attempt: lease.attempt });
    } catch (error) {
      if (this.#state !== "started" && abort.signal.aborted) {
        this.#end(running, this.#interrupted(lease), undefined);
        return "interrupted";
      }
      this.#options.log.warn({ err: error, id: lease.job.id, kind: lease.job.kind }, "a job's handler threw");
      outcome = { retry: true, reason: error instanceof Error ? error.message : String(error) };
    }
    await this.#settle(running, outcome);
    return "done" in outcome ? undefined : outcome.reason;
  }

  /** Ends a run. An end with writes of its own is committed here, all others with the next cycle. */
  async #settle(running: Running, outcome: JobOutcome): Promise<void> {
    const { lease } = running;
    const policy = this.#options.policy[lease.job.kind] as JobPolicy;
    if ("done" in outcome) {
      const { apply } = outcome;
      if (apply === undefined) this.#end(running, undefined, "done");
      else await this.#finishWith(running, policy, "done", apply);
      return;
    }
    const again = "retry" in outcome ? this.#again(lease, policy, outcome) : undefined;
    if (again !== undefined) {
      this.#end(running, again, "retried");
      return;
    }
    this.#options.log.warn(
      { id: lease.job.id, kind: lease.job.kind, attempts: lease.attempt, reason: outcome.reason },
      "a job was given up",
    );
    await this.#finishWith(running, policy, "exhausted", (tx) =>
      policy.onExhausted?.(tx, lease.job, outcome.reason, lease.attempt),
    );
  }

  async #finishWith(
    running: Running,
    policy: JobPolicy,
    ending: Ending,
    apply: (tx: Transaction) => Promise<void> | void,
  ): Promise<void> {
    const { lease } = running;
    try {
      await this.#options.store.transact(async (tx) => {
        if (await this.#queue.finish(tx, lease)) await apply(tx);
      });
      this.#leave(running, ending);
      const { owner } = lease.job;
      this.#change(owner, Number.POSITIVE_INFINITY);
      this.#owners.reconsider(owner);
      this.wake();
    } catch (error) {
      this.#options.log.error(
        { err: error, id: lease.job.id, kind: lease.job.kind },
        "the end of a job was not written",
      );
      const delayMs = policy.backoff(lease.attempt, this.#options.random ?? Math.random);
      const back: GiveBack = {
        atMs: this.#options.clock.now() + delayMs,
        isReady: false,
        countsAs: lease.attempt,
        reason: error instanceof Error ? error.message : String(error),
      };
      this.#end(running, back, "retried");
    }
  }

  #end(running: Running, back: GiveBack | undefined, ending: Ending | undefined): void {
    this.#ended.add({ running, back, ending });
    this.wake();
  }

  /** The end of a run is written, so it no longer runs and is counted. */
  #leave(running: Running, ending: Ending | undefined): void {
    this.#running.remove(running);
    if (ending !== undefined) this.#counts.add(running.lease.job.kind, ending);
  }

  /** When the job runs again, or undefined if it is exhausted. */
  #again(lease: Lease, policy: JobPolicy, outcome: JobRetry): GiveBack | undefined {
    const nowMs = this.#options.clock.now();
    const lastMs = lease.job.sinceMs + policy.ageMsMax;
    const notBeforeMs = outcome.notBeforeMs ?? 0;
    if (lease.attempt >= policy.attemptsMax || nowMs >= lastMs || notBeforeMs > lastMs) return undefined;
    const backoffMs = policy.backoff(lease.attempt, this.#options.random ?? Math.random);
    const atMs = Math.ceil(Math.max(notBeforeMs, Math.min(nowMs + backoffMs, lastMs)));
    return { atMs, isReady: atMs <= nowMs, countsAs: lease.attempt, reason: outcome.reason };
  }

  /** A run that was aborted because the process stops does not count as an attempt. */
  #interrupted(lease: Lease): GiveBack {
    return {
      atMs: lease.job.sinceMs,
      isReady: true,
      countsAs: lease.attempt - 1,
      reason: lease.job.lastReason,
    };
  }

  /** When the next job is due, an owner may go on, a lease ends, or a lease must be renewed. */
  #nextDueMs(): number {
    return Math.min(this.#due.nextMs, this.#running.renewMs, this.#owners.nextMs);
  }

  #wakeAt(atMs: number): void {
    if (!Number.isFinite(atMs) || this.#state !== "started") return;
    const { clock } = this.#options;
    // Always wait first: an entry that remains due (e.g. while its lease is renewed) would busy-loop.
    this.#cancelTimer = clock.schedule(Math.max(Math.ceil(atMs), clock.now() + 1), () => this.wake());
  }
}
