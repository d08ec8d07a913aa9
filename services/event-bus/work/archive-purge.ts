import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import { ArchivePurgeRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { JobHandler, JobPolicy, Jobs } from "../../kit/jobs/jobs.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { Application } from "../application.ts";
import { deleteCounts, letEntriesGo } from "../store/archive.ts";

/** The kind of the jobs that let go what a deleted archive kept. */
export const purgeKind = "archive-purge";

export const purgePolicy: JobPolicy = { attemptsMax: Infinity, ageMsMax: Infinity, backoff: () => 1_000 };

/** Entries of one step. */
const stepSize = 500;

export const enqueuePurge = (jobs: Jobs, transaction: Transaction, account: string, archiveId: string): void => {
  const payload = toBinary(ArchivePurgeRecordSchema, create(ArchivePurgeRecordSchema, { account, archiveId }));
  jobs.enqueue(transaction, { kind: purgeKind, owner: `archive/${account}`, payload });
};

/** Lets some entries go and enqueues the next step, in one transaction, until there are none. */
export const purgeHandler =
  (app: Application): JobHandler =>
  (job) => {
    const { account, archiveId } = fromBinary(ArchivePurgeRecordSchema, job.payload);
    const apply = async (transaction: Transaction): Promise<void> => {
      const keptSinceMs = app.clock.now() - app.limits.eventLogMs;
      const { hasMore } = await letEntriesGo(transaction, account, archiveId, {
        beforeMs: undefined,
        keptSinceMs,
        limit: stepSize,
      });
      if (hasMore) enqueuePurge(app.jobs, transaction, account, archiveId);
      else await deleteCounts(transaction, account, archiveId);
    };
    return Promise.resolve({ done: true, apply });
  };
