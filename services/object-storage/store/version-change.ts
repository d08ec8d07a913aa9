import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";

import type {
  AclRecord,
  CurrentVersionRecordSchema,
  VersionRecord,
  VersionRecordSchema,
} from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import {
  RestoreRecordSchema,
  RetentionRecordSchema,
  TagRecordSchema,
} from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Ids } from "../../kit/ids/ids.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { Extent } from "../domain/extent.ts";
import type { VersionLock } from "../domain/object-lock.ts";
import type { Indexable } from "../domain/search.ts";
import { versionIdOf, versionIdRandomDigits } from "../domain/versioning.ts";
import { releaseExtents, shareExtents } from "./blob.ts";
import { enterDirectory, leaveDirectory } from "./directory.ts";
import { currentVersions, nullVersions, versions } from "./layout.ts";
import type { StoredVersion, VersionedBucket } from "./object.ts";
import { findCurrent, findCurrentRow, findNewest, findNullSequence } from "./object.ts";
import { replaceEntries } from "./search-index.ts";
import type { Sequences } from "./sequence.ts";
import { countVersion } from "./stored-amounts.ts";

/** The members that every stored version with content has. */
export interface VersionRequired {
  readonly lastModifiedMs: bigint;
  readonly eTag: string;
  readonly sizeBytes: bigint;
  readonly storageClass: string;
  readonly ownerAccountId: string;
  readonly checksum?: { readonly algorithm: string; readonly type: string; readonly value: Uint8Array };
  readonly restore?: MessageInitShape<typeof RestoreRecordSchema>;
}

/** What new versions are numbered by. */
export interface VersionNumbers {
  readonly sequences: Sequences;
  readonly ids: Ids;
}

/** A version that was made. */
export interface NewVersion {
  readonly sequence: number;
  /** Empty: it is the null version. */
  readonly versionId: string;
}

/** The content of the current version that another version continues. */
export interface ContinuedContent {
  /** The current version's. */
  readonly sequence: number;
  /** Its extents that the other version has too. */
  readonly kept: readonly Extent[];
  /** Those that it does not have. */
  readonly dropped: readonly Extent[];
}

/** Stores a version, which becomes current. It replaces the null version of its key unless versioning is enabled. */
export const putVersion = async (
  transaction: Transaction,
  numbers: VersionNumbers,
  bucket: VersionedBucket,
  key: string,
  version: MessageInitShape<typeof VersionRecordSchema> & VersionRequired,
  nowMs: number,
): Promise<NewVersion> => {
  await indexCurrent(transaction, bucket, key, version);
  const { hasCurrent, ...made } = await numberVersion(transaction, numbers, bucket, key, nowMs);
  const { sequence, versionId } = made;
  transaction.put(versions, [bucket.bucketId, key, sequence], { ...version, versionId });
  countVersion(transaction, { isDeleteMarker: false, sizeBytes: version.sizeBytes }, 1);
  putCurrentRow(transaction, bucket.bucketId, key, sequence, { ...version, versionId });
  if (!hasCurrent) await enterDirectory(transaction, bucket.bucketId, key);
  return made;
};

/**
 * Stores a version whose content begins as that of the current one, and becomes current itself. Where it replaces that
 * one, the references to `kept` move to it at no cost, and those to `dropped` are removed; elsewhere `kept` is shared.
 */
export const putContinuedVersion = async (
  transaction: Transaction,
  numbers: VersionNumbers,
  bucket: VersionedBucket,
  key: string,
  { sequence: continued, kept, dropped }: ContinuedContent,
  version: MessageInitShape<typeof VersionRecordSchema> & VersionRequired,
  nowMs: number,
): Promise<NewVersion> => {
  await indexCurrent(transaction, bucket, key, version);
  const { replaced, ...made } = await numberVersion(transaction, numbers, bucket, key, nowMs, continued);
  const { sequence, versionId } = made;
  if (replaced === continued) await releaseExtents(transaction, dropped, nowMs);
  else await shareExtents(transaction, kept);
  transaction.put(versions, [bucket.bucketId, key, sequence], { ...version, versionId });
  countVersion(transaction, { isDeleteMarker: false, sizeBytes: version.sizeBytes }, 1);
  putCurrentRow(transaction, bucket.bucketId, key, sequence, { ...version, versionId });
  return { sequence, versionId };
};

/** Stores a delete marker, so that the key has no current version. Only for buckets that keep versions or kept them. */
export const putDeleteMarker = async (
  transaction: Transaction,
  numbers: VersionNumbers,
  bucket: VersionedBucket,
  key: string,
  ownerAccountId: string,
  nowMs: number,
): Promise<NewVersion> => {
  await indexCurrent(transaction, bucket, key, undefined);
  const { hasCurrent, ...made } = await numberVersion(transaction, numbers, bucket, key, nowMs);
  const { sequence, versionId } = made;
  transaction.put(versions, [bucket.bucketId, key, sequence], {
    versionId,
    lastModifiedMs: BigInt(nowMs),
    ownerAccountId,
    isDeleteMarker: true,
  });
  if (hasCurrent) await deleteCurrentRow(transaction, bucket.bucketId, key);
  if (versionId === "") transaction.put(nullVersions, [bucket.bucketId, key], { sequence: BigInt(sequence) });
  return made;
};

/** Removes a version. If it was the newest, the next one becomes current, unless that is a delete marker. */
export const removeVersion = async (
  transaction: Transaction,
  { bucketId, versioning, searchIndex }: VersionedBucket,
  key: string,
  { sequence, version }: StoredVersion,
  nowMs: number,
): Promise<void> => {
  transaction.delete(versions, [bucketId, key, sequence]);
  countVersion(transaction, version, -1);
  await releaseExtents(transaction, version.extents, nowMs);
  if (versioning !== "" && version.versionId === "") transaction.delete(nullVersions, [bucketId, key]);
  const row = await findCurrentRow(transaction, bucketId, key);
  if (row !== undefined && Number(row.sequence) !== sequence) return;
  const newest = versioning === "" ? undefined : await findNewest(transaction, bucketId, key);
  const current = newest?.version.isDeleteMarker === false ? newest : undefined;
  if (current !== undefined) {
    putCurrentRow(transaction, bucketId, key, current.sequence, current.version);
    if (row === undefined) await enterDirectory(transaction, bucketId, key);
  } else if (row !== undefined) await deleteCurrentRow(transaction, bucketId, key);
  if (searchIndex !== undefined) replaceEntries(transaction, searchIndex, key, row && version, current?.version);
};

/** Replaces the tags of a version, which no listing shows. */
export const putTags = async (
  transaction: Transaction,
  { bucketId, searchIndex }: VersionedBucket,
  key: string,
  { sequence, version }: StoredVersion,
  tags: readonly { readonly key: string; readonly value: string }[],
): Promise<void> => {
  const tagged = { ...version, tags: tags.map((tag) => create(TagRecordSchema, tag)) };
  transaction.put(versions, [bucketId, key, sequence], tagged);
  if (searchIndex === undefined) return;
  const row = await findCurrentRow(transaction, bucketId, key);
  if (row !== undefined && Number(row.sequence) === sequence)
    replaceEntries(transaction, searchIndex, key, version, tagged);
};

/** Replaces the ACL of a version, which no listing shows; undefined: the owner's full control. */
export const putAcl = (
  transaction: Transaction,
  bucketId: string,
  key: string,
  { sequence, version }: StoredVersion,
  acl: AclRecord | undefined,
): void => {
  const { acl: _replaced, ...others } = version;
  transaction.put(versions, [bucketId, key, sequence], { ...others, ...(acl && { acl }) });
};

/** Moves a version to another storage class, which listings show of the current one. */
export const putStorageClass = async (
  transaction: Transaction,
  bucketId: string,
  key: string,
  { sequence, version }: StoredVersion,
  storageClass: string,
): Promise<void> => {
  transaction.put(versions, [bucketId, key, sequence], { ...version, storageClass });
  const row = await findCurrentRow(transaction, bucketId, key);
  if (row !== undefined && Number(row.sequence) === sequence)
    transaction.put(currentVersions, [bucketId, key], { ...row, storageClass });
};

/** Replaces the readable copy of an archived version, which listings show on demand; undefined: there is none. */
export const putRestore = async (
  transaction: Transaction,
  bucketId: string,
  key: string,
  { sequence, version }: StoredVersion,
  restore: { readonly readyMs: bigint; readonly expiresMs: bigint } | undefined,
): Promise<void> => {
  const { restore: _replaced, ...others } = version;
  const record = restore && { restore: create(RestoreRecordSchema, restore) };
  transaction.put(versions, [bucketId, key, sequence], { ...others, ...record });
  const row = await findCurrentRow(transaction, bucketId, key);
  if (row === undefined || Number(row.sequence) !== sequence) return;
  const { restore: _shown, ...shown } = row;
  transaction.put(currentVersions, [bucketId, key], { ...shown, ...record });
};

/** Replaces what protects a version from deletion, which no listing shows. */
export const putLock = (
  transaction: Transaction,
  bucketId: string,
  key: string,
  { sequence, version }: StoredVersion,
  { retention, legalHold }: VersionLock,
): void => {
  const { retention: _replaced, ...others } = version;
  transaction.put(versions, [bucketId, key, sequence], {
    ...others,
    legalHold,
    ...(retention && { retention: create(RetentionRecordSchema, retention) }),
  });
};

/** Has a key found by its next current version; undefined: it has none. Reads nothing in a bucket without an index. */
const indexCurrent = async (
  transaction: Transaction,
  { bucketId, searchIndex }: VersionedBucket,
  key: string,
  next: Indexable | undefined,
): Promise<void> => {
  if (searchIndex === undefined) return;
  const before = await findCurrent(transaction, bucketId, key);
  replaceEntries(transaction, searchIndex, key, before?.version, next);
};

/**
 * The sequence and the id of a new version. Where versioning is enabled, a null version that is no longer the newest
 * stays, and is found by its own entry; anywhere else it is removed with its references, but for those of the version
 * that is continued.
 */
const numberVersion = async (
  transaction: Transaction,
  { sequences, ids }: VersionNumbers,
  { bucketId, versioning }: VersionedBucket,
  key: string,
  nowMs: number,
  continued?: number,
): Promise<NewVersion & { readonly hasCurrent: boolean; readonly replaced?: number | undefined }> => {
  const row = await findCurrentRow(transaction, bucketId, key);
  const hasCurrent = row !== undefined;
  const above = row && Number(row.sequence);
  if (versioning === "Enabled") {
    if (row?.versionId === "") transaction.put(nullVersions, [bucketId, key], { sequence: row.sequence });
    const sequence = await sequences.next(transaction, above);
    return { sequence, versionId: versionIdOf(sequence, ids.hex(versionIdRandomDigits)), hasCurrent };
  }
  const replaced = versioning === "" ? above : await findNullSequence(transaction, bucketId, key, row);
  if (replaced !== undefined) {
    const version = await transaction.get(versions, [bucketId, key, replaced]);
    if (version === undefined) throw new Error(`the null version ${replaced} of a key has no record`);
    transaction.delete(versions, [bucketId, key, replaced]);
    countVersion(transaction, version, -1);
    if (replaced !== continued) await releaseExtents(transaction, version.extents, nowMs);
    if (versioning !== "") transaction.delete(nullVersions, [bucketId, key]);
  }
  return { sequence: await sequences.next(transaction, above), versionId: "", hasCurrent, replaced };
};

/** Removes the listing entry of a key that has one. */
export const deleteCurrentRow = async (transaction: Transaction, bucketId: string, key: string): Promise<void> => {
  transaction.delete(currentVersions, [bucketId, key]);
  await leaveDirectory(transaction, bucketId, key);
};

/** Replaces the listing entry of a key by that of a version. */
export const putCurrentRow = (
  transaction: Transaction,
  bucketId: string,
  key: string,
  sequence: number,
  version: Pick<VersionRecord, "versionId"> & VersionRequired,
): void => {
  const { checksum } = version;
  const row: MessageInitShape<typeof CurrentVersionRecordSchema> = {
    sequence: BigInt(sequence),
    versionId: version.versionId,
    lastModifiedMs: version.lastModifiedMs,
    eTag: version.eTag,
    sizeBytes: version.sizeBytes,
    storageClass: version.storageClass,
    ownerAccountId: version.ownerAccountId,
    ...(checksum === undefined ? {} : { checksumAlgorithm: checksum.algorithm, checksumType: checksum.type }),
    ...(version.restore && { restore: version.restore }),
  };
  transaction.put(currentVersions, [bucketId, key], row);
};
