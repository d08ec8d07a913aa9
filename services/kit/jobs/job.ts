import type { Transaction } from "../store/transaction.ts";
import type { TraceContext } from "../trace/trace-context.ts";

/** Work that is done later, at least once. */
export interface Job {
  readonly id: string;
  /** Which handler runs it. */
  readonly kind: string;
  /** Whose it is: owners take turns. */
  readonly owner: string;
  readonly payload: Uint8Array;
  /** From when its age counts, in milliseconds since 1970. */
  readonly sinceMs: number;
  /** Why the last run did not finish it; empty when there was none. */
  readonly lastReason: string;
  /** Where the work that enqueued it stands in a trace, of which its runs are part. Unset: in none. */
  readonly trace?: TraceContext | undefined;
}

/** What is enqueued. */
export interface NewJob {
  readonly kind: string;
  readonly owner: string;
  readonly payload: Uint8Array;
  /** Not before this instant, in milliseconds since 1970. Unset: now. */
  readonly dueMs?: number;
  /** Unset: a new one. A job with an id that is there already takes the place of that one. */
  readonly id?: string;
}

/** What a run gives its handler beside the job. */
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
}

/** Run it again after its back-off. */
export interface JobRetry {
  readonly retry: true;
  readonly reason: string;
  /** Not before this instant, in milliseconds since 1970, for example from a Retry-After. */
  readonly notBeforeMs?: number;
}

/** It will never succeed: what the kind does on exhaustion is done now. */
export interface JobFailed {
  readonly failed: true;
  readonly reason: string;
}

/** How a run ended. A handler that throws asks for another run. */
export type JobOutcome = JobDone | JobRetry | JobFailed;

/** Runs one kind of job. It may run twice for the same job, so its effects must bear repetition. */
export type JobHandler = (job: Job, context: JobContext) => Promise<JobOutcome>;

/** How long one kind of job is tried. */
export interface JobPolicy {
  /** Runs before the job is exhausted. */
  readonly attemptsMax: number;
  /** Age at which the job is exhausted, in milliseconds; the last run is not begun later. */
  readonly ageMsMax: number;
  /** Milliseconds to wait after the given attempt; `random` gives 0 <= x < 1. */
  backoff(attempt: number, random: () => number): number;
  /** What happens when the job is given up, in the transaction that removes it. Unset: it is only logged. */
  onExhausted?(transaction: Transaction, job: Job, reason: string): Promise<void> | void;
}

/** Doubles from `firstMs` to `maxMs`; a random half of each delay is left out, so that those who failed together do not return together. */
export const exponentialBackoff =
  (options: { readonly firstMs: number; readonly maxMs: number }): JobPolicy["backoff"] =>
  (attempt, random) => {
    const fullMs = Math.min(options.maxMs, options.firstMs * 2 ** Math.min(attempt - 1, 52));
    return Math.round(fullMs * (0.5 + random() / 2));
  };
