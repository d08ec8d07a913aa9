import type { Transaction } from "../store/transaction.ts";
import type { TraceContext } from "../trace/trace-context.ts";

/** Work that is done later, at least once. */
export interface Job {
  readonly id: string;
  /** The name of its handler. */
  readonly kind: string;
  /** The owner; owners take turns. */
  readonly owner: string;
  readonly payload: Uint8Array;
  /** The instant from which its age counts, in milliseconds since 1970. */
  readonly sinceMs: number;
  /** That of the new job, in a run that follows its commit at once. Undefined: all is to be read. */
  readonly memo?: JobMemo | undefined;
  /** Why the last run did not finish it; empty before the first run. */
  readonly lastReason: string;
  /** The trace of the work that enqueued it, of which its runs are part. Unset: none. */
  readonly trace?: TraceContext | undefined;
}

/** A job to enqueue. */
export interface NewJob {
  readonly kind: string;
  readonly owner: string;
  readonly payload: Uint8Array;
  /** Not before this instant, in milliseconds since 1970. Unset: now. */
  readonly dueMs?: number;
  /**
   * When its age ends, in milliseconds since 1970: a job that is ready a second later is exhausted without a run, also
   * if its owner may not start one. Unset: never.
   */
  readonly expiresMs?: number;
  /** Unset: a new one. Replaces a job with the same id. */
  readonly id?: string;
  /** What a run that follows the commit at once need not read. Not stored; dropped when there is no room for it. */
  readonly memo?: JobMemo | undefined;
}

/** A value that a job has in memory. */
export interface JobMemo {
  readonly value: unknown;
  /** About the memory that it needs. */
  readonly bytes: number;
}

/** Facts about a run, for its handler. */
export interface JobContext {
  /** Aborted when the job is cancelled or the process stops. */
  readonly signal: AbortSignal;
  /** 1 for the first run. */
  readonly attempt: number;
}

/** The job is finished. */
export interface JobDone {
  readonly done: true;
  /** Writes in the transaction that removes the job. */
  readonly apply?: (transaction: Transaction) => Promise<void> | void;
  /** `apply` may share its transaction with the ends of other runs, which costs less; it must not read much then. */
  readonly isBrief?: boolean;
}

/** Run it again after its back-off. */
export interface JobRetry {
  readonly retry: true;
  readonly reason: string;
  /** Not before this instant, in milliseconds since 1970, for example from a Retry-After. */
  readonly notBeforeMs?: number;
}

/** The job will never succeed, so it is exhausted now. */
export interface JobFailed {
  readonly failed: true;
  readonly reason: string;
}

/** How a run ended. A handler that throws is run again. */
export type JobOutcome = JobDone | JobRetry | JobFailed;

/** Runs one kind of job. It may run twice for the same job, so its effects must be repeatable. */
export type JobHandler = (job: Job, context: JobContext) => Promise<JobOutcome>;

/** How long one kind of job is tried. */
export interface JobPolicy {
  /** Runs before the job is exhausted. */
  readonly attemptsMax: number;
  /** Age at which the job is exhausted, in milliseconds; no run starts later. */
  readonly ageMsMax: number;
  /** Milliseconds to wait after the given attempt; `random` returns 0 <= x < 1. */
  backoff(attempt: number, random: () => number): number;
  /** Runs in the transaction that removes an exhausted job, which has had `attempts` runs. Unset: it is only logged. */
  onExhausted?(transaction: Transaction, job: Job, reason: string, attempts: number): Promise<void> | void;
}

/** The reason with which a job is exhausted whose age ended while it was ready. */
export const expiredReason = "the job's age ended before it was run";

/** Doubles from `firstMs` to `maxMs`; up to half of each delay is left out at random, so that retries spread out. */
export const exponentialBackoff =
  (options: { readonly firstMs: number; readonly maxMs: number }): JobPolicy["backoff"] =>
  (attempt, random) => {
    const fullMs = Math.min(options.maxMs, options.firstMs * 2 ** Math.min(attempt - 1, 52));
    return Math.round(fullMs * (0.5 + random() / 2));
  };
