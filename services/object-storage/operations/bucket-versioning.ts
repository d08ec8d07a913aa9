import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { Operation } from "../application.ts";
import { checkOffered } from "../domain/offer.ts";
import { fault, memberNotOffered } from "../faults.ts";
import { changeVersioning } from "../store/bucket.ts";

/** Returns whether a bucket keeps versions; nothing if it never did. */
export const getBucketVersioning: Operation<"getBucketVersioning"> = async (_request, { app, access }) => {
  const { versioning } = await app.store.read((reader) => access.bucket.in(reader));
  return versioning === "" ? {} : { status: versioning };
};

/**
 * Turns versioning on or suspends it; what is stored stays as it is. Repeating it changes nothing. Checks, in order:
 *  1. the request asks for nothing that is not offered, such as a second factor for deletions;
 *  2. it has a status (ILLEGAL_VERSIONING_CONFIGURATION), and the status is known (MALFORMED_XML);
 *  3. the versions of the bucket cannot be locked, or it is not to be suspended (INVALID_BUCKET_STATE).
 */
export const putBucketVersioning: Operation<"putBucketVersioning"> = async (request, { app, access }) => {
  checkOffered(request);
  const { status, mfaDelete } = request.versioningConfiguration ?? {};
  if (status === undefined) throw fault(ErrorReason.ILLEGAL_VERSIONING_CONFIGURATION);
  if (status !== "Enabled" && status !== "Suspended") throw fault(ErrorReason.MALFORMED_XML);
  if (mfaDelete !== undefined && mfaDelete !== "Disabled") throw memberNotOffered("MfaDelete");
  await app.store.transact(async (transaction) => {
    const bucket = await access.bucket.in(transaction);
    if (status === "Suspended" && bucket.objectLock !== undefined)
      throw fault(ErrorReason.INVALID_BUCKET_STATE, {
        explanation:
          "An Object Lock configuration is present on this bucket, so the versioning state cannot be changed.",
      });
    changeVersioning(transaction, bucket, status);
  });
  return {};
};
