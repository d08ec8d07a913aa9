import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import { ResolutionPurgeSchema } from "../../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { JobOutcome, Jobs } from "../../../kit/jobs/jobs.ts";
import type { Store } from "../../../kit/store/store.ts";
import type { Transaction } from "../../../kit/store/transaction.ts";
import { limits } from "../../limits.ts";
import {
  changedProfiles,
  matchCounts,
  matches,
  matchKeys,
  matchProfiles,
  ruleChanges,
} from "../../store/layout-resolution.ts";
import { deleteFrom } from "../domain-purge.ts";
import { removalOwner } from "../removal-policy.ts";

/** The removal of what a resolution that has ended has found. Nobody sees it any more, so it is not urgent. */
export const resolutionPurgeKind = "resolution-purge";

/** Enqueues the removal in the transaction that ends the resolution. */
export const enqueueResolutionPurge = (
  jobs: Jobs,
  transaction: Transaction,
  account: string,
  resolutionId: Uint8Array,
): void => {
  jobs.enqueue(transaction, {
    kind: resolutionPurgeKind,
    owner: removalOwner(account),
    payload: toBinary(ResolutionPurgeSchema, create(ResolutionPurgeSchema, { resolutionId })),
  });
};

/** Removes all that a resolution has found, in limited steps. */
export const purgeResolution = async (store: Store, payload: Uint8Array, signal: AbortSignal): Promise<JobOutcome> => {
  const { resolutionId } = fromBinary(ResolutionPurgeSchema, payload);
  for (let isEmpty = false; !isEmpty;) {
    signal.throwIfAborted();
    isEmpty = await store.transact((transaction) => deleteSome(transaction, resolutionId));
  }
  return { done: true };
};

/** Deletes at most a batch of records. Returns true if nothing is left. */
const deleteSome = async (transaction: Transaction, resolutionId: Uint8Array): Promise<boolean> => {
  let left: number = limits.purgeBatchRecords;
  left -= await deleteFrom(transaction, changedProfiles, resolutionId, left);
  left -= await deleteFrom(transaction, ruleChanges, resolutionId, left);
  left -= await deleteFrom(transaction, matchProfiles, resolutionId, left);
  left -= await deleteFrom(transaction, matchKeys, resolutionId, left);
  left -= await deleteFrom(transaction, matches, resolutionId, left);
  left -= await deleteFrom(transaction, matchCounts, resolutionId, left);
  return left > 0;
};
