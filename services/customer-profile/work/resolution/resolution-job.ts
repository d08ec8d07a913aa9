import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import type {
  ResolutionJobRecord,
  ResolutionRun,
} from "../../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import {
  ResolutionJobRecordSchema,
  ResolutionRunSchema,
} from "../../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { MatchingResponse } from "../../../../gen/quartet/customerprofile/v1/matching_pb.ts";
import type { Jobs } from "../../../kit/jobs/jobs.ts";
import type { Transaction } from "../../../kit/store/transaction.ts";
import { idText } from "../../domain/identifier.ts";
import { nextJobMs } from "../../domain/resolution/resolution-schedule.ts";
import { findResolution, findResolutions, putResolutions } from "../../store/resolution.ts";
import type { ResolutionJob } from "../../store/resolution-job.ts";
import { listResolutionJobs, putResolutionJob, removeResolutionJob } from "../../store/resolution-job.ts";
import { enqueueResolutionPurge } from "./resolution-purge.ts";

/** The kind of the jobs that find the matches of domains, one for each domain that has it enabled. */
export const resolutionKind = "identity-resolution";

/** The beginning of the owners of these jobs, one for each account. */
const ownerPrefix = "resolutions/";

/** True for the owner of jobs that find matches. */
export const ownsResolutions = (owner: string): boolean => owner.startsWith(ownerPrefix);

/** The run that a job carries out. */
export const runOfJob = (payload: Uint8Array): ResolutionRun => fromBinary(ResolutionRunSchema, payload);

const queuedId = (domainId: Uint8Array): string => `resolution:${idText(domainId)}`;

/** Enqueues the work of a job, in the place of what the domain has. */
export const enqueueResolution = async (
  jobs: Jobs,
  transaction: Transaction,
  account: string,
  { domainId, jobId, dueMs }: { readonly domainId: Uint8Array; readonly jobId: Uint8Array; readonly dueMs: number },
): Promise<void> => {
  const id = queuedId(domainId);
  await jobs.cancel(transaction, id);
  const payload = toBinary(ResolutionRunSchema, create(ResolutionRunSchema, { domainId, jobId }));
  jobs.enqueue(transaction, { kind: resolutionKind, owner: `${ownerPrefix}${account}`, payload, dueMs, id });
};

/** Plans the next job of a domain. A whole one compares all profiles. */
export const planJob = async (
  jobs: Jobs,
  transaction: Transaction,
  planned: {
    readonly domainId: Uint8Array;
    readonly resolution: { readonly resolutionId: Uint8Array; readonly account: string };
    readonly jobId: Uint8Array;
    readonly matching: MatchingResponse | undefined;
    readonly isWhole: boolean;
    readonly nowMs: number;
  },
): Promise<void> => {
  const { domainId, resolution, jobId, matching, isWhole, nowMs } = planned;
  const earlier = await listResolutionJobs(transaction, domainId);
  const dueMs = nextJobMs(matching?.jobSchedule, nowMs, begunOf(earlier));
  const record = create(ResolutionJobRecordSchema, {
    resolutionId: resolution.resolutionId,
    status: "PENDING",
    startMs: BigInt(dueMs),
    updatedMs: BigInt(nowMs),
    isWhole,
  });
  putResolutionJob(transaction, domainId, jobId, record);
  await enqueueResolution(jobs, transaction, resolution.account, { domainId, jobId, dueMs });
};

const begunOf = (earlier: readonly ResolutionJob[]): number[] =>
  earlier.filter(({ record }) => record.status !== "PENDING").map(({ record }) => Number(record.startMs));

/** A domain whose settings were put, with what its transaction must not draw itself. */
interface PutMatching {
  readonly domainId: Uint8Array;
  readonly account: string;
  readonly domainName: string;
  readonly matching: MatchingResponse | undefined;
  readonly newResolutionId: Uint8Array;
  readonly newJobId: Uint8Array;
  readonly nowMs: number;
}

/** Begins, reschedules or ends the identity resolution of a domain, as its settings say. */
export const applyMatching = async (jobs: Jobs, transaction: Transaction, put: PutMatching): Promise<void> => {
  const { domainId, account, domainName, matching, nowMs } = put;
  const resolution = await findResolution(transaction, domainId);
  if (matching?.enabled !== true) return endResolution(jobs, transaction, domainId, nowMs);
  if (resolution === undefined) {
    const rulesId = (await findResolutions(transaction, domainId))?.rulesId ?? new Uint8Array();
    const begun = { resolutionId: put.newResolutionId, account, domainName, rulesId };
    putResolutions(transaction, domainId, begun);
    const planned = { domainId, resolution: begun, jobId: put.newJobId, matching, isWhole: true, nowMs };
    return planJob(jobs, transaction, planned);
  }
  // A job that runs plans the next one when it ends, by the settings of that time.
  const pending = (await listResolutionJobs(transaction, domainId)).find(({ record }) => record.status === "PENDING");
  if (pending === undefined) return;
  const { jobId, record } = pending;
  await planJob(jobs, transaction, { domainId, resolution, jobId, matching, isWhole: record.isWhole, nowMs });
};

/** Ends the identity resolution of a domain, if it has one: what it found is not seen any more, and is removed. */
export const endResolution = async (
  jobs: Jobs,
  transaction: Transaction,
  domainId: Uint8Array,
  nowMs: number,
): Promise<void> => {
  const resolution = await findResolution(transaction, domainId);
  if (resolution === undefined) return;
  putResolutions(transaction, domainId, { ...resolution, resolutionId: new Uint8Array() });
  await jobs.cancel(transaction, queuedId(domainId));
  for (const { jobId, record } of await listResolutionJobs(transaction, domainId))
    if (record.status === "PENDING") removeResolutionJob(transaction, domainId, jobId);
    else if (record.endMs === 0n)
      putResolutionJob(transaction, domainId, jobId, endedJob(record, "FAILED", "it was disabled", nowMs));
  enqueueResolutionPurge(jobs, transaction, resolution.account, resolution.resolutionId);
};

/** A job that has ended. */
export const endedJob = (
  record: ResolutionJobRecord,
  status: "COMPLETED" | "PARTIAL_SUCCESS" | "FAILED",
  message: string,
  nowMs: number,
): ResolutionJobRecord => ({ ...record, status, message, endMs: BigInt(nowMs), updatedMs: BigInt(nowMs) });
