import type { CurrentVersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { quoteETag } from "./conditions.ts";
import { instant } from "./instant.ts";

/** The members that every listing shows of an object. */
export const describeListed = (key: string, row: CurrentVersionRecord) => ({
  key,
  lastModified: instant(Number(row.lastModifiedMs)),
  eTag: quoteETag(row.eTag),
  checksumAlgorithm: row.checksumAlgorithm === "" ? [] : [row.checksumAlgorithm],
  checksumType: row.checksumType === "" ? undefined : row.checksumType,
  size: row.sizeBytes,
  storageClass: row.storageClass,
});
