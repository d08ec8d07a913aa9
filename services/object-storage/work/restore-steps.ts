import type { MessageInitShape } from "@bufbuild/protobuf";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import { RestoreStepRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Clock } from "../../kit/clock/clock.ts";
import type { JobHandler, Jobs } from "../../kit/jobs/jobs.ts";
import type { Transaction } from "../../kit/store/store.ts";
import { shownVersionId } from "../domain/versioning.ts";
import type { EventOutbox } from "../events/event-outbox.ts";
import { serviceOrigin } from "../events/event-outbox.ts";
import { findBucket } from "../store/bucket.ts";
import { versions } from "../store/layout.ts";
import { putRestore } from "../store/version-change.ts";

/** The kind of the jobs that end a restore, and what it restored. */
export const restoreStepJob = "restore-step";

type Step = MessageInitShape<typeof RestoreStepRecordSchema> & {
  readonly bucketId: string;
  readonly key: string;
  readonly sequence: bigint;
  readonly isExpiry: boolean;
};

/** Schedules what becomes of restored copies. */
export interface Restores {
  /** In place of the same step of the version that is scheduled already. */
  schedule(transaction: Transaction, owner: string, step: Step, dueMs: number): void;
}

/** Schedules the steps as jobs. */
export const createRestores = (jobs: Pick<Jobs, "enqueue">): Restores => ({
  schedule(transaction, owner, step, dueMs) {
    jobs.enqueue(transaction, {
      id: `${restoreStepJob}/${step.bucketId}/${step.sequence}/${step.isExpiry ? "expiry" : "end"}/${step.key}`,
      kind: restoreStepJob,
      owner,
      payload: toBinary(RestoreStepRecordSchema, create(RestoreStepRecordSchema, step)),
      dueMs,
    });
  },
});

/**
 * Announces that a version can be read now, or removes its copy and announces that. The instants of the version decide
 * on reads, so nothing depends on when a step is done; one that is no longer right does nothing.
 */
export const doRestoreStep =
  ({ events, clock }: { readonly events: () => EventOutbox; readonly clock: Pick<Clock, "now"> }): JobHandler =>
  async (job) => {
    const { bucket: name, bucketId, key, sequence, isExpiry } = fromBinary(RestoreStepRecordSchema, job.payload);
    return {
      done: true,
      apply: async (transaction) => {
        const bucket = await findBucket(transaction, name);
        const version = await transaction.get(versions, [bucketId, key, Number(sequence)]);
        const restore = version?.restore;
        if (bucket?.bucketId !== bucketId || version === undefined || restore === undefined) return;
        const nowMs = clock.now();
        if ((isExpiry ? restore.expiresMs : restore.readyMs) > nowMs) return;
        if (isExpiry) await putRestore(transaction, bucketId, key, { sequence: Number(sequence), version }, undefined);
        await events().announce(transaction, serviceOrigin(""), bucket, {
          kind: isExpiry ? "restore-expired" : "restore-completed",
          key,
          versionId: shownVersionId(bucket.versioning, version),
          sequence: Number(sequence),
          sizeBytes: Number(version.sizeBytes),
          eTag: version.eTag,
          storageClass: version.storageClass,
          expiresMs: isExpiry ? undefined : Number(restore.expiresMs),
          timeMs: nowMs,
        });
      },
    };
  };
