import type { Reader, Transaction } from "../store/transaction.ts";
import type { Job, NewJob } from "./job.ts";
import type { JobsStats } from "./job-counts.ts";
import type { JobsOptions } from "./job-options.ts";
import { JobQueue } from "./job-queue.ts";
import { countDue } from "./job-reads.ts";
import { JobRunner } from "./job-runner.ts";

export type {
  Job,
  JobContext,
  JobDone,
  JobFailed,
  JobHandler,
  JobOutcome,
  JobPolicy,
  JobRetry,
  JobMemo,
  NewJob,
} from "./job.ts";
export { expiredReason, exponentialBackoff } from "./job.ts";
export type { JobsCounts, JobsStats } from "./job-counts.ts";
export type { JobsOptions, OwnerGate, OwnerPlace, OwnerRoom, PoolBounds } from "./job-options.ts";
export { jobTables } from "./job-tables.ts";
export type { JobTables } from "./job-tables.ts";

/** The state of a job that has not ended. */
export interface JobStatus {
  readonly job: Job;
  readonly isRunning: boolean;
  /** Runs that counted as attempts. */
  readonly attempts: number;
  /** The job does not run before this instant, in milliseconds since 1970. */
  readonly dueMs: number;
}

/** A durable queue of work. */
export interface Jobs {
  /** Adds a job when the transaction commits; returns its id. Replaces a job with the same id. */
  enqueue(transaction: Transaction, job: NewJob): string;
  /** Removes a job when the transaction commits, and aborts its run. False if it does not exist. */
  cancel(transaction: Transaction, id: string): Promise<boolean>;
  /** Starts to run due jobs. */
  start(): void;
  /** Leases no more jobs, waits for those that run, and aborts them after the limit in milliseconds. Unset: 10,000. */
  stop(limitMs?: number): Promise<void>;
  /** Resolves when nothing runs and nothing is due. */
  idle(): Promise<void>;
  stats(): JobsStats;
  /** The state of a job; undefined: it has ended, or never was. */
  find(reader: Reader, id: string): Promise<JobStatus | undefined>;
  /** About the number of jobs that may run now and do not yet, at most `limit`. */
  countDue(limit: number): Promise<number>;
}

/** Creates the queue; nothing runs before `start`. Throws if a kind has a handler or a policy, but not both. */
export const createJobs = (options: JobsOptions): Jobs => {
  for (const kind of new Set([...Object.keys(options.handlers), ...Object.keys(options.policy)]))
    if (!Object.hasOwn(options.handlers, kind) || !Object.hasOwn(options.policy, kind))
      throw new Error(`job kind ${kind} needs a handler and a policy`);
  const name = options.ids.uuid();
  const queue = new JobQueue(options.tables, { name: name.slice(0, 8), isShared: options.isShared ?? false });
  const runner = new JobRunner(queue, options, name);
  return {
    enqueue(transaction, job) {
      const nowMs = options.clock.now();
      const id = job.id ?? options.ids.uuidAt(nowMs);
      if (job.id !== undefined) runner.replace(id);
      const { readyMs, instants, lease } = queue.enqueue(transaction, id, job, nowMs, runner.mayHand(job));
      transaction.afterCommit(() => {
        runner.expect(instants);
        if (readyMs !== undefined) runner.addReady(job.owner, readyMs, lease);
      });
      return id;
    },
    async cancel(transaction, id) {
      const isThere = await queue.cancel(transaction, id);
      if (isThere) transaction.afterCommit(() => runner.abort(id));
      return isThere;
    },
    find: async (reader, id) => {
      const found = await queue.find(reader, id);
      return found && { ...found, isRunning: found.isRunning || runner.isRunning(id) };
    },
    start: () => runner.start(),
    stop: (limitMs) => runner.stop(limitMs),
    idle: () => runner.idle(),
    stats: () => runner.stats,
    async countDue(limit) {
      const { ready, fresh } = runner.counted;
      const without = options.isShared === true ? 0 : ready;
      const nowMs = options.clock.now();
      const count = await options.store.read((reader) => countDue(options.tables, reader, nowMs, limit + without));
      return Math.min(limit, Math.max(0, count - without) + fresh);
    },
  };
};
