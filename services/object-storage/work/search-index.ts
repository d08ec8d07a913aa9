import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import type { SearchIndexStepRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { SearchIndexStepRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { JobHandler, Jobs } from "../../kit/jobs/jobs.ts";
import type { Store, Transaction } from "../../kit/store/store.ts";
import { limits } from "../limits.ts";
import type { Bucket } from "../store/bucket.ts";
import { changeSearchIndex, findBucket } from "../store/bucket.ts";
import { currentVersions } from "../store/layout.ts";
import { findCurrent } from "../store/object.ts";
import { addEntries, removeEntries } from "../store/search-index.ts";
import { jobOwner } from "./job-pools.ts";

/** The kind of the jobs that build search indexes and remove them. */
export const searchIndexJob = "search-index";

type Step = Pick<SearchIndexStepRecord, "bucket" | "bucketId" | "indexId" | "after" | "isRemoval">;

/** Schedules what is to be done for search indexes. */
export interface SearchIndexes {
  /** An index that the bucket has from now on is built, in the background. */
  build(transaction: Transaction, bucket: Bucket, indexId: string): void;
  /** What is left of an index that the bucket no longer has is removed, in the background. */
  remove(transaction: Transaction, bucket: Bucket, indexId: string): void;
}

/** Schedules them as jobs. */
export const createSearchIndexes = (jobs: Pick<Jobs, "enqueue">): SearchIndexes => {
  const enqueue = (transaction: Transaction, { name, bucketId, accountId }: Bucket, step: Partial<Step>): void =>
    enqueueStep(jobs, transaction, jobOwner("indexes", accountId), { bucket: name, bucketId, ...step });
  return {
    build: (transaction, bucket, indexId) => enqueue(transaction, bucket, { indexId }),
    remove: (transaction, bucket, indexId) => enqueue(transaction, bucket, { indexId, isRemoval: true }),
  };
};

const enqueueStep = (
  jobs: Pick<Jobs, "enqueue">,
  transaction: Transaction,
  owner: string,
  step: Partial<Step>,
): void => {
  const payload = toBinary(SearchIndexStepRecordSchema, create(SearchIndexStepRecordSchema, step));
  jobs.enqueue(transaction, { kind: searchIndexJob, owner, payload });
};

/**
 * Builds or removes a part of an index, in transactions of some hundred keys, and schedules the next part. While an
 * index is built every change of a key keeps it as well, so a part only adds what is current when it is added; what is
 * done twice changes nothing. An index that the bucket no longer has is not built further.
 */
export const doSearchIndexStep =
  ({ store, jobs }: { readonly store: Store; readonly jobs: () => Pick<Jobs, "enqueue"> }): JobHandler =>
  async (job, { signal }) => {
    const step = fromBinary(SearchIndexStepRecordSchema, job.payload);
    let { after } = step;
    for (let batch = 0; batch < limits.searchIndexBatchesPerStep && !signal.aborted; batch += 1) {
      const outcome = await store.transact(
        (transaction) =>
          step.isRemoval ? removeBatch(transaction, step) : buildBatch(transaction, { ...step, after }),
        { signal },
      );
      if (outcome === "done") return { done: true };
      after = outcome.after;
    }
    return {
      done: true,
      apply: (transaction) => enqueueStep(jobs(), transaction, job.owner, { ...step, after }),
    };
  };

type BatchOutcome = "done" | { readonly after: string };

const buildBatch = async (transaction: Transaction, step: Step): Promise<BatchOutcome> => {
  const { bucket: name, bucketId, indexId, after } = step;
  const bucket = await findBucket(transaction, name);
  const index = bucket?.searchIndex;
  if (bucket?.bucketId !== bucketId || index?.indexId !== indexId) return "done";
  const found = await transaction.snapshot.list(currentVersions, {
    prefix: [bucketId],
    ...(after === "" ? {} : { after: [bucketId, after] as const }),
    limit: limits.searchIndexBatch,
  });
  for (const {
    key: [, key],
  } of found) {
    const current = await findCurrent(transaction, bucketId, key);
    if (current !== undefined) addEntries(transaction, index, key, current.version);
  }
  const last = found.at(-1)?.key[1];
  if (last !== undefined && found.length === limits.searchIndexBatch) return { after: last };
  changeSearchIndex(transaction, bucket, { ...index, isActive: true });
  return "done";
};

const removeBatch = async (transaction: Transaction, { indexId, after }: Step): Promise<BatchOutcome> =>
  (await removeEntries(transaction, indexId, limits.searchIndexBatch)) < limits.searchIndexBatch ? "done" : { after };
