import { create } from "@bufbuild/protobuf";

import type {
  AccountBucketRecord,
  AclRecord,
  BucketRecord,
  DefaultEncryptionRecord,
  PublicAccessBlockRecord,
} from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { SearchAttributeRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Entry, Reader, Transaction } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import type { OwnershipState } from "../domain/ownership.ts";
import { findOwnership } from "../domain/ownership.ts";
import type { BucketLock } from "../domain/object-lock.ts";
import type { VersioningState } from "../domain/versioning.ts";
import { forks } from "./forks.ts";
import { inventoryReports } from "./inventory-reports.ts";
import { accountBuckets, buckets, configurations, currentVersions, versions } from "./layout.ts";
import type { SearchIndex } from "./search-index.ts";

/** What decides who may use a bucket, besides the content of its policy. */
export interface BucketRules {
  readonly ownership: OwnershipState;
  /** Undefined: the owner's full control. */
  readonly acl: AclRecord | undefined;
  /** Undefined: none was put. */
  readonly publicAccessBlock: PublicAccessBlockRecord | undefined;
  readonly requesterPays: boolean;
  /** Names the content of the policy. Empty: there is none. */
  readonly policyRevision: string;
}

/** A bucket. */
export interface Bucket extends BucketRules {
  readonly name: string;
  readonly bucketId: string;
  readonly accountId: string;
  readonly region: string;
  readonly createdMs: number;
  /** Another one after each change of the rules. */
  readonly accessRevision: string;
  readonly versioning: VersioningState;
  /** Undefined: its versions cannot be locked. */
  readonly objectLock: BucketLock | undefined;
  /** Whether deleting versions needs a second factor. Empty: it was never set. */
  readonly mfaDelete: "" | "Enabled" | "Disabled";
  /** It has lifecycle rules, which are a document. */
  readonly hasLifecycle: boolean;
  /** It has rules of replication, which are a document. */
  readonly hasReplication: boolean;
  /** The walk over what was there before these rules. Empty: none was asked for. */
  readonly replicationWalkId: string;
  /** It has an access log, whose configuration is a document. */
  readonly hasLogging: boolean;
  /** Undefined: objects that say nothing are encrypted under a key of the service. */
  readonly defaultEncryption: DefaultEncryptionRecord | undefined;
  /** Undefined: its objects cannot be searched. */
  readonly searchIndex: SearchIndex | undefined;
}

/** The rules of a bucket for which none were put. */
export const rulesOfNew = (ownership: OwnershipState): BucketRules => ({
  ownership,
  acl: undefined,
  publicAccessBlock: undefined,
  requesterPays: false,
  policyRevision: "",
});

const opened = new WeakMap<Readonly<BucketRecord>, Bucket>();

/** The bucket of this name; undefined if there is none. Every request needs one, so it is made once for each change. */
export const findBucket = async (reader: Reader, name: string): Promise<Bucket | undefined> => {
  const record = await reader.getShared(buckets, [name]);
  if (record === undefined) return undefined;
  let bucket = opened.get(record);
  if (bucket === undefined) opened.set(record, (bucket = fromRecord(name, record)));
  return bucket;
};

/** Whether there is a bucket of a name. */
export const hasBucket = async (reader: Reader, name: string): Promise<boolean> =>
  (await findBucket(reader, name)) !== undefined;

/** Creates a bucket that is known not to exist. */
export const createBucketRecord = (transaction: Transaction, bucket: Bucket): void => {
  putBucket(transaction, bucket);
  transaction.put(accountBuckets, [bucket.accountId, bucket.name], { bucketId: bucket.bucketId });
};

/** Reserves the name of a bucket that is to be made; no listing shows it. */
export const reserveBucketName = (
  transaction: Transaction,
  { accountId, name, bucketId }: Pick<Bucket, "accountId" | "name" | "bucketId">,
): void => transaction.put(accountBuckets, [accountId, name], { bucketId });

/** Gives up the name of a bucket that was not made. */
export const releaseBucketName = (
  transaction: Transaction,
  { accountId, name }: Pick<Bucket, "accountId" | "name">,
): void => transaction.delete(accountBuckets, [accountId, name]);

/** Changes rules of a bucket. The revision must be one that no bucket has had. */
export const changeRules = (
  transaction: Transaction,
  bucket: Bucket,
  accessRevision: string,
  changes: Partial<BucketRules>,
): void => putBucket(transaction, { ...bucket, ...changes, accessRevision });

/** Turns versioning on, or suspends it, and changes what deleting versions needs. */
export const changeVersioning = (
  transaction: Transaction,
  bucket: Bucket,
  changes: Partial<Pick<Bucket, "versioning" | "mfaDelete">>,
): void => putBucket(transaction, { ...bucket, ...changes });

/** Notes whether a bucket has lifecycle rules. */
export const changeHasLifecycle = (transaction: Transaction, bucket: Bucket, hasLifecycle: boolean): void =>
  putBucket(transaction, { ...bucket, hasLifecycle });

/** Notes whether a bucket has rules of replication, and the walk over what was there before. Returns the bucket. */
export const changeReplication = (
  transaction: Transaction,
  bucket: Bucket,
  rules: Pick<Bucket, "hasReplication" | "replicationWalkId">,
): Bucket => {
  const changed = { ...bucket, ...rules };
  putBucket(transaction, changed);
  return changed;
};

/** Notes whether a bucket has an access log. */
export const changeHasLogging = (transaction: Transaction, bucket: Bucket, hasLogging: boolean): void =>
  putBucket(transaction, { ...bucket, hasLogging });

/** Lets the versions of a bucket be locked, or replaces how new ones are. */
export const changeObjectLock = (transaction: Transaction, bucket: Bucket, objectLock: BucketLock): void =>
  putBucket(transaction, { ...bucket, objectLock });

/** Replaces the default encryption of a bucket; undefined removes it. */
export const changeDefaultEncryption = (
  transaction: Transaction,
  bucket: Bucket,
  defaultEncryption: DefaultEncryptionRecord | undefined,
): void => putBucket(transaction, { ...bucket, defaultEncryption });

/** Replaces the search index of a bucket; undefined removes it. */
export const changeSearchIndex = (
  transaction: Transaction,
  bucket: Bucket,
  searchIndex: SearchIndex | undefined,
): void => putBucket(transaction, { ...bucket, searchIndex });

const putBucket = (transaction: Transaction, bucket: Bucket): void => {
  const { acl, publicAccessBlock, objectLock, defaultEncryption, searchIndex } = bucket;
  transaction.put(buckets, [bucket.name], {
    bucketId: bucket.bucketId,
    accountId: bucket.accountId,
    region: bucket.region,
    createdMs: BigInt(bucket.createdMs),
    objectOwnership: bucket.ownership,
    accessRevision: bucket.accessRevision,
    policyRevision: bucket.policyRevision,
    ...(acl && { acl }),
    ...(publicAccessBlock && { publicAccessBlock }),
    requesterPays: bucket.requesterPays,
    versioning: bucket.versioning,
    ...(objectLock && { objectLock }),
    mfaDelete: bucket.mfaDelete,
    hasLifecycle: bucket.hasLifecycle,
    hasReplication: bucket.hasReplication,
    replicationWalkId: bucket.replicationWalkId,
    hasLogging: bucket.hasLogging,
    ...(defaultEncryption && { defaultEncryption }),
    ...(searchIndex && {
      searchIndex: {
        ...searchIndex,
        attributes: searchIndex.attributes.map((attribute) => create(SearchAttributeRecordSchema, attribute)),
      },
    }),
  });
};

/** Counts the buckets of the account, up to the limit. */
export const countBuckets = async (reader: Reader, accountId: string, limit: number): Promise<number> =>
  (await reader.list(accountBuckets, { prefix: [accountId], limit })).length;

/** The buckets of all accounts after a name (empty: from the start), by name; undefined: its record is damaged. */
export const listBucketsAfter = (
  reader: Reader,
  after: string,
  limit: number,
): Promise<{ readonly name: string; readonly bucket: Bucket | undefined }[]> =>
  Array.fromAsync(
    walkTable(reader, buckets, { ...(after === "" ? {} : { after: [after] as const }), limit }),
    ({ key: [name], value }) => ({ name, bucket: value && fromRecord(name, value) }),
  );

/** Whether the bucket has no object, no version and no delete marker. */
export const isBucketEmpty = async (reader: Reader, bucket: Bucket): Promise<boolean> => {
  const found = [
    await reader.list(currentVersions, { prefix: [bucket.bucketId], limit: 1 }),
    await reader.list(versions, { prefix: [bucket.bucketId], limit: 1 }),
  ];
  return found.every((entries) => entries.length === 0);
};

/**
 * Deletes an empty bucket without open uploads, and its documents. What may be more than a transaction holds ends by
 * itself: finished uploads by their age, lines of an access log at the next delivery.
 */
export const deleteBucketRecord = async (transaction: Transaction, bucket: Bucket): Promise<void> => {
  transaction.delete(buckets, [bucket.name]);
  transaction.delete(accountBuckets, [bucket.accountId, bucket.name]);
  transaction.delete(forks, [bucket.name]);
  await transaction.deleteRange(configurations, { prefix: [bucket.bucketId] });
  await transaction.deleteRange(inventoryReports, { prefix: [bucket.bucketId] });
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

const fromRecord = (name: string, record: Readonly<BucketRecord>): Bucket => ({
  name,
  bucketId: record.bucketId,
  accountId: record.accountId,
  region: record.region,
  createdMs: Number(record.createdMs),
  ownership:
    record.objectOwnership === "None" ? "None" : (findOwnership(record.objectOwnership) ?? "BucketOwnerEnforced"),
  acl: record.acl,
  publicAccessBlock: record.publicAccessBlock,
  requesterPays: record.requesterPays,
  policyRevision: record.policyRevision,
  accessRevision: record.accessRevision,
  versioning: record.versioning === "Enabled" || record.versioning === "Suspended" ? record.versioning : "",
  objectLock: record.objectLock && {
    defaultMode: record.objectLock.defaultMode,
    defaultDays: record.objectLock.defaultDays,
    defaultYears: record.objectLock.defaultYears,
  },
  mfaDelete: record.mfaDelete === "Enabled" || record.mfaDelete === "Disabled" ? record.mfaDelete : "",
  hasLifecycle: record.hasLifecycle,
  hasReplication: record.hasReplication,
  replicationWalkId: record.replicationWalkId,
  hasLogging: record.hasLogging,
  defaultEncryption: record.defaultEncryption,
  searchIndex: indexFromRecord(record.searchIndex),
});

/** The search index of a bucket's record. */
export const indexFromRecord = (record: BucketRecord["searchIndex"]): SearchIndex | undefined =>
  record && {
    indexId: record.indexId,
    attributes: record.attributes.flatMap(({ source, name }) =>
      source === "Tag" || source === "Metadata" || source === "ContentType" ? [{ source, name }] : [],
    ),
    isActive: record.isActive,
  };
