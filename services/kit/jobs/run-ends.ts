import {
  StoreClosedError,
  StoreContentionError,
  StoreFullError,
  StoreOverloadedError,
  StoreWriteError,
} from "../store/errors.ts";
import type { JobPolicy, JobRetry } from "./job.ts";
import type { GiveBack, Lease } from "./job-lease.ts";

/** How a job is put back to run again, or undefined if it is exhausted. */
export const runAgain = (
  lease: Lease,
  policy: JobPolicy,
  { notBeforeMs = 0, reason }: JobRetry,
  nowMs: number,
  random: () => number,
): GiveBack | undefined => {
  const lastMs = lease.job.sinceMs + policy.ageMsMax;
  if (lease.attempt >= policy.attemptsMax || nowMs >= lastMs || notBeforeMs > lastMs) return undefined;
  const backoffMs = policy.backoff(lease.attempt, random);
  const atMs = Math.ceil(Math.max(notBeforeMs, Math.min(nowMs + backoffMs, lastMs)));
  return { atMs, isReady: atMs <= nowMs, countsAs: lease.attempt, reason };
};

/** How a job is put back whose run was aborted because the process stops: it does not count as an attempt. */
export const interrupted = ({ job, attempt }: Lease): GiveBack => ({
  atMs: job.sinceMs,
  isReady: true,
  countsAs: attempt - 1,
  reason: job.lastReason,
});

/** How a job is put back whose end could not be written. */
export const notWritten = (
  lease: Lease,
  policy: JobPolicy,
  error: unknown,
  nowMs: number,
  random: () => number,
): GiveBack => ({
  atMs: nowMs + policy.backoff(lease.attempt, random),
  isReady: false,
  countsAs: lease.attempt,
  reason: error instanceof Error ? error.message : String(error),
});

/** Whether a transaction failed for a reason that has nothing to do with what it writes. */
export const isOfStore = (error: unknown): boolean =>
  [StoreClosedError, StoreContentionError, StoreFullError, StoreOverloadedError, StoreWriteError].some(
    (kind) => error instanceof kind,
  );

/** What is logged of a job that was given up while its kind could not do what it does then. */
export const endsAlone = "a job that was given up ends without what follows, for which a damaged record is needed";
