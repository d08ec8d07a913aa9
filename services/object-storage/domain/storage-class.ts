import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault, memberNotOffered } from "../faults.ts";

export const defaultStorageClass = "STANDARD";

/** Classes whose objects are read at once. On one machine they differ in name only; the name is kept and shown. */
const offered = new Set([
  defaultStorageClass,
  "REDUCED_REDUNDANCY",
  "STANDARD_IA",
  "ONEZONE_IA",
  "INTELLIGENT_TIERING",
  "GLACIER_IR",
]);

/** Classes that need restoring before reading, or a place that an installation does not have. */
const known = new Set([
  "GLACIER",
  "DEEP_ARCHIVE",
  "OUTPOSTS",
  "SNOW",
  "EXPRESS_ONEZONE",
  "FSX_OPENZFS",
  "FSX_ONTAP",
  "AWS_BACKUP_WARM",
  "AWS_BACKUP_LOW_COST_WARM",
]);

/** The class to store an object in. Throws INVALID_STORAGE_CLASS, or MEMBER_NOT_IMPLEMENTED for a class not offered. */
export const chooseStorageClass = (asked: string | undefined): string => {
  const storageClass = asked ?? defaultStorageClass;
  if (offered.has(storageClass)) return storageClass;
  if (known.has(storageClass)) throw memberNotOffered("x-svc-storage-class");
  throw fault(ErrorReason.INVALID_STORAGE_CLASS, { storage_class_requested: storageClass });
};
