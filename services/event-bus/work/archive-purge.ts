import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import { ArchivePurgeRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { JobHandler, JobPolicy, Jobs } from "../../kit/jobs/jobs.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { Application } from "../application.ts";
import { deleteCounts, deleteEntries } from "../store/archive.ts";

/** The kind of the jobs that delete the entries of deleted archives. */
export const archivePurgeKind = "archive-purge";

/** A purge is retried until it succeeds. */
export const archivePurgePolicy: JobPolicy = { attemptsMax: Infinity, ageMsMax: Infinity, backoff: () => 1_000 };

/** Entries of one step. */
const stepSize = 500;

/** Enqueues the next step of an archive's purge. */
export const enqueueArchivePurge = (jobs: Jobs, transaction: Transaction, account: string, archiveId: string): void => {
  const payload = toBinary(ArchivePurgeRecordSchema, create(ArchivePurgeRecordSchema, { account, archiveId }));
  jobs.enqueue(transaction, { kind: archivePurgeKind, owner: `archive/${account}`, payload });
};

/** Deletes some entries and enqueues the next step, in one transaction, until no entry is left. */
export const archivePurgeHandler =
  (app: Application): JobHandler =>
  (job) => {
    const { account, archiveId } = fromBinary(ArchivePurgeRecordSchema, job.payload);
    const apply = async (transaction: Transaction): Promise<void> => {
      const keptSinceMs = app.clock.now() - app.limits.eventLogMs;
      const { hasMore } = await deleteEntries(transaction, account, archiveId, {
        beforeMs: undefined,
        keptSinceMs,
        limit: stepSize,
      });
      if (hasMore) enqueueArchivePurge(app.jobs, transaction, account, archiveId);
      else await deleteCounts(transaction, account, archiveId);
    };
    return Promise.resolve({ done: true, apply });
  };
