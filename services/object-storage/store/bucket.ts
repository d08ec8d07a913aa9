import type { AccountBucketRecord, BucketRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Entry, Reader, Transaction } from "../../kit/store/store.ts";
import {
  accountBuckets,
  buckets,
  configurations,
  currentVersions,
  finishedUploads,
  uploads,
  versions,
} from "./layout.ts";

/** A bucket. */
export interface Bucket {
  readonly name: string;
  readonly bucketId: string;
  readonly accountId: string;
  readonly region: string;
  readonly createdMs: number;
}

/** The bucket of this name; undefined if there is none. */
export const findBucket = async (reader: Reader, name: string): Promise<Bucket | undefined> => {
  const record = await reader.get(buckets, [name]);
  return record === undefined ? undefined : fromRecord(name, record);
};

/** Creates a bucket that is known not to exist. */
export const createBucketRecord = (transaction: Transaction, bucket: Bucket): void => {
  transaction.put(buckets, [bucket.name], {
    bucketId: bucket.bucketId,
    accountId: bucket.accountId,
    region: bucket.region,
    createdMs: BigInt(bucket.createdMs),
    objectOwnership: "BucketOwnerEnforced",
  });
  transaction.put(accountBuckets, [bucket.accountId, bucket.name], { bucketId: bucket.bucketId });
};

/** Counts the buckets of the account, up to the limit. */
export const countBuckets = async (reader: Reader, accountId: string, limit: number): Promise<number> =>
  (await reader.list(accountBuckets, { prefix: [accountId], limit })).length;

/** Whether the bucket has no object, no version, no delete marker and no open upload. */
export const isBucketEmpty = async (reader: Reader, bucket: Bucket): Promise<boolean> => {
  const found = [
    await reader.list(currentVersions, { prefix: [bucket.bucketId], limit: 1 }),
    await reader.list(versions, { prefix: [bucket.bucketId], limit: 1 }),
    await reader.list(uploads, { prefix: [bucket.bucketId], limit: 1 }),
  ];
  return found.every((entries) => entries.length === 0);
};

/** Deletes an empty bucket and its documents. */
export const deleteBucketRecord = async (transaction: Transaction, bucket: Bucket): Promise<void> => {
  transaction.delete(buckets, [bucket.name]);
  transaction.delete(accountBuckets, [bucket.accountId, bucket.name]);
  await transaction.deleteRange(configurations, { prefix: [bucket.bucketId] });
  await transaction.deleteRange(finishedUploads, { prefix: [bucket.bucketId] });
};

/** The buckets of an account whose names begin with the prefix, by name and after a name (empty: from the start). */
export const listAccountBuckets = (
  reader: Reader,
  accountId: string,
  namePrefix: string,
  after: string,
  limit: number,
): Promise<Entry<readonly [string, string], AccountBucketRecord>[]> =>
  reader.list(accountBuckets, {
    prefix: [accountId, namePrefix],
    textPrefix: true,
    ...(after === "" ? {} : { after: [accountId, after] }),
    limit,
  });

const fromRecord = (name: string, record: BucketRecord): Bucket => ({
  name,
  bucketId: record.bucketId,
  accountId: record.accountId,
  region: record.region,
  createdMs: Number(record.createdMs),
});
