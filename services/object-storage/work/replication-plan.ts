import { create, toBinary } from "@bufbuild/protobuf";

import type { ReplicationRecord, VersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import {
  ReplicationRecordSchema,
  ReplicationStepRecordSchema,
} from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Jobs } from "../../kit/jobs/jobs.ts";
import type { Transaction } from "../../kit/store/store.ts";
import { isReplica, replicable, replicaStatus } from "../domain/replication.ts";
import type { ChangeOrigin, ObjectChange } from "../events/event-outbox.ts";
import type { Bucket } from "../store/bucket.ts";
import { hasBucket } from "../store/bucket.ts";
import { versions } from "../store/layout.ts";
import { findReplication } from "../store/replication.ts";
import { jobOwner } from "./job-pools.ts";

/** The kind of the jobs that copy a version into another bucket. */
export const replicationJob = "replication";

/** Plans the copies of what changes. */
export interface Replications {
  /** Adds the copies that rules ask for to the transaction of a change: both are committed or neither. */
  plan(transaction: Transaction, origin: ChangeOrigin, bucket: Bucket, change: ObjectChange): Promise<void>;
}

/** The changes that are copied; a deletion of a version by its id is not. */
const copiedChanges: ReadonlySet<ObjectChange["kind"]> = new Set([
  "created",
  "marker-created",
  "tagged",
  "untagged",
  "acl-changed",
]);

/**
 * Plans copies as jobs. New versions are copied, and later changes of their tags and ACLs; not what was there before
 * the rules, replicas, or delete markers that lifecycle rules make.
 */
export const createReplications = (jobs: Pick<Jobs, "enqueue">): Replications => ({
  async plan(transaction, origin, bucket, { kind, key, sequence }) {
    if (!bucket.hasReplication || bucket.versioning !== "Enabled" || !copiedChanges.has(kind)) return;
    if (kind === "marker-created" && origin.requestId === "") return;
    const rules = await findReplication(transaction, bucket.bucketId);
    const version = await transaction.get(versions, [bucket.bucketId, key, sequence]);
    if (rules === undefined || version === undefined || isReplica(version)) return;
    const isNew = kind === "created" || kind === "marker-created";
    if (!isNew && version.replication === undefined) return;
    const destinations = [...rules.rulesFor(replicable(key, version)).keys()];
    await planCopies(transaction, jobs, bucket, { key, sequence, version }, destinations);
  },
});

/** A version of which copies are planned. */
interface PlannedVersion {
  readonly key: string;
  readonly sequence: number;
  readonly version: VersionRecord;
}

/** Plans the copies of a version into buckets, besides those that are pending. A replica stays one. */
export const planCopies = async (
  transaction: Transaction,
  jobs: Pick<Jobs, "enqueue">,
  bucket: Bucket,
  { key, sequence, version }: PlannedVersion,
  destinations: readonly string[],
): Promise<void> => {
  if (destinations.length === 0) return;
  const pending = [...new Set([...(version.replication?.pending ?? []), ...destinations])];
  const status = isReplica(version) ? replicaStatus : "PENDING";
  putReplication(transaction, bucket.bucketId, key, sequence, version, { status, pending });
  for (const destination of destinations) {
    // It only chooses where the copy waits.
    const isHere = await hasBucket(transaction.snapshot, destination);
    jobs.enqueue(transaction, {
      id: `${replicationJob}/${bucket.bucketId}/${sequence}/${destination}/${key}`,
      kind: replicationJob,
      owner: jobOwner(isHere ? "copies" : "region-copies", bucket.accountId),
      payload: toBinary(
        ReplicationStepRecordSchema,
        create(ReplicationStepRecordSchema, {
          bucket: bucket.name,
          bucketId: bucket.bucketId,
          key,
          sequence: BigInt(sequence),
          destination,
        }),
      ),
    });
  }
};

/** Stores how far the copies of a version are. */
export const putReplication = (
  transaction: Transaction,
  bucketId: string,
  key: string,
  sequence: number,
  version: VersionRecord,
  replication: Partial<ReplicationRecord> & { readonly status: string; readonly pending: string[] },
): void => {
  const { status, pending, hasFailed = false } = replication;
  transaction.put(versions, [bucketId, key, sequence], {
    ...version,
    replication: create(ReplicationRecordSchema, { status, pending, hasFailed }),
  });
};
