import type { CurrentVersionRecord, VersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Reader, StoredRecord } from "../../kit/store/store.ts";
import type { ByteRange } from "../domain/byte-range.ts";
import type { BlobRange } from "../domain/extent.ts";
import { sliceExtents } from "../domain/extent.ts";
import type { ListingSeek, NamedRow } from "../domain/listing.ts";
import { findSequence, nullVersionId } from "../domain/versioning.ts";
import type { Bucket } from "./bucket.ts";
import { blobs, currentVersions, nullVersions, versions } from "./layout.ts";

/** A bucket as far as its versions depend on it. */
export type VersionedBucket = Pick<Bucket, "bucketId" | "versioning" | "searchIndex">;

/** A version of a key. */
export interface StoredVersion {
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
): Promise<StoredVersion | undefined> => {
  const row = await findCurrentRow(reader, bucketId, key);
  if (row === undefined) return undefined;
  const sequence = Number(row.sequence);
  const version = await reader.get(versions, [bucketId, key, sequence]);
  if (version === undefined) throw new Error(`the current version ${sequence} of a key has no record`);
  return { sequence, version };
};

/** The newest version of a key, which may be a delete marker. */
export const findNewest = async (reader: Reader, bucketId: string, key: string): Promise<StoredVersion | undefined> => {
  const [newest] = await reader.list(versions, { prefix: [bucketId, key], limit: 1 });
  return newest && { sequence: newest.key[2], version: newest.value };
};

/** The version of a key with this id, which may be a delete marker; undefined if there is none. */
export const findVersion = async (
  reader: Reader,
  bucketId: string,
  key: string,
  versionId: string,
): Promise<StoredVersion | undefined> => {
  const isNull = versionId === nullVersionId;
  const sequence = isNull ? await findNullSequence(reader, bucketId, key) : findSequence(versionId);
  if (sequence === undefined) return undefined;
  const version = await reader.get(versions, [bucketId, key, sequence]);
  return version?.versionId === (isNull ? "" : versionId) ? { sequence, version } : undefined;
};

/** The sequence of the null version of a key, which may be a delete marker; undefined if there is none. */
export const findNullSequence = async (
  reader: Reader,
  bucketId: string,
  key: string,
  current?: CurrentVersionRecord,
): Promise<number | undefined> => {
  const row = current ?? (await findCurrentRow(reader, bucketId, key));
  if (row?.versionId === "") return Number(row.sequence);
  const older = await reader.get(nullVersions, [bucketId, key]);
  return older && Number(older.sequence);
};

/** The blob ranges that hold a range of a version's content, with the sealed keys and the blobs in the database. */
export const rangesOf = (reader: Reader, version: VersionRecord, range: ByteRange): Promise<BlobRange[]> =>
  Promise.all(
    sliceExtents(version.extents, range).map(async ({ blobId, offsetBytes, lengthBytes, isInline }) => {
      const blob = await reader.get(blobs, [blobId]);
      if (blob === undefined || (isInline && blob.inlineBody === undefined))
        throw new Error(`a manifest refers to blob ${blobId}, which has no record`);
      return {
        blobId,
        offsetBytes: Number(offsetBytes),
        lengthBytes: Number(lengthBytes),
        dataKey: blob.dataKey,
        inlineBody: isInline ? blob.inlineBody : undefined,
      };
    }),
  );

/** Reads the listing rows of a bucket whose keys begin with the prefix. */
export const readCurrentRows = (
  reader: Reader,
  bucketId: string,
  prefix: string,
  seek: ListingSeek<string>,
  limit: number,
): Promise<NamedRow<StoredRecord<CurrentVersionRecord>, string>[]> => {
  const start =
    "past" in seek
      ? { past: [bucketId, seek.past] as const }
      : seek.after === ""
        ? {}
        : { after: [bucketId, seek.after] as const };
  const range = { prefix: [bucketId, prefix] as const, textPrefix: true, ...start, limit };
  return reader.listStored(currentVersions, range, ([, name], record) => ({ name, position: name, row: record }));
};
