/**
 * Jobs of identity resolution. Each operation refuses, in this order: (1) a page token of another listing, (2) a domain
 * that does not exist, (3) a job that does not exist or has expired. They need no key of the domain, and show the jobs
 * of a domain that has identity resolution disabled as well.
 */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { ResolutionJobRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { Operation } from "../application.ts";
import { idBytes, idText } from "../domain/identifier.ts";
import { isJobExpired, jobExpiryOf } from "../domain/resolution/job-state.ts";
import { fault } from "../faults.ts";
import { getDomain } from "../store/domain.ts";
import { findResolutionJob, listResolutionJobs } from "../store/resolution-job.ts";

/** Returns what a job has done, or when it is due. */
export const getIdentityResolutionJob: Operation<"getIdentityResolutionJob"> = (
  { domainName, jobId },
  { app, access },
) =>
  app.store.read(async (reader) => {
    const { domainId } = await getDomain(reader, access.accountId, domainName);
    const record = await findResolutionJob(reader, domainId, idBytes(jobId));
    if (record === undefined || isJobExpired(record, app.clock.now()))
      throw fault(ErrorReason.RESOLUTION_JOB_NOT_FOUND, { job_id: jobId });
    const expireMs = jobExpiryOf(record);
    return {
      ...jobItem(domainName, jobId, record),
      lastUpdatedAt: timestampFromMs(Number(record.updatedMs)),
      ...(record.autoMerging !== undefined && { autoMerging: record.autoMerging }),
      ...(expireMs !== undefined && { jobExpirationTime: timestampFromMs(expireMs) }),
    };
  });

/** Lists the jobs of a domain, the latest first. */
export const listIdentityResolutionJobs: Operation<"listIdentityResolutionJobs"> = async (request, context) => {
  const { app, access } = context;
  const { domainName } = request;
  const page = app.pages.open(context, request, [domainName]);
  const nowMs = app.clock.now();
  const jobs = await app.store.read(async (reader) => {
    const { domainId } = await getDomain(reader, access.accountId, domainName);
    return listResolutionJobs(reader, domainId);
  });

  const listed = jobs.filter(({ record }) => !isJobExpired(record, nowMs));
  const left = listed.filter(({ record }) => page.after === undefined || record.startMs < BigInt(page.after));
  const { items, ...next } = page.cut(left.slice(0, page.lookFor), ({ record }) => String(record.startMs));
  return {
    identityResolutionJobsList: items.map(({ jobId, record }) => jobItem(domainName, idText(jobId), record)),
    ...next,
  };
};

const jobItem = (domainName: string, jobId: string, record: ResolutionJobRecord) => ({
  domainName,
  jobId,
  status: record.status,
  ...(record.message !== "" && { message: record.message }),
  jobStartTime: timestampFromMs(Number(record.startMs)),
  ...(record.endMs !== 0n && { jobEndTime: timestampFromMs(Number(record.endMs)) }),
  jobStats: {
    numberOfProfilesReviewed: record.profilesReviewed,
    numberOfMatchesFound: record.matchesFound,
    numberOfMergesDone: record.mergesDone,
  },
});
