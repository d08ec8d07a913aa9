import { setTimeout as delay } from "node:timers/promises";

import { StoreClosedError, StoreContentionError } from "../store/errors.ts";
import type { Transaction } from "../store/transaction.ts";
import type { JobHandler, JobOutcome, JobPolicy, JobRetry } from "./job.ts";
import type { GiveBack, JobQueue, Lease, Taken } from "./job-queue.ts";
import { unknownKindDelayMs } from "./job-queue.ts";
import { untraced, TracedCall } from "../trace/traced-call.ts";
import type { Ending, JobsStats } from "./job-counts.ts";
import { JobCounts } from "./job-counts.ts";
import type { JobsOptions } from "./job-options.ts";

interface Running {
  readonly lease: Lease;
  readonly abort: AbortController;
  untilMs: number;
}

/** A run that has ended and whose end is not yet written. */
interface Ended {
  readonly running: Running;
  /** Undefined: the job is done. */
  readonly back: GiveBack | undefined;
  /** How the run is counted once this is written. Undefined: not at all. */
  readonly ending: Ending | undefined;
}

/** The results of one cycle. */
interface Cycle {
  readonly renewed: readonly Running[];
  readonly lost: readonly Running[];
  readonly taken: Taken | undefined;
  readonly untilMs: number;
  /** Everything due before this instant has been made ready; undefined if the cycle did not check that. */
  readonly movedToMs: number | undefined;
  /** The earliest instant for which the cycle itself scheduled something. */
  readonly nextMs: number;
}

/** The number of jobs that one transaction moves from one queue to the next. */
const movedMax = 500;
const troubleDelayMs = 1_000;
const sharedPollMs = 1_000;

/**
 * Runs jobs in cycles. One cycle is one transaction: it writes the ends of the runs that ended since the last one,
 * renews leases, makes due jobs ready and leases as many as may run. So one synced write serves many jobs, and memory
 * holds only the running ones. A cycle runs when a job is enqueued, when a run ends, and when a job is due.
 */
export class JobRunner {
  readonly #queue: JobQueue;
  readonly #options: JobsOptions;
  readonly #name: string;
  readonly #concurrency: number;
  readonly #concurrencyPerOwner: number;
  readonly #leaseMs: number;
  readonly #running = new Set<Running>();
  readonly #idleWaiters: (() => void)[] = [];
  #ended: Ended[] = [];
  #cursor: string | undefined;
  #state: "new" | "started" | "stopping" | "stopped" = "new";
  #isWoken = false;
  #cycling: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  /** Before this instant no scheduled job is due and no lease ends. */
  #nextInstantMs = 0;
  /** The earliest instant of jobs that were scheduled after the cycle began, which it may not have seen. */
  #arrivedMs = Number.POSITIVE_INFINITY;
  #mustReclaimAll: boolean;
  readonly #counts: JobCounts;
  #cycles = 0;

  constructor(queue: JobQueue, options: JobsOptions) {
    this.#queue = queue;
    this.#options = options;
    this.#name = options.ids.uuid();
    this.#concurrency = options.concurrency ?? 64;
    this.#concurrencyPerOwner = options.concurrencyPerOwner ?? this.#concurrency;
    this.#leaseMs = options.leaseMs ?? 60_000;
    this.#mustReclaimAll = !(options.isShared ?? false);
    this.#counts = new JobCounts(Object.keys(options.handlers));
  }

  get stats(): JobsStats {
    const running = [...this.#running].map(({ lease }) => lease.job.kind);
    return { ...this.#counts.read(running), cycles: this.#cycles };
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

  /** A job has been scheduled for this instant. */
  expect(atMs: number): void {
    this.#arrivedMs = Math.min(this.#arrivedMs, atMs);
    if (atMs >= this.#nextInstantMs) return;
    this.#nextInstantMs = atMs;
    if (this.#cycling === undefined) this.#wakeAt(this.#nextDueMs());
  }

  abort(id: string): void {
    for (const running of this.#running)
      if (running.lease.job.id === id) running.abort.abort(new Error("the job was cancelled"));
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
        await this.#cycle();
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

  async #cycle(): Promise<void> {
    const { clock, store } = this.#options;
    const ended = this.#ended.splice(0);
    this.#arrivedMs = Number.POSITIVE_INFINITY;
    try {
      const cycle = await store.transact((tx) => this.#cycleOnce(tx, ended, clock.now()));
      this.#cycles += 1;
      this.#nextInstantMs = Math.min(cycle.movedToMs ?? this.#nextInstantMs, cycle.nextMs, this.#arrivedMs);
      for (const { running, ending } of ended) this.#leave(running, ending);
      for (const running of cycle.renewed) running.untilMs = cycle.untilMs;
      for (const running of cycle.lost) {
        // There is no lease to renew any more, so no instant to wake up for.
        running.untilMs = Number.POSITIVE_INFINITY;
        running.abort.abort(new Error("the job was given to another runner"));
      }
      if (this.#nextInstantMs <= clock.now()) this.#isWoken = true;
      else this.#mustReclaimAll = false;
      if (cycle.taken === undefined) return;
      this.#cursor = cycle.taken.cursor;
      for (const unknown of cycle.taken.unknown) this.#options.log.warn(unknown, "no handler for this kind of job");
      for (const lease of cycle.taken.leases) this.#begin(lease, cycle.untilMs);
    } catch (error) {
      this.#ended.unshift(...ended);
      throw error;
    }
  }

  /** The writes of one cycle. May run several times, so it changes nothing but its transaction. */
  async #cycleOnce(tx: Transaction, ended: readonly Ended[], nowMs: number): Promise<Cycle> {
    const untilMs = nowMs + this.#leaseMs;
    const active = new Set(this.#running);
    let nextMs = Number.POSITIVE_INFINITY;
    for (const { running, back } of ended) {
      active.delete(running);
      if (back === undefined) await this.#queue.finish(tx, running.lease);
      else if (await this.#queue.giveBack(tx, running.lease, back)) nextMs = Math.min(nextMs, back.atMs);
    }
    const { renewed, lost } = await this.#renew(tx, active, nowMs, untilMs);
    const movedToMs = nowMs < this.#nextInstantMs ? undefined : await this.#move(tx, nowMs);
    const taken = await this.#take(tx, active, nowMs, untilMs);
    if (taken !== undefined && taken.unknown.length > 0) nextMs = Math.min(nextMs, nowMs + unknownKindDelayMs);
    return { renewed, lost, taken, untilMs, movedToMs, nextMs };
  }

  /** Renews the leases of which less than half remains. */
  async #renew(tx: Transaction, active: ReadonlySet<Running>, nowMs: number, untilMs: number) {
    const renewed: Running[] = [];
    const lost: Running[] = [];
    for (const running of active) {
      if (running.untilMs - nowMs > this.#leaseMs / 2) continue;
      const isHeld = await this.#queue.renew(tx, running.lease, untilMs);
      (isHeld ? renewed : lost).push(running);
    }
    return { renewed, lost };
  }

  /** Makes due jobs and jobs of ended leases ready; returns the instant of the next ones. */
  async #move(tx: Transaction, nowMs: number): Promise<number> {
    const reclaimed = await this.#queue.reclaim(tx, nowMs, movedMax, this.#mustReclaimAll ? this.#name : undefined);
    const promoted = await this.#queue.promote(tx, nowMs, movedMax);
    if (reclaimed === movedMax || promoted === movedMax) return nowMs;
    const knownMs = await this.#queue.nextInstant(tx.snapshot);
    // Other processes of the store do not announce the jobs that they schedule or abandon.
    return this.#options.isShared === true ? Math.min(knownMs, nowMs + sharedPollMs) : knownMs;
  }

  async #take(
    tx: Transaction,
    active: ReadonlySet<Running>,
    nowMs: number,
    untilMs: number,
  ): Promise<Taken | undefined> {
    const count = this.#concurrency - active.size;
    if (this.#state !== "started" || count <= 0) return undefined;
    const runningOf = new Map<string, number>();
    for (const { lease } of active) runningOf.set(lease.job.owner, (runningOf.get(lease.job.owner) ?? 0) + 1);
    return await this.#queue.take(tx, {
      runner: this.#name,
      nowMs,
      untilMs,
      count,
      cursor: this.#cursor,
      ownerRoom: (owner) => this.#concurrencyPerOwner - (runningOf.get(owner) ?? 0),
      knows: (kind) => Object.hasOwn(this.#options.handlers, kind),
    });
  }

  #begin(lease: Lease, untilMs: number): void {
    const running: Running = { lease, untilMs, abort: new AbortController() };
    this.#running.add(running);
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
    await this.#finishWith(running, policy, "exhausted", (tx) => policy.onExhausted?.(tx, lease.job, outcome.reason));
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
    this.#ended.push({ running, back, ending });
    this.wake();
  }

  /** The end of a run is written, so it no longer runs and is counted. */
  #leave(running: Running, ending: Ending | undefined): void {
    this.#running.delete(running);
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

  /** When the next job is due, a lease ends, or a lease must be renewed. */
  #nextDueMs(): number {
    let nextMs = this.#nextInstantMs;
    for (const { untilMs } of this.#running) nextMs = Math.min(nextMs, untilMs - this.#leaseMs / 2);
    return nextMs;
  }

  #wakeAt(atMs: number): void {
    if (!Number.isFinite(atMs) || this.#state !== "started") return;
    const { clock } = this.#options;
    // Always wait first: an entry that remains due (e.g. while its lease is renewed) would busy-loop.
    this.#cancelTimer = clock.schedule(Math.max(Math.ceil(atMs), clock.now() + 1), () => this.wake());
  }
}
