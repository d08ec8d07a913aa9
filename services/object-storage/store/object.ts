import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";

import type {
  AclRecord,
  CurrentVersionRecord,
  VersionRecord,
  VersionRecordSchema,
} from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { TagRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import type { ByteRange } from "../domain/byte-range.ts";
import type { BlobRange } from "../domain/extent.ts";
import { sliceExtents } from "../domain/extent.ts";
import type { ListingSeek, NamedRow } from "../domain/listing.ts";
import { releaseExtents } from "./blob.ts";
import { blobs, currentVersions, versions } from "./layout.ts";
import type { Sequences } from "./sequence.ts";

/** The current version of a key. */
export interface CurrentObject {
  readonly sequence: number;
  readonly version: VersionRecord;
}

/** The listing entry of a key's current version; cheaper to read than the version. */
export const findCurrentRow = (
  reader: Reader,
  bucketId: string,
  key: string,
): Promise<CurrentVersionRecord | undefined> => reader.get(currentVersions, [bucketId, key]);

/** The current version of a key; undefined if it has none, or its newest version is a delete marker. */
export const findCurrent = async (
  reader: Reader,
  bucketId: string,
  key: string,
): Promise<CurrentObject | undefined> => {
  const row = await findCurrentRow(reader, bucketId, key);
  if (row === undefined) return undefined;
  const sequence = Number(row.sequence);
  const version = await reader.get(versions, [bucketId, key, sequence]);
  if (version === undefined) throw new Error(`the current version ${sequence} of a key has no record`);
  return { sequence, version };
};

/** Replaces the null version of a key by a new one, which becomes current. Returns its sequence. */
export const putNullVersion = async (
  transaction: Transaction,
  sequences: Sequences,
  bucketId: string,
  key: string,
  version: MessageInitShape<typeof VersionRecordSchema> & VersionRequired,
  nowMs: number,
): Promise<number> => {
  const current = await findCurrent(transaction, bucketId, key);
  if (current !== undefined) await removeVersion(transaction, bucketId, key, current, nowMs);
  const sequence = await sequences.next(transaction, current?.sequence);
  transaction.put(versions, [bucketId, key, sequence], version);
  transaction.put(currentVersions, [bucketId, key], {
    sequence: BigInt(sequence),
    lastModifiedMs: version.lastModifiedMs,
    eTag: version.eTag,
    sizeBytes: version.sizeBytes,
    storageClass: version.storageClass,
    ownerAccountId: version.ownerAccountId,
    ...(version.checksum === undefined
      ? {}
      : { checksumAlgorithm: version.checksum.algorithm, checksumType: version.checksum.type }),
  });
  return sequence;
};

/** The members that every stored version has. */
export interface VersionRequired {
  readonly lastModifiedMs: bigint;
  readonly eTag: string;
  readonly sizeBytes: bigint;
  readonly storageClass: string;
  readonly ownerAccountId: string;
  readonly checksum?: { readonly algorithm: string; readonly type: string; readonly value: Uint8Array };
}

/** Removes a key's null version, which is current. */
export const removeNullVersion = async (
  transaction: Transaction,
  bucketId: string,
  key: string,
  current: CurrentObject,
  nowMs: number,
): Promise<void> => {
  await removeVersion(transaction, bucketId, key, current, nowMs);
  transaction.delete(currentVersions, [bucketId, key]);
};

/** Replaces the tags of a key's current version, which no listing shows. */
export const putTags = (
  transaction: Transaction,
  bucketId: string,
  key: string,
  { sequence, version }: CurrentObject,
  tags: readonly { readonly key: string; readonly value: string }[],
): void => {
  const records = tags.map((tag) => create(TagRecordSchema, tag));
  transaction.put(versions, [bucketId, key, sequence], { ...version, tags: records });
};

/** Replaces the ACL of a key's current version, which no listing shows; undefined: the owner's full control. */
export const putAcl = (
  transaction: Transaction,
  bucketId: string,
  key: string,
  { sequence, version }: CurrentObject,
  acl: AclRecord | undefined,
): void => {
  const { acl: _replaced, ...others } = version;
  transaction.put(versions, [bucketId, key, sequence], { ...others, ...(acl && { acl }) });
};

const removeVersion = async (
  transaction: Transaction,
  bucketId: string,
  key: string,
  { sequence, version }: CurrentObject,
  nowMs: number,
): Promise<void> => {
  transaction.delete(versions, [bucketId, key, sequence]);
  await releaseExtents(transaction, version.extents, nowMs);
};

/** The blob ranges that hold a range of a version's content, with the bytes of the blobs in the database. */
export const rangesOf = (reader: Reader, version: VersionRecord, range: ByteRange): Promise<BlobRange[]> =>
  Promise.all(
    sliceExtents(version.extents, range).map(async (extent) => ({
      blobId: extent.blobId,
      offsetBytes: Number(extent.offsetBytes),
      lengthBytes: Number(extent.lengthBytes),
      inlineBody: extent.isInline ? await inlineBodyOf(reader, extent.blobId) : undefined,
    })),
  );

const inlineBodyOf = async (reader: Reader, blobId: string): Promise<Uint8Array> => {
  const body = (await reader.get(blobs, [blobId]))?.inlineBody;
  if (body === undefined) throw new Error(`a manifest refers to inline blob ${blobId}, which has no record`);
  return body;
};

/** Reads the listing rows of a bucket whose keys begin with the prefix. */
export const readCurrentRows = async (
  reader: Reader,
  bucketId: string,
  prefix: string,
  seek: ListingSeek<string>,
  limit: number,
): Promise<NamedRow<CurrentVersionRecord, string>[]> => {
  const start =
    "past" in seek
      ? { past: [bucketId, seek.past] as const }
      : seek.after === ""
        ? {}
        : { after: [bucketId, seek.after] as const };
  const entries = await reader.list(currentVersions, { prefix: [bucketId, prefix], textPrefix: true, ...start, limit });
  return entries.map(({ key: [, name], value }) => ({ name, position: name, row: value }));
};
