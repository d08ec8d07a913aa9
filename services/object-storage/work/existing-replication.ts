import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import type { ReplicationWalkRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ReplicationWalkRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { JobHandler, Jobs } from "../../kit/jobs/jobs.ts";
import type { Logger } from "../../kit/log/log.ts";
import { undefinedIfDamaged } from "../../kit/store/damage.ts";
import type { Store, Transaction } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import { isForExisting, replicable } from "../domain/replication.ts";
import { limits } from "../limits.ts";
import type { Bucket } from "../store/bucket.ts";
import { findBucket } from "../store/bucket.ts";
import { versions } from "../store/layout.ts";
import { findReplication } from "../store/replication.ts";
import { jobOwner } from "./job-pools.ts";
import { planCopies } from "./replication-plan.ts";

/** The kind of the jobs that plan copies of what a bucket had before its rules. */
export const existingReplicationJob = "existing-replication";

type Walk = Omit<ReplicationWalkRecord, "$typeName" | "$unknown">;

/** Plans copies of what is there already. */
export interface ExistingReplications {
  /** All versions of a bucket are walked, in the background; `isElsewhere`: copies go to another region. */
  begin(transaction: Transaction, bucket: Bucket, isElsewhere: boolean): void;
}

/** Plans them as jobs. */
export const createExistingReplications = (jobs: Pick<Jobs, "enqueue">): ExistingReplications => ({
  begin(transaction, { name: bucket, bucketId, accountId, replicationWalkId: walkId }, isElsewhere) {
    const owner = jobOwner(isElsewhere ? "region-copies" : "copies", accountId);
    const start = { bucket, bucketId, walkId, afterKey: "", afterSequence: 0n, plannedCount: 0n };
    enqueueStep(jobs, transaction, owner, start);
  },
});

const enqueueStep = (jobs: Pick<Jobs, "enqueue">, transaction: Transaction, owner: string, walk: Walk): void => {
  const payload = toBinary(ReplicationWalkRecordSchema, create(ReplicationWalkRecordSchema, walk));
  jobs.enqueue(transaction, { kind: existingReplicationJob, owner, payload });
};

/** What the steps of walks need. */
export interface ExistingReplicationOptions {
  readonly store: Store;
  readonly jobs: () => Pick<Jobs, "enqueue">;
  readonly log: Pick<Logger, "info">;
}

/**
 * Plans copies of some hundred versions, in one transaction, and the next step, which waits for its turn behind them:
 * so no more copies wait than that. Repeating it changes nothing, because a copy that is there is not made again. A
 * walk ends when the rules are replaced, which begins another one.
 */
export const doExistingReplicationStep =
  ({ store, jobs, log }: ExistingReplicationOptions): JobHandler =>
  async (job, { signal }) => {
    const before = fromBinary(ReplicationWalkRecordSchema, job.payload);
    const { walk, isDone } = await store.transact((transaction) => planBatch(transaction, jobs(), before), { signal });
    if (isDone) {
      const { bucket, plannedCount } = walk;
      log.info({ bucket, versions: Number(plannedCount) }, "copies of what was there before the rules are planned");
      return { done: true };
    }
    return { done: true, apply: (transaction) => enqueueStep(jobs(), transaction, job.owner, walk) };
  };

const planBatch = async (
  transaction: Transaction,
  jobs: Pick<Jobs, "enqueue">,
  { $typeName: _type, ...before }: ReplicationWalkRecord,
): Promise<{ readonly walk: Walk; readonly isDone: boolean }> => {
  const { bucketId, walkId, afterKey, afterSequence } = before;
  const bucket = await findBucket(transaction, before.bucket);
  const rules = bucket?.bucketId === bucketId ? await findReplication(transaction, bucketId) : undefined;
  if (bucket?.replicationWalkId !== walkId || rules === undefined || bucket.versioning !== "Enabled")
    return { walk: before, isDone: true };
  const range = {
    prefix: [bucketId] as [string],
    ...(afterKey !== "" && { after: [bucketId, afterKey, Number(afterSequence)] as const }),
    limit: limits.replicationWalkBatch,
  };
  const walk = { ...before };
  let read = 0;
  for await (const { key: found, value } of walkTable(transaction.snapshot, versions, range)) {
    read += 1;
    const [, key, sequence] = found;
    walk.afterKey = key;
    walk.afterSequence = BigInt(sequence);
    // A damaged version is on the list of the scrub.
    const version = value && (await transaction.get(versions, found).catch(undefinedIfDamaged));
    if (version === undefined) continue;
    const destinations = [...rules.rulesFor(replicable(key, version))]
      .filter(([, rule]) => isForExisting(rule))
      .map(([destination]) => destination);
    await planCopies(transaction, jobs, bucket, { key, sequence, version }, destinations);
    if (destinations.length > 0) walk.plannedCount += 1n;
  }
  return { walk, isDone: read < limits.replicationWalkBatch };
};
