import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { Operation } from "../application.ts";
import { openVersion } from "../content/version-lookup.ts";
import { afterDays } from "../domain/lifecycle-action.ts";
import { checkTier, invalidState, planRestore } from "../domain/restore.ts";
import { isArchive } from "../domain/storage-class.ts";
import { shownVersionId } from "../domain/versioning.ts";
import { fault } from "../faults.ts";
import { putRestore } from "../store/version-change.ts";

/**
 * Makes an archived version readable for some days, after the delay that the installation is set to; 202. For one that
 * is readable already, moves the end; 200. Checks, in order:
 *  1. the request is valid, see `planRestore`;
 *  2. the version exists, see `openVersion`;
 *  3. it is in an archive class (INVALID_OBJECT_STATE) that has the tier (INVALID_ARGUMENT);
 *  4. it is not being restored (RESTORE_ALREADY_IN_PROGRESS).
 */
export const restoreObject: Operation<"restoreObject"> = async (request, context) => {
  const { app } = context;
  const { days, tier } = planRestore(request.restoreRequest);
  return app.store.transact(async (transaction) => {
    const { bucket, found } = await openVersion(transaction, context, request);
    const { version, sequence } = found;
    if (!isArchive(version.storageClass))
      throw invalidState(version.storageClass, "Restore is not allowed for the object's current storage class");
    checkTier(version.storageClass, tier);
    const nowMs = app.clock.now();
    const before = version.restore;
    if (before !== undefined && before.readyMs > nowMs) throw fault(ErrorReason.RESTORE_ALREADY_IN_PROGRESS);
    const isReadable = before !== undefined && nowMs < before.expiresMs;
    const readyMs = isReadable ? Number(before.readyMs) : nowMs + app.restoreDelayMs;
    const expiresMs = afterDays(Math.max(readyMs, nowMs), days, app.lifecycleDayMs);
    await putRestore(transaction, bucket.bucketId, request.key, found, {
      readyMs: BigInt(readyMs),
      expiresMs: BigInt(expiresMs),
    });
    const step = { bucket: bucket.name, bucketId: bucket.bucketId, key: request.key, sequence: BigInt(sequence) };
    app.restores.schedule(transaction, bucket.accountId, { ...step, isExpiry: true }, expiresMs);
    if (isReadable) return { statusCode: 200 };
    app.restores.schedule(transaction, bucket.accountId, { ...step, isExpiry: false }, readyMs);
    await app.events.announce(transaction, context, bucket, {
      kind: "restore-initiated",
      key: request.key,
      versionId: shownVersionId(bucket.versioning, version),
      sequence,
      sizeBytes: Number(version.sizeBytes),
      eTag: version.eTag,
      storageClass: version.storageClass,
      expiresMs: undefined,
      timeMs: nowMs,
    });
    return { statusCode: 202 };
  });
};
