import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { LoggingEnabled } from "../../../gen/quartet/objectstorage/v1/logging_pb.ts";
import type { ServiceError } from "../../kit/faults/service-error.ts";
import type { Reader } from "../../kit/store/store.ts";
import { isLogWriteGranted } from "../logging/delivery-permission.ts";
import type { Application, Operation } from "../application.ts";
import { readAcl } from "../domain/acl-request.ts";
import { logGrants, planLogging } from "../domain/logging.ts";
import { hasAcls } from "../domain/ownership.ts";
import { fault } from "../faults.ts";
import { findElsewhere } from "../regions/find-elsewhere.ts";
import type { Bucket } from "../store/bucket.ts";
import { changeHasLogging, findBucket } from "../store/bucket.ts";
import { deleteDocument, findDocument, putDocument } from "../store/configuration.ts";

/**
 * Replaces the configuration of a bucket's access log, or ends the log. Repeating it changes nothing. Checks, in order:
 *  1. the document is valid, see `planLogging`, and so are its grantees, see `readAcl`;
 *  2. the target exists here, is not in another region (CROSS_LOCATION_LOGGING_PROHIBITED) and has the same owner
 *     (INVALID_TARGET_BUCKET_FOR_LOGGING);
 *  3. where the target's ACLs are off, there are no grants (ACCESS_CONTROL_LIST_NOT_SUPPORTED); where they count, the
 *     service that delivers logs may write, by the ACL or the policy (INVALID_TARGET_BUCKET_FOR_LOGGING).
 * Each delivery is decided by the target's policy and ACL again.
 */
export const putBucketLogging: Operation<"putBucketLogging"> = async (request, { app, access }) => {
  const planned = planLogging(request.bucketLoggingStatus);
  if (planned !== undefined) readAcl(logGrants(planned), app);
  const target = planned?.targetBucket ?? "";
  const otherPlace = planned && (await findElsewhere(app, target));
  await app.store.transact(async (transaction) => {
    const bucket = await access.bucket.in(transaction);
    if (planned === undefined) {
      deleteDocument(transaction, bucket.bucketId, "logging");
      if (bucket.hasLogging) changeHasLogging(transaction, bucket, false);
      return;
    }
    const found = await findBucket(transaction, target);
    if (found === undefined && otherPlace !== undefined)
      throw fault(ErrorReason.CROSS_LOCATION_LOGGING_PROHIBITED, {
        source_bucket_location: bucket.region,
        target_bucket_location: otherPlace.region,
      });
    if (found === undefined) throw invalidTarget(target, "The target bucket for logging does not exist");
    await checkTarget(transaction, app, bucket, found, planned);
    putDocument(transaction, bucket.bucketId, "logging", planned);
    if (!bucket.hasLogging) changeHasLogging(transaction, bucket, true);
  });
  return {};
};

/** Returns the configuration of a bucket's access log; nothing if it has none. */
export const getBucketLogging: Operation<"getBucketLogging"> = async (_request, { app, access }) => {
  const loggingEnabled = await app.store.read(async (reader) => {
    const { bucketId, hasLogging } = await access.bucket.in(reader);
    return hasLogging ? findDocument(reader, bucketId, "logging") : undefined;
  });
  return loggingEnabled === undefined ? {} : { loggingEnabled };
};

const checkTarget = async (
  reader: Reader,
  app: Application,
  source: Bucket,
  target: Bucket,
  logging: LoggingEnabled,
): Promise<void> => {
  if (target.accountId !== source.accountId)
    throw invalidTarget(target.name, "The owner for the bucket to be logged and the target bucket must be the same.");
  if (!hasAcls(target)) {
    if (logging.targetGrants.length > 0) throw fault(ErrorReason.ACCESS_CONTROL_LIST_NOT_SUPPORTED);
    return;
  }
  if (!(await isLogWriteGranted(reader, app, source, target, `${logging.targetPrefix}2000-01-01-00-00-00-0`)))
    throw invalidTarget(
      target.name,
      "You must give the log-delivery group WRITE and READ_ACP permissions to the target bucket",
    );
};

const invalidTarget = (name: string, explanation: string): ServiceError =>
  fault(ErrorReason.INVALID_TARGET_BUCKET_FOR_LOGGING, { target_bucket: name, explanation });
