import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import type {
  ReplicationRecord,
  ReplicationStepRecord,
  VersionRecord,
} from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import {
  ReplicationRecordSchema,
  ReplicationStepRecordSchema,
} from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Jobs, JobHandler, JobPolicy } from "../../kit/jobs/jobs.ts";
import { exponentialBackoff } from "../../kit/jobs/jobs.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { ReplicationApplication } from "../content/copied-version.ts";
import { copyToDestination } from "../content/replica.ts";
import { replicable } from "../domain/replication.ts";
import type { ChangeOrigin, ObjectChange } from "../events/event-outbox.ts";
import { limits } from "../limits.ts";
import type { Bucket } from "../store/bucket.ts";
import { findBucket } from "../store/bucket.ts";
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
    if (rules === undefined || version === undefined || version.replication?.status === "REPLICA") return;
    const isNew = kind === "created" || kind === "marker-created";
    if (!isNew && version.replication === undefined) return;
    const destinations = [...rules.rulesFor(replicable(key, version)).keys()];
    if (destinations.length === 0) return;
    putReplication(transaction, bucket.bucketId, key, sequence, version, { status: "PENDING", pending: destinations });
    for (const destination of destinations) {
      const isHere = (await findBucket(transaction, destination)) !== undefined;
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
  },
});

/** How long a copy is tried: a day; then its version has FAILED. */
export const replicationPolicy: JobPolicy = {
  attemptsMax: Number.MAX_SAFE_INTEGER,
  ageMsMax: limits.replicationAgeMsMax,
  backoff: exponentialBackoff({ firstMs: limits.deliveryRetryMsMin, maxMs: limits.deliveryRetryMsMax }),
  onExhausted: (transaction, job) =>
    settle(transaction, fromBinary(ReplicationStepRecordSchema, job.payload), "FAILED"),
};

/**
 * Copies one version into one bucket and notes that it has it, in one transaction. Repeating it changes nothing. What
 * cannot succeed, because a rule, a role or the destination is gone or forbids it, makes the version FAILED.
 */
export const replicate =
  (app: () => ReplicationApplication): JobHandler =>
  async (job, { signal }) => {
    const step = fromBinary(ReplicationStepRecordSchema, job.payload);
    const outcome = await copyToDestination(app(), step, signal, (transaction) =>
      settle(transaction, step, "COMPLETED"),
    );
    if (outcome.kind === "copied") return { done: true };
    return outcome.kind === "later"
      ? { retry: true, reason: outcome.reason }
      : { failed: true, reason: outcome.reason };
  };

/** Notes the outcome of one copy; the last one decides on the status. */
const settle = async (
  transaction: Transaction,
  { bucketId, key, sequence, destination }: ReplicationStepRecord,
  outcome: "COMPLETED" | "FAILED",
): Promise<void> => {
  const version = await transaction.get(versions, [bucketId, key, Number(sequence)]);
  if (version?.replication === undefined) return;
  const { replication: before } = version;
  const pending = before.pending.filter((name) => name !== destination);
  const hasFailed = before.hasFailed || outcome === "FAILED";
  const status = pending.length > 0 ? "PENDING" : hasFailed ? "FAILED" : "COMPLETED";
  putReplication(transaction, bucketId, key, Number(sequence), version, { status, pending, hasFailed });
};

const putReplication = (
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
