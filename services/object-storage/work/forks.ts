import type { MessageInitShape } from "@bufbuild/protobuf";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import type { ForkRecord, ForkStepRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ForkStepRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Clock } from "../../kit/clock/clock.ts";
import type { JobHandler, JobPolicy, Jobs } from "../../kit/jobs/jobs.ts";
import { exponentialBackoff } from "../../kit/jobs/jobs.ts";
import { StoreCorruptionError } from "../../kit/store/errors.ts";
import type { Store, Transaction } from "../../kit/store/store.ts";
import type { BlobPins } from "../blobs/pins.ts";
import { limits } from "../limits.ts";
import type { Bucket } from "../store/bucket.ts";
import { createBucketRecord, findBucket, releaseBucketName, rulesOfNew } from "../store/bucket.ts";
import { forks } from "../store/forks.ts";
import { copyBucketRecords, removeBucketRecords } from "./fork-records.ts";
import { jobOwner } from "./job-pools.ts";

/** The kind of the jobs that fork a bucket. */
export const forkJob = "bucket-fork";

/** Schedules forks. */
export interface Forks {
  schedule(transaction: Transaction, accountId: string, step: MessageInitShape<typeof ForkStepRecordSchema>): void;
}

/** Schedules forks as jobs. */
export const createForks = (jobs: Pick<Jobs, "enqueue">): Forks => ({
  schedule(transaction, accountId, step) {
    jobs.enqueue(transaction, {
      kind: forkJob,
      owner: jobOwner("forks", accountId),
      payload: toBinary(ForkStepRecordSchema, create(ForkStepRecordSchema, step)),
    });
  },
});

/** What forks are made with. */
export interface ForkOptions {
  readonly store: Store;
  readonly pins: BlobPins;
  readonly clock: Clock;
}

/**
 * Makes one fork: copies the records of the source as they are at one instant, in slices, and then makes the bucket.
 * Nobody sees it before. What an interrupted run left is removed first, and the state is that of a later instant then.
 * No file goes meanwhile, so that content which the source loses can still be shared. A damaged record is left out of
 * no fork: it fails, and what was copied is removed.
 */
export const forkBuckets =
  ({ store, pins, clock }: ForkOptions): JobHandler =>
  async (job, { signal }) => {
    const step = fromBinary(ForkStepRecordSchema, job.payload);
    const fork = await store.read((reader) => reader.get(forks, [step.destination]));
    if (!isOpen(fork, step)) return { done: true };
    const removeCopies = (): Promise<void> => removeBucketRecords(store, fork.bucketId, clock.now(), signal);
    await removeCopies();
    const release = pins.holdAll();
    try {
      const made = await store.read(async (former) => {
        const source = await findBucket(former, fork.source);
        if (source?.bucketId !== fork.sourceBucketId) return undefined;
        const instantMs = clock.now();
        const versions = await copyBucketRecords(store, former, source.bucketId, fork.bucketId, signal);
        return { source, instantMs, versions };
      });
      if (made === undefined) return { failed: true, reason: "the bucket was deleted before its fork was made" };
      return { done: true, apply: (transaction) => complete(transaction, step, made, clock.now()) };
    } catch (error) {
      if (!(error instanceof StoreCorruptionError)) throw error;
      await removeCopies();
      return { failed: true, reason: "a record of the bucket is damaged" };
    } finally {
      release();
    }
  };

/** A fork is tried until it is made, and fails only if it cannot be. */
export const forkPolicy: JobPolicy = {
  attemptsMax: Number.MAX_SAFE_INTEGER,
  ageMsMax: limits.deliveryAgeMsMax,
  backoff: exponentialBackoff({ firstMs: limits.deliveryRetryMsMin, maxMs: limits.deliveryRetryMsMax }),
  async onExhausted(transaction, job, reason) {
    const step = fromBinary(ForkStepRecordSchema, job.payload);
    const fork = await transaction.get(forks, [step.destination]);
    if (!isOpen(fork, step)) return;
    releaseBucketName(transaction, { name: step.destination, accountId: fork.accountId });
    transaction.put(forks, [step.destination], { ...fork, status: "FAILED", reason });
  },
};

const isOpen = (fork: ForkRecord | undefined, { bucketId }: ForkStepRecord): fork is ForkRecord =>
  fork?.status === "IN_PROGRESS" && fork.bucketId === bucketId;

const complete = async (
  transaction: Transaction,
  step: ForkStepRecord,
  made: { readonly source: Bucket; readonly instantMs: number; readonly versions: number },
  nowMs: number,
): Promise<void> => {
  const fork = await transaction.get(forks, [step.destination]);
  if (!isOpen(fork, step)) return;
  createBucketRecord(transaction, forkOf(made.source, step, nowMs));
  transaction.put(forks, [step.destination], {
    ...fork,
    status: "COMPLETED",
    instantMs: BigInt(made.instantMs),
    versions: BigInt(made.versions),
  });
};

/** The bucket that a fork makes: what decides on the versions that it holds is the source's, all else is as new. */
const forkOf = (source: Bucket, { destination, bucketId }: ForkStepRecord, nowMs: number): Bucket => ({
  name: destination,
  bucketId,
  accountId: source.accountId,
  region: source.region,
  createdMs: nowMs,
  ...rulesOfNew(source.ownership),
  publicAccessBlock: source.publicAccessBlock,
  accessRevision: "",
  versioning: source.versioning,
  objectLock: source.objectLock,
  mfaDelete: "",
  hasLifecycle: false,
  hasReplication: false,
  replicationWalkId: "",
  hasLogging: false,
  defaultEncryption: source.defaultEncryption,
  searchIndex: undefined,
});
