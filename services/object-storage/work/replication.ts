import { fromBinary } from "@bufbuild/protobuf";

import type { ReplicationStepRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ReplicationStepRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { JobHandler, JobPolicy } from "../../kit/jobs/jobs.ts";
import { exponentialBackoff } from "../../kit/jobs/jobs.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { ReplicationApplication } from "../content/copied-version.ts";
import { copyToDestination } from "../content/replica.ts";
import { isReplica, replicaStatus } from "../domain/replication.ts";
import { limits } from "../limits.ts";
import { versions } from "../store/layout.ts";
import { putReplication } from "./replication-plan.ts";

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
  const reached = pending.length > 0 ? "PENDING" : hasFailed ? "FAILED" : "COMPLETED";
  const status = isReplica(version) ? replicaStatus : reached;
  putReplication(transaction, bucketId, key, Number(sequence), version, { status, pending, hasFailed });
};
