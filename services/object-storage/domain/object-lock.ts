import type { ObjectLockConfiguration } from "../../../gen/quartet/objectstorage/v1/object_lock_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault, invalidArgument, invalidRequest } from "../faults.ts";
import type { Instant } from "./instant.ts";
import { instant, instantMs } from "./instant.ts";

/** Until when a version can not be deleted; the instant is in milliseconds. */
export interface Retention {
  /** GOVERNANCE or COMPLIANCE. */
  readonly mode: string;
  readonly retainUntilMs: bigint;
}

/** What protects a version from deletion. */
export interface VersionLock {
  readonly retention?: Retention;
  /** ON or OFF. Empty: none was ever set. */
  readonly legalHold: string;
}

/** How a bucket locks new versions. One of days and years is not 0 where there is a mode. */
export interface BucketLock {
  /** GOVERNANCE or COMPLIANCE. Empty: not at all, unless a write asks for it. */
  readonly defaultMode: string;
  readonly defaultDays: number;
  readonly defaultYears: number;
}

/** A bucket whose versions can be locked, but are not without being asked for. */
export const lockWithoutDefault: BucketLock = { defaultMode: "", defaultDays: 0, defaultYears: 0 };

const dayMs = 24 * 60 * 60 * 1000;
const retentionDaysMax = 36_500;
const retentionYearsMax = 100;

const isMode = (mode: string | undefined): mode is string => mode === "GOVERNANCE" || mode === "COMPLIANCE";

/**
 * Reads the lock of a bucket. Throws, in this order: MALFORMED_XML, INVALID_RETENTION_PERIOD for one that is not
 * positive or longer than 100 years.
 */
export const planBucketLock = (configuration: ObjectLockConfiguration | undefined): BucketLock => {
  if (configuration?.objectLockEnabled !== "Enabled") throw fault(ErrorReason.MALFORMED_XML);
  if (configuration.rule === undefined) return lockWithoutDefault;
  const { mode, days, years } = configuration.rule.defaultRetention ?? {};
  if (!isMode(mode) || (days === undefined) === (years === undefined)) throw fault(ErrorReason.MALFORMED_XML);
  if ((days ?? years ?? 0) <= 0 || (days ?? 0) > retentionDaysMax || (years ?? 0) > retentionYearsMax)
    throw fault(ErrorReason.INVALID_RETENTION_PERIOD);
  return { defaultMode: mode, defaultDays: days ?? 0, defaultYears: years ?? 0 };
};

/** The members of a write that lock its version. */
export interface LockMembers {
  readonly objectLockMode?: string;
  readonly objectLockRetainUntilDate?: Instant;
  readonly objectLockLegalHoldStatus?: string;
}

/** The lock that a write asks for. Throws INVALID_ARGUMENT for half a retention and for one that has ended. */
export const readLock = (request: LockMembers, nowMs: number): VersionLock => {
  const { objectLockMode: mode, objectLockRetainUntilDate: until, objectLockLegalHoldStatus: legalHold = "" } = request;
  if ((mode === undefined) !== (until === undefined))
    throw invalidArgument(
      mode === undefined ? "x-svc-object-lock-mode" : "x-svc-object-lock-retain-until-date",
      "",
      "x-svc-object-lock-retain-until-date and x-svc-object-lock-mode must both be supplied",
    );
  if (mode === undefined || until === undefined) return { legalHold };
  return { retention: { mode, retainUntilMs: futureMs(until, nowMs) }, legalHold };
};

/**
 * The lock of a new version: the one that its write asks for, or a retention by the bucket's default. Throws as
 * `checkLockable` does.
 */
export const lockOfNew = (bucketLock: BucketLock | undefined, asked: VersionLock, nowMs: number): VersionLock => {
  checkLockable(bucketLock, asked);
  const { retention, legalHold } = asked;
  if (bucketLock === undefined) return { legalHold };
  const given = retention ?? defaultRetention(bucketLock, nowMs);
  return { ...(given && { retention: given }), legalHold };
};

/** Throws INVALID_REQUEST for a lock in a bucket whose versions cannot be locked. */
export const checkLockable = (bucketLock: BucketLock | undefined, { retention, legalHold }: VersionLock): void => {
  if (bucketLock === undefined && (retention !== undefined || legalHold !== "")) throw notLockable();
};

/** The refusal of what needs a bucket whose versions can be locked. */
export const notLockable = () => invalidRequest("Bucket is missing Object Lock Configuration");

/**
 * Reads the retention of a request; undefined: it is to be lifted. Throws MALFORMED_XML for half a retention or an
 * unknown mode, INVALID_ARGUMENT for one that has ended.
 */
export const readRetention = (
  retention: { readonly mode?: string; readonly retainUntilDate?: Instant } | undefined,
  nowMs: number,
): Retention | undefined => {
  const { mode, retainUntilDate: until } = retention ?? {};
  if (retention !== undefined && mode === undefined && until === undefined) return undefined;
  if (!isMode(mode) || until === undefined) throw fault(ErrorReason.MALFORMED_XML);
  return { mode, retainUntilMs: futureMs(until, nowMs) };
};

/**
 * Throws OBJECT_LOCKED for a change of a retention that has not ended, unless it is extended in its mode, or bypassed
 * in GOVERNANCE mode. Nobody shortens a retention in COMPLIANCE mode.
 */
export const checkRetentionChange = (
  { retention: before }: VersionLock,
  after: Retention | undefined,
  nowMs: number,
  isBypassed: boolean,
): void => {
  if (before === undefined || before.retainUntilMs <= nowMs) return;
  const isExtended = after?.mode === before.mode && after.retainUntilMs >= before.retainUntilMs;
  if (!isExtended && !(before.mode === "GOVERNANCE" && isBypassed)) throw fault(ErrorReason.OBJECT_LOCKED);
};

/** Whether a version cannot be deleted now. */
export const isLocked = ({ retention, legalHold }: VersionLock, nowMs: number, isBypassed: boolean): boolean => {
  if (legalHold === "ON") return true;
  if (retention === undefined || retention.retainUntilMs <= nowMs) return false;
  return !(retention.mode === "GOVERNANCE" && isBypassed);
};

/** The members of a read that show a lock. */
export const describeLock = ({ retention, legalHold }: VersionLock) => ({
  ...(retention && {
    objectLockMode: retention.mode,
    objectLockRetainUntilDate: instant(Number(retention.retainUntilMs)),
  }),
  ...(legalHold !== "" && { objectLockLegalHoldStatus: legalHold }),
});

/** Calendar years, so that no year of a retention is shorter than it is for people. */
const defaultRetention = ({ defaultMode, defaultDays, defaultYears }: BucketLock, nowMs: number) => {
  if (defaultMode === "") return undefined;
  const until = new Date(nowMs + defaultDays * dayMs);
  until.setUTCFullYear(until.getUTCFullYear() + defaultYears);
  return { mode: defaultMode, retainUntilMs: BigInt(until.getTime()) };
};

const futureMs = (until: Instant, nowMs: number): bigint => {
  const untilMs = instantMs(until);
  if (untilMs <= nowMs)
    throw invalidArgument("RetainUntilDate", String(untilMs), "The retain until date must be in the future!");
  return BigInt(untilMs);
};
