import type { RestoreRequest } from "../../../gen/quartet/objectstorage/v1/restore_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault, invalidArgument, memberNotOffered } from "../faults.ts";
import { instant } from "./instant.ts";
import { isArchive } from "./storage-class.ts";

/** A copy of an archived version that can be read for a time; instants are milliseconds. */
export interface Restore {
  readonly readyMs: bigint;
  readonly expiresMs: bigint;
}

/** What a version is read by. */
interface Restorable {
  readonly storageClass: string;
  readonly restore?: Restore;
}

const tiers = new Set(["Standard", "Bulk", "Expedited"]);
const daysMax = 36_500;

/**
 * For how many days a request restores. Throws, in this order: MEMBER_NOT_IMPLEMENTED for the result of a query;
 * MALFORMED_XML without days or with an unknown tier; INVALID_ARGUMENT for days that are not possible.
 */
export const planRestore = (request: RestoreRequest | undefined): { readonly days: number; readonly tier: string } => {
  if (request?.type !== undefined) throw memberNotOffered("Type");
  if (request?.selectParameters !== undefined) throw memberNotOffered("SelectParameters");
  if (request?.outputLocation !== undefined) throw memberNotOffered("OutputLocation");
  const { days, tier = request?.glacierJobParameters?.tier ?? "Standard" } = request ?? {};
  if (days === undefined || !tiers.has(tier)) throw fault(ErrorReason.MALFORMED_XML);
  if (days <= 0 || days > daysMax)
    throw invalidArgument("Days", String(days), "Days must be a positive integer, and not longer than 100 years");
  return { days, tier };
};

/** Throws INVALID_ARGUMENT for a tier that the class does not have. */
export const checkTier = (storageClass: string, tier: string): void => {
  if (storageClass === "DEEP_ARCHIVE" && tier === "Expedited")
    throw invalidArgument("Tier", tier, "Retrieval option is not supported by this storage class");
};

/** Whether the content can be read now: it is in no archive, or restored. */
export const isReadable = ({ storageClass, restore }: Restorable, nowMs: number): boolean =>
  !isArchive(storageClass) || (restore !== undefined && restore.readyMs <= nowMs && nowMs < restore.expiresMs);

/** Throws INVALID_OBJECT_STATE for content that must be restored first. */
export const checkReadable = (version: Restorable, nowMs: number): void => {
  if (!isReadable(version, nowMs))
    throw invalidState(version.storageClass, "The operation is not valid for the object's storage class");
};

/** The refusal of what is not possible in a storage class. */
export const invalidState = (storageClass: string, explanation: string) =>
  fault(ErrorReason.INVALID_OBJECT_STATE, { explanation, storage_class: storageClass });

/** The member of a listed version that shows its restore; undefined: there is none. */
export const describeRestoreStatus = ({ restore }: Pick<Restorable, "restore">, nowMs: number) => {
  if (restore === undefined || restore.expiresMs <= nowMs) return undefined;
  if (restore.readyMs > nowMs) return { isRestoreInProgress: true };
  return { isRestoreInProgress: false, restoreExpiryDate: instant(Number(restore.expiresMs)) };
};

/** The value of the header that shows the restore of a version; undefined: there is none. */
export const describeRestore = ({ restore }: Restorable, nowMs: number): string | undefined => {
  if (restore === undefined || restore.expiresMs <= nowMs) return undefined;
  if (restore.readyMs > nowMs) return 'ongoing-request="true"';
  return `ongoing-request="false", expiry-date="${new Date(Number(restore.expiresMs)).toUTCString()}"`;
};
