import type { ResolutionJobRecord } from "../../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { isExpired } from "../expiry.ts";

/** How long a job that has ended is listed, and what it found is shown unless a later one ends, in milliseconds. */
const jobLifetimeMs = 30 * 24 * 60 * 60 * 1000;

/** When a job expires; undefined: it has not ended. */
export const jobExpiryOf = ({ endMs }: ResolutionJobRecord): number | undefined =>
  endMs === 0n ? undefined : Number(endMs) + jobLifetimeMs;

/** Whether a job has ended and is not listed any more. */
export const isJobExpired = (record: ResolutionJobRecord, nowMs: number): boolean =>
  isExpired(jobExpiryOf(record) ?? Infinity, nowMs);

/** Whether a job has found all that it could. */
export const hasResults = ({ status }: ResolutionJobRecord): boolean =>
  status === "COMPLETED" || status === "PARTIAL_SUCCESS";
