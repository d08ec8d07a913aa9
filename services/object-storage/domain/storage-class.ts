import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault, memberNotOffered } from "../faults.ts";

const defaultStorageClass = "STANDARD";

/** Classes whose objects can be read at once. On one machine they differ in name only, which is stored and shown. */
const offered = new Set([
  defaultStorageClass,
  "REDUCED_REDUNDANCY",
  "STANDARD_IA",
  "ONEZONE_IA",
  "INTELLIGENT_TIERING",
  "GLACIER_IR",
]);

/** Classes whose objects must be restored before reading, or that need hardware that an installation does not have. */
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

/** The storage class of an object. Throws INVALID_STORAGE_CLASS, or MEMBER_NOT_IMPLEMENTED if it is not offered. */
export const chooseStorageClass = (requested: string | undefined): string => {
  const storageClass = requested ?? defaultStorageClass;
  if (offered.has(storageClass)) return storageClass;
  if (known.has(storageClass)) throw memberNotOffered("x-svc-storage-class");
  throw fault(ErrorReason.INVALID_STORAGE_CLASS, { storage_class_requested: storageClass });
};
