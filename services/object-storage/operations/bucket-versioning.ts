import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { checkSecondFactor } from "../access/second-factor.ts";
import type { Operation } from "../application.ts";
import { fault } from "../faults.ts";
import { changeVersioning } from "../store/bucket.ts";

/** Returns whether a bucket keeps versions, and whether deleting them needs a second factor; nothing if unset. */
export const getBucketVersioning: Operation<"getBucketVersioning"> = async (_request, { app, access }) => {
  const { versioning, mfaDelete } = await app.store.read((reader) => access.bucket.in(reader));
  return { ...(versioning !== "" && { status: versioning }), ...(mfaDelete !== "" && { mfaDelete }) };
};

/**
 * Turns versioning on or suspends it, and turns on or off that deleting versions needs a second factor; what is stored
 * stays as it is. Repeating it changes nothing. Checks, in order:
 *  1. it has a status (ILLEGAL_VERSIONING_CONFIGURATION), and what it has is known (MALFORMED_XML);
 *  2. it has a second factor of the owner's root, see `checkSecondFactor`, if it is about deleting versions or changes
 *     the state of a bucket where that needs one;
 *  3. the versions of the bucket cannot be locked, or it is not to be suspended (INVALID_BUCKET_STATE);
 *  4. the bucket is not replicated, or it is not to be suspended (INVALID_BUCKET_STATE);
 *  5. the bucket has no lifecycle rules, or deleting versions is not to need a second factor (INVALID_BUCKET_STATE).
 */
export const putBucketVersioning: Operation<"putBucketVersioning"> = async (request, context) => {
  const { app, access, method } = context;
  const { status, mfaDelete } = request.versioningConfiguration ?? {};
  if (status === undefined) throw fault(ErrorReason.ILLEGAL_VERSIONING_CONFIGURATION);
  if (status !== "Enabled" && status !== "Suspended") throw fault(ErrorReason.MALFORMED_XML);
  if (mfaDelete !== undefined && mfaDelete !== "Enabled" && mfaDelete !== "Disabled")
    throw fault(ErrorReason.MALFORMED_XML);
  await app.store.transact(async (transaction) => {
    const bucket = await access.bucket.in(transaction);
    const changesDeletion = mfaDelete !== undefined && mfaDelete !== (bucket.mfaDelete || "Disabled");
    if (request.mfa !== undefined || changesDeletion || bucket.mfaDelete === "Enabled")
      await checkSecondFactor(transaction, context, bucket, request.mfa, method.name);
    if (status === "Suspended" && bucket.objectLock !== undefined)
      throw fault(ErrorReason.INVALID_BUCKET_STATE, {
        explanation:
          "An Object Lock configuration is present on this bucket, so the versioning state cannot be changed.",
      });
    if (status === "Suspended" && bucket.hasReplication)
      throw fault(ErrorReason.INVALID_BUCKET_STATE, {
        explanation:
          "A replication configuration is present on this bucket, so the versioning state cannot be changed.",
      });
    if (mfaDelete === "Enabled" && bucket.hasLifecycle)
      throw fault(ErrorReason.INVALID_BUCKET_STATE, {
        explanation: "MFA Delete on a bucket with a lifecycle configuration is not supported",
      });
    changeVersioning(transaction, bucket, { versioning: status, ...(mfaDelete && { mfaDelete }) });
  });
  return {};
};
