import type {
  ChecksumRecord,
  RestoreRecord,
  VersionRecord,
} from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ChecksumRecordSchema, VersionRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { RangeOptions, Reader, StoredRecord } from "../../kit/store/store.ts";
import { PlainMembers } from "../../kit/wire/plain-members.ts";
import type { ListingSeek, NamedRow } from "../domain/listing.ts";
import { versions } from "./layout.ts";

/** A version as a listing shows it. */
export interface VersionRow {
  readonly sequence: number;
  readonly versionId: string;
  readonly isDeleteMarker: boolean;
  readonly lastModifiedMs: number;
  readonly eTag: string;
  readonly sizeBytes: number;
  readonly storageClass: string;
  readonly ownerAccountId: string;
  readonly checksum: Pick<ChecksumRecord, "algorithm" | "type"> | undefined;
  readonly restore: RestoreRecord | undefined;
}

/** The position of a version among all of its bucket. */
export interface VersionPosition {
  readonly key: string;
  /** Undefined: after all versions of the key. Infinity: before them. */
  readonly sequence: number | undefined;
}

/** Reads the versions of a bucket whose keys begin with the prefix, the newest of a key first. */
export const readVersionRows = (
  reader: Reader,
  bucketId: string,
  prefix: string,
  seek: ListingSeek<VersionPosition>,
  limit: number,
): Promise<NamedRow<VersionRow, VersionPosition>[]> => {
  const range = { textPrefix: true, ...startOf(bucketId, seek), limit };
  // The manifest of a version may have 10,000 parts, so records are not kept.
  return reader.listStored(versions, { prefix: [bucketId, prefix], ...range }, ([, key, sequence], record) => ({
    name: key,
    position: { key, sequence },
    row: toRow(sequence, record),
  }));
};

type Start = Pick<RangeOptions<readonly [string, string, number]>, "past" | "from" | "after">;

const startOf = (bucketId: string, seek: ListingSeek<VersionPosition>): Start => {
  if ("past" in seek) return { past: [bucketId, seek.past] };
  const { key, sequence } = seek.after;
  if (key === "") return {};
  if (sequence === undefined) return { after: [bucketId, key] };
  return sequence === Infinity ? { from: [bucketId, key] } : { after: [bucketId, key, sequence] };
};

const toRow = (sequence: number, record: StoredRecord<VersionRecord>): VersionRow => {
  const plain = findPlain(record.bytes);
  return { sequence, ...(plain ?? decoded(record.decode())) };
};

type StoredMembers = Omit<VersionRow, "sequence">;

const members = VersionRecordSchema.field;
const found = new PlainMembers(VersionRecordSchema, [
  members.versionId,
  members.lastModifiedMs,
  members.eTag,
  members.sizeBytes,
  members.storageClass,
  members.ownerAccountId,
  members.checksum,
  members.isDeleteMarker,
  members.restore,
]);
const { algorithm, type } = ChecksumRecordSchema.field;
const foundInChecksum = new PlainMembers(ChecksumRecordSchema);

/** The members of a record, found in its bytes without decoding it. Undefined: it is not plain. */
const findPlain = (bytes: Uint8Array): StoredMembers | undefined => {
  if (!found.find(bytes) || found.has(members.restore)) return undefined;
  const lastModifiedMs = found.integer(members.lastModifiedMs);
  const sizeBytes = found.integer(members.sizeBytes);
  if (lastModifiedMs === undefined || sizeBytes === undefined) return undefined;
  let checksum: StoredMembers["checksum"];
  if (found.has(members.checksum)) {
    if (!foundInChecksum.find(bytes, found.startOf(members.checksum), found.endOf(members.checksum))) return undefined;
    checksum = { algorithm: foundInChecksum.text(algorithm), type: foundInChecksum.text(type) };
  }
  return {
    versionId: found.text(members.versionId),
    isDeleteMarker: found.integer(members.isDeleteMarker) !== 0,
    lastModifiedMs,
    eTag: found.text(members.eTag),
    sizeBytes,
    storageClass: found.text(members.storageClass),
    ownerAccountId: found.text(members.ownerAccountId),
    checksum,
    restore: undefined,
  };
};

const decoded = (version: VersionRecord): StoredMembers => ({
  versionId: version.versionId,
  isDeleteMarker: version.isDeleteMarker,
  lastModifiedMs: Number(version.lastModifiedMs),
  eTag: version.eTag,
  sizeBytes: Number(version.sizeBytes),
  storageClass: version.storageClass,
  ownerAccountId: version.ownerAccountId,
  checksum: version.checksum && { algorithm: version.checksum.algorithm, type: version.checksum.type },
  restore: version.restore,
});
