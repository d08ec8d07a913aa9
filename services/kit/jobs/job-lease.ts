import { create } from "@bufbuild/protobuf";

import type { JobBody, JobState } from "../../../gen/quartet/kit/storage/v1/records_pb.ts";
import { JobBodySchema } from "../../../gen/quartet/kit/storage/v1/records_pb.ts";
import { currentTrace } from "../trace/current-trace.ts";
import { formatTraceparent } from "../trace/trace-context.ts";
import type { Job, NewJob } from "./job.ts";

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

/** Where the ready jobs of an owner begin: at an instant, or past one job of that instant. */
export interface ReadyFrom {
  readonly atMs: number;
  readonly afterId?: string;
}

/** Where an owner's ready jobs are read: past a job of which all before were taken, or from an instant on. */
export type TakeBegin = { readonly after: ReadyKey } | { readonly from: readonly [owner: string, atMs: number] };

/** How a job is put back. */
export interface GiveBack {
  readonly atMs: number;
  readonly isReady: boolean;
  /** The number of the job's attempts after this. */
  readonly countsAs: number;
  readonly reason: string;
}

/** The lease of a job that was just enqueued. */
export const leaseOf = (id: string, { kind, owner, payload, memo }: NewJob, state: JobState): Lease => {
  const sinceMs = Number(state.sinceMs);
  const job = { id, kind, owner, payload, memo, sinceMs, lastReason: "", trace: currentTrace() };
  return { job, attempt: 1, holder: state.runner, expiresMs: expiresOf(state), isNew: true };
};

/** The body of a job that is enqueued now, in the present trace. */
export const bodyOf = ({ payload }: Pick<NewJob, "payload">): JobBody => {
  const trace = currentTrace();
  const traced = trace === undefined ? {} : { traceParent: formatTraceparent(trace), traceState: trace.state };
  return create(JobBodySchema, { payload, ...traced });
};

/** The end of a job's age; infinite: it has none. */
export const expiresOf = ({ expiresMs }: JobState): number => Number(expiresMs) || Number.POSITIVE_INFINITY;
