import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import { DomainPurgeSchema } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { JobOutcome, Jobs } from "../../kit/jobs/jobs.ts";
import type { Store } from "../../kit/store/store.ts";
import type { KeyPrefix, Table } from "../../kit/store/table.ts";
import type { Transaction } from "../../kit/store/transaction.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import { limits } from "../limits.ts";
import { removeDeadLetters } from "../store/dead-letter.ts";
import {
  counters,
  expiries,
  keyHolders,
  objectExpiries,
  objectPlaces,
  objects,
  objectTypeKeys,
  objectTypes,
  profileSeeds,
  profiles,
  searchKeys,
} from "../store/layout.ts";
import { resolutionJobs } from "../store/layout-resolution.ts";
import { removalOwner } from "./removal-policy.ts";

/**
 * The removal of a deleted domain's data. The data is unreachable already, so the removal is not urgent: each
 * transaction deletes a limited number of records, beginning with the data keys. (Those need no compaction, because the
 * key that wraps them is deleted.) An interrupted removal simply runs again, with whatever is left.
 */
export const domainPurgeKind = "domain-purge";

/** Enqueues the removal in the transaction that deletes the domain. */
export const enqueueDomainPurge = (
  jobs: Jobs,
  transaction: Transaction,
  account: string,
  domainId: Uint8Array,
  nowMs: number,
): void => {
  jobs.enqueue(transaction, {
    kind: domainPurgeKind,
    owner: removalOwner(account),
    dueMs: nowMs,
    payload: toBinary(DomainPurgeSchema, create(DomainPurgeSchema, { domainId, account })),
  });
};

/** Removes all data of a deleted domain. */
export const purgeDomain = async (store: Store, payload: Uint8Array, signal: AbortSignal): Promise<JobOutcome> => {
  const { domainId, account } = fromBinary(DomainPurgeSchema, payload);
  let isEmpty = false;
  while (!isEmpty) {
    signal.throwIfAborted();
    isEmpty = await store.transact((transaction) => deleteSome(transaction, domainId, account));
  }
  return { done: true };
};

/**
 * Deletes at most a batch of records, damaged ones as well. Returns true if nothing is left. What would have expired
 * by a damaged record is found and removed at that time.
 */
const deleteSome = async (transaction: Transaction, domainId: Uint8Array, account: string): Promise<boolean> => {
  let left: number = limits.purgeBatchRecords;
  left -= await deleteFrom(transaction, profileSeeds, domainId, left);
  left -= await deleteFrom(transaction, searchKeys, domainId, left);
  left -= await deleteFrom(transaction, keyHolders, domainId, left);
  left -= await deleteFrom(transaction, objectTypes, domainId, left);
  left -= await deleteFrom(transaction, objectTypeKeys, domainId, left);
  left -= await deleteFrom(transaction, objectPlaces, domainId, left);
  left -= await removeDeadLetters(transaction, domainId, account, left);
  left -= await deleteFrom(transaction, resolutionJobs, domainId, left);
  for await (const { key, value } of walkTable(transaction, objects, { prefix: [domainId], limit: left })) {
    transaction.delete(objects, key);
    if (value !== undefined) transaction.delete(objectExpiries, [Number(value.expireMs), domainId, key[2], key[3]]);
    left -= 1;
  }
  for await (const { key, value } of walkTable(transaction, profiles, { prefix: [domainId], limit: left })) {
    transaction.delete(profiles, key);
    if (value !== undefined) transaction.delete(expiries, [Number(value.expireMs), domainId, key[1]]);
    left -= 1;
  }
  if (left === 0) return false;
  // Last, because a profile that expires before its turn is taken out of them.
  transaction.delete(counters, [domainId]);
  return true;
};

/** Deletes the first records of one owner, as of a domain, in one table; returns how many. */
export const deleteFrom = async <K extends readonly [Uint8Array, ...unknown[]]>(
  transaction: Transaction,
  table: Table<K>,
  ownerId: Uint8Array,
  limit: number,
): Promise<number> => {
  let count = 0;
  for await (const { key } of walkTable(transaction, table, { prefix: [ownerId] as unknown as KeyPrefix<K>, limit })) {
    transaction.delete(table, key);
    count += 1;
  }
  return count;
};
