import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault, memberNotOffered } from "../faults.ts";

const defaultStorageClass = "STANDARD";

/** Classes whose objects must be restored before they are read. */
const archives = new Set(["GLACIER", "DEEP_ARCHIVE"]);

/**
 * The classes that are offered, the warmest first. On one machine they differ in name only, and the archives in that
 * their objects must be restored; lifecycle rules move objects only to colder ones.
 */
const offered = [
  defaultStorageClass,
  "REDUCED_REDUNDANCY",
  "STANDARD_IA",
  "INTELLIGENT_TIERING",
  "ONEZONE_IA",
  "GLACIER_IR",
  "GLACIER",
  "DEEP_ARCHIVE",
];

/** Classes that need hardware that an installation does not have. */
const known = new Set([
  "OUTPOSTS",
  "SNOW",
  "EXPRESS_ONEZONE",
  "FSX_OPENZFS",
  "FSX_ONTAP",
  "AWS_BACKUP_WARM",
  "AWS_BACKUP_LOW_COST_WARM",
]);

/** The classes that lifecycle rules move objects to. */
export const transitionClasses: ReadonlySet<string> = new Set(offered.slice(2));

/** The storage class of an object. Throws INVALID_STORAGE_CLASS, or MEMBER_NOT_IMPLEMENTED if it is not offered. */
export const chooseStorageClass = (requested: string | undefined): string => {
  const storageClass = requested ?? defaultStorageClass;
  if (offered.includes(storageClass)) return storageClass;
  if (known.has(storageClass)) throw memberNotOffered("x-svc-storage-class");
  throw fault(ErrorReason.INVALID_STORAGE_CLASS, { storage_class_requested: storageClass });
};

/** Whether the objects of a class must be restored before they are read. */
export const isArchive = (storageClass: string): boolean => archives.has(storageClass);

/** Whether a class is colder than another one. */
export const isColderClass = (storageClass: string, than: string): boolean =>
  offered.includes(than) && offered.indexOf(storageClass) > offered.indexOf(than);
