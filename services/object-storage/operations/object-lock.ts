/** Object lock: which versions of a bucket nobody may delete, and until when. */
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { BucketContext, Operation } from "../application.ts";
import type { OpenedVersion } from "../content/version-lookup.ts";
import { openVersion } from "../content/version-lookup.ts";
import { instant } from "../domain/instant.ts";
import type { VersionLock } from "../domain/object-lock.ts";
import { checkRetentionChange, notLockable, planBucketLock, readRetention } from "../domain/object-lock.ts";
import { fault, memberNotOffered } from "../faults.ts";
import { changeObjectLock } from "../store/bucket.ts";
import { putLock } from "../store/version-change.ts";

/**
 * Lets the versions of a bucket be locked, which cannot be undone, and replaces the retention of new ones; stored ones
 * stay as they are. Repeating it changes nothing. Checks, in order:
 *  1. the request has no token, because none is ever asked for;
 *  2. the configuration is valid, see `planBucketLock`;
 *  3. the bucket keeps versions (INVALID_BUCKET_STATE).
 */
export const putObjectLockConfiguration: Operation<"putObjectLockConfiguration"> = async (request, { app, access }) => {
  if (request.token !== undefined) throw memberNotOffered("x-svc-bucket-object-lock-token");
  const planned = planBucketLock(request.objectLockConfiguration);
  await app.store.transact(async (transaction) => {
    const bucket = await access.bucket.in(transaction);
    if (bucket.versioning !== "Enabled")
      throw fault(ErrorReason.INVALID_BUCKET_STATE, {
        explanation: "Versioning must be 'Enabled' on the bucket to apply a Object Lock configuration",
      });
    changeObjectLock(transaction, bucket, planned);
  });
  return {};
};

/** Returns how a bucket locks versions. Fails if its versions cannot be locked. */
export const getObjectLockConfiguration: Operation<"getObjectLockConfiguration"> = async (_request, context) => {
  const { name, objectLock } = await context.app.store.read((reader) => context.access.bucket.in(reader));
  if (objectLock === undefined) throw fault(ErrorReason.OBJECT_LOCK_CONFIGURATION_NOT_FOUND, { bucket_name: name });
  const { defaultMode: mode, defaultDays, defaultYears } = objectLock;
  const length = defaultDays > 0 ? { days: defaultDays } : { years: defaultYears };
  return {
    objectLockConfiguration: {
      objectLockEnabled: "Enabled",
      ...(mode !== "" && { rule: { defaultRetention: { mode, ...length } } }),
    },
  };
};

/**
 * Replaces the retention of a version, or lifts it where the request has an empty one. Repeating it changes nothing.
 * Checks, in order:
 *  1. the retention is valid and has not ended, see `readRetention`;
 *  2. versions of the bucket can be locked (INVALID_REQUEST);
 *  3. the version exists, see `openVersion`;
 *  4. a retention that has not ended is extended, or it is bypassed, see `checkRetentionChange`.
 */
export const putObjectRetention: Operation<"putObjectRetention"> = async (request, context) => {
  const { app } = context;
  const retention = readRetention(request.retention, app.lockClock.now());
  const isBypassed = request.bypassGovernanceRetention === true;
  await changeLock(context, request, ({ legalHold, ...lock }) => {
    checkRetentionChange({ ...lock, legalHold }, retention, app.lockClock.now(), isBypassed);
    return { legalHold, ...(retention && { retention }) };
  });
  return {};
};

/**
 * Returns the retention of a version, also one that has ended. Checks, in order:
 *  1. versions of the bucket can be locked (INVALID_REQUEST);
 *  2. the version exists, see `openVersion`;
 *  3. it has a retention (NO_SUCH_OBJECT_LOCK_CONFIGURATION).
 */
export const getObjectRetention: Operation<"getObjectRetention"> = async (request, context) => {
  const { retention } = (await openLockable(context, request)).found.version;
  if (retention === undefined) throw fault(ErrorReason.NO_SUCH_OBJECT_LOCK_CONFIGURATION);
  return { retention: { mode: retention.mode, retainUntilDate: instant(Number(retention.retainUntilMs)) } };
};

/**
 * Sets or lifts the legal hold of a version; its retention stays as it is. Repeating it changes nothing. Checks, in
 * order:
 *  1. the status is ON or OFF (MALFORMED_XML);
 *  2. versions of the bucket can be locked (INVALID_REQUEST);
 *  3. the version exists, see `openVersion`.
 */
export const putObjectLegalHold: Operation<"putObjectLegalHold"> = async (request, context) => {
  const { status } = request.legalHold ?? {};
  if (status !== "ON" && status !== "OFF") throw fault(ErrorReason.MALFORMED_XML);
  await changeLock(context, request, ({ retention }) => ({ legalHold: status, ...(retention && { retention }) }));
  return {};
};

/**
 * Returns the legal hold of a version. Checks, in order:
 *  1. versions of the bucket can be locked (INVALID_REQUEST);
 *  2. the version exists, see `openVersion`;
 *  3. a legal hold was set once (NO_SUCH_OBJECT_LOCK_CONFIGURATION).
 */
export const getObjectLegalHold: Operation<"getObjectLegalHold"> = async (request, context) => {
  const { legalHold } = (await openLockable(context, request)).found.version;
  if (legalHold === "") throw fault(ErrorReason.NO_SUCH_OBJECT_LOCK_CONFIGURATION);
  return { legalHold: { status: legalHold } };
};

interface NamedVersion {
  readonly key: string;
  readonly versionId?: string;
}

const openLockable = (context: BucketContext, request: NamedVersion): Promise<OpenedVersion> =>
  context.app.store.read(async (reader) => {
    checkHasLock(await context.access.bucket.in(reader));
    return openVersion(reader, context, request);
  });

const changeLock = (
  context: BucketContext,
  request: NamedVersion,
  decide: (before: VersionLock) => VersionLock,
): Promise<void> =>
  context.app.store.transact(async (transaction: Transaction) => {
    checkHasLock(await context.access.bucket.in(transaction));
    const { bucket, found } = await openVersion(transaction, context, request);
    const { retention, legalHold } = found.version;
    putLock(transaction, bucket.bucketId, request.key, found, decide({ legalHold, ...(retention && { retention }) }));
  });

const checkHasLock = ({ objectLock }: { readonly objectLock: unknown }): void => {
  if (objectLock === undefined) throw notLockable();
};
