import type { Job } from "./job.ts";

/** The right to run a job; in a shared queue until an instant. */
export interface Lease {
  readonly job: Job;
  readonly attempt: number;
  /** Differs for each job and, in a shared queue, each lease: a job that replaced another may have the same id. */
  readonly holder: string;
  /** From when on the job may be removed as long as it does not run; infinite in a shared queue: a lease holds it. */
  readonly expiresMs: number;
  /** Whether the job has the one record of a new job. */
  readonly isNew: boolean;
}

/** The jobs of a queue that run in this process. */
export interface RunningHere {
  has(id: string, holder: string): boolean;
  /** The runs of an owner whose jobs are among the ready ones. */
  readyCountOf(owner: string): number;
}

/** Which runner takes jobs. */
export interface TakeOptions {
  readonly runner: string;
  readonly nowMs: number;
  readonly untilMs: number;
  readonly running: RunningHere;
  knows(kind: string): boolean;
}

/** The key of a ready job's entry. */
export type ReadyKey = readonly [owner: string, atMs: number, id: string];

/** How a job is put back. */
export interface GiveBack {
  readonly atMs: number;
  readonly isReady: boolean;
  /** The number of the job's attempts after this. */
  readonly countsAs: number;
  readonly reason: string;
}
