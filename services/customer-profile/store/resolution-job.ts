import type { ResolutionJobRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import { resolutionJobs } from "./layout-resolution.ts";

/** A job of identity resolution with its identifier. */
export interface ResolutionJob {
  readonly jobId: Uint8Array;
  readonly record: ResolutionJobRecord;
}

/** A domain's jobs, the latest first. They are few: a week has three at most, and they expire. */
export const listResolutionJobs = async (reader: Reader, domainId: Uint8Array): Promise<ResolutionJob[]> => {
  const jobs: ResolutionJob[] = [];
  for await (const { key, value } of reader.range(resolutionJobs, { prefix: [domainId] }))
    jobs.push({ jobId: key[1], record: value });
  return jobs.toSorted((a, b) => Number(b.record.startMs - a.record.startMs));
};

/** A job; undefined if the domain has none of this identifier. */
export const findResolutionJob = (
  reader: Reader,
  domainId: Uint8Array,
  jobId: Uint8Array,
): Promise<ResolutionJobRecord | undefined> => reader.get(resolutionJobs, [domainId, jobId]);

export const putResolutionJob = (
  transaction: Transaction,
  domainId: Uint8Array,
  jobId: Uint8Array,
  record: ResolutionJobRecord,
): void => transaction.put(resolutionJobs, [domainId, jobId], record);

export const removeResolutionJob = (transaction: Transaction, domainId: Uint8Array, jobId: Uint8Array): void =>
  transaction.delete(resolutionJobs, [domainId, jobId]);
