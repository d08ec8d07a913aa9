import type { VersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { RangeOptions, Reader } from "../../kit/store/store.ts";
import type { ListingSeek, NamedRow } from "../domain/listing.ts";
import { versions } from "./layout.ts";

/** A version as a listing shows it. */
export type VersionRow = Pick<
  VersionRecord,
  | "versionId"
  | "isDeleteMarker"
  | "lastModifiedMs"
  | "eTag"
  | "sizeBytes"
  | "storageClass"
  | "ownerAccountId"
  | "restore"
> & { readonly sequence: number; readonly checksum: { readonly algorithm: string; readonly type: string } | undefined };

/** The position of a version among all of its bucket. */
export interface VersionPosition {
  readonly key: string;
  /** Undefined: after all versions of the key. Infinity: before them. */
  readonly sequence: number | undefined;
}

/** Versions that are in memory whole at a time: the manifest of one may have 10,000 parts. */
const wholeVersionsMax = 32;

/** Reads the versions of a bucket whose keys begin with the prefix, the newest of a key first. */
export const readVersionRows = async (
  reader: Reader,
  bucketId: string,
  prefix: string,
  seek: ListingSeek<VersionPosition>,
  limit: number,
): Promise<NamedRow<VersionRow, VersionPosition>[]> => {
  const rows: NamedRow<VersionRow, VersionPosition>[] = [];
  let start = startOf(bucketId, seek);
  while (rows.length < limit) {
    const asked = Math.min(limit - rows.length, wholeVersionsMax);
    const entries = await reader.list(versions, {
      prefix: [bucketId, prefix],
      textPrefix: true,
      ...start,
      limit: asked,
    });
    for (const { key, value } of entries)
      rows.push({ name: key[1], position: { key: key[1], sequence: key[2] }, row: toRow(key[2], value) });
    const last = entries.at(-1);
    if (last === undefined || entries.length < asked) break;
    start = { after: [...last.key] };
  }
  return rows;
};

type Start = Pick<RangeOptions<readonly [string, string, number]>, "past" | "from" | "after">;

const startOf = (bucketId: string, seek: ListingSeek<VersionPosition>): Start => {
  if ("past" in seek) return { past: [bucketId, seek.past] };
  const { key, sequence } = seek.after;
  if (key === "") return {};
  if (sequence === undefined) return { after: [bucketId, key] };
  return sequence === Infinity ? { from: [bucketId, key] } : { after: [bucketId, key, sequence] };
};

const toRow = (sequence: number, version: VersionRecord): VersionRow => ({
  sequence,
  versionId: version.versionId,
  isDeleteMarker: version.isDeleteMarker,
  lastModifiedMs: version.lastModifiedMs,
  eTag: version.eTag,
  sizeBytes: version.sizeBytes,
  storageClass: version.storageClass,
  ownerAccountId: version.ownerAccountId,
  ...(version.restore && { restore: version.restore }),
  checksum: version.checksum && { algorithm: version.checksum.algorithm, type: version.checksum.type },
});
