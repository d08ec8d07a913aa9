/**
 * The policy of a bucket. These operations are for the account of the bucket's owner: others who have the permission
 * are refused with METHOD_NOT_ALLOWED.
 */
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { isAllowed } from "../../kit/access/decide.ts";
import { isOwner } from "../../kit/identity/owner.ts";
import type { Reader } from "../../kit/store/store.ts";
import { recordRefusal, refuse } from "../access/refusals.ts";
import { rules } from "../access/rules.ts";
import type { BucketContext, Operation } from "../application.ts";
import { isPublicPolicy, malformedPolicy, parseBucketPolicy, readBucketPolicy } from "../access/bucket-policy.ts";
import { effectiveBlock } from "../domain/public-access-block.ts";
import { fault } from "../faults.ts";
import { revisionDigits } from "../limits.ts";
import type { Bucket } from "../store/bucket.ts";
import { changeRules } from "../store/bucket.ts";
import { deleteDocument, findDocument, putDocument } from "../store/configuration.ts";

/**
 * Replaces the policy of a bucket; it decides on the next call. Repeating it changes nothing. Checks, in order:
 *  1. the caller is of the owner's account (METHOD_NOT_ALLOWED);
 *  2. the policy is valid, see `readBucketPolicy`;
 *  3. the caller could put the next policy, unless it confirms the contrary (MALFORMED_POLICY);
 *  4. where public policies are blocked, it is not public (ACCESS_DENIED).
 */
export const putBucketPolicy: Operation<"putBucketPolicy"> = async (request, context) => {
  const { app, access, caller } = context;
  checkOwnersAccount(context);
  const policy = readBucketPolicy(request.policy, access.bucket.name);
  const resource = { ...access.bucket.asResource("PutBucketPolicy"), policies: [policy] };
  if (
    request.confirmRemoveSelfBucketAccess !== true &&
    !caller.isRoot &&
    !isAllowed(rules, context, { action: "PutBucketPolicy", resource })
  )
    throw malformedPolicy("The new bucket policy will not allow you to update the bucket policy in the future.");
  const revision = app.ids.hex(revisionDigits);
  await app.store.transact(async (transaction) => {
    const bucket = await access.bucket.in(transaction);
    const ofAccount = app.accountBlocks.find(bucket.accountId);
    const { blockPublicPolicy } = effectiveBlock(bucket.publicAccessBlock, ofAccount, app.allowsPublicBuckets);
    if (blockPublicPolicy && isPublicPolicy(policy))
      throw refuse(context, "PutBucketPolicy", bucket.name, "public-access-block");
    putDocument(transaction, bucket.bucketId, "policy", request.policy);
    changeRules(transaction, bucket, revision, { policyRevision: revision });
  });
  return {};
};

/** Returns the policy of a bucket as it was put. Fails for callers of other accounts, and without a policy. */
export const getBucketPolicy: Operation<"getBucketPolicy"> = async (_request, context) => {
  checkOwnersAccount(context);
  return { policy: await context.app.store.read((reader) => getPolicy(reader, context)) };
};

/** Deletes the policy of a bucket; repeating it succeeds. Fails for callers of other accounts. */
export const deleteBucketPolicy: Operation<"deleteBucketPolicy"> = async (_request, context) => {
  const { app, access } = context;
  checkOwnersAccount(context);
  const revision = app.ids.hex(revisionDigits);
  await app.store.transact(async (transaction) => {
    const bucket = await access.bucket.in(transaction);
    deleteDocument(transaction, bucket.bucketId, "policy");
    changeRules(transaction, bucket, revision, { policyRevision: "" });
  });
  return {};
};

/** Returns whether the policy of a bucket is public. Fails without a policy. */
export const getBucketPolicyStatus: Operation<"getBucketPolicyStatus"> = async (_request, context) => {
  const policy = await context.app.store.read((reader) => getPolicy(reader, context));
  return { policyStatus: { isPublic: isPublicPolicy(parseBucketPolicy(policy)) } };
};

const checkOwnersAccount = (context: BucketContext): void => {
  const { bucket } = context.access;
  if (isOwner(context.caller, bucket.known.accountId)) return;
  recordRefusal(context, context.method.name, bucket.name, "owner-account");
  throw fault(ErrorReason.METHOD_NOT_ALLOWED, { resource_type: "BUCKETPOLICY" });
};

const getPolicy = async (reader: Reader, { access }: BucketContext): Promise<string> => {
  const bucket: Bucket = await access.bucket.in(reader);
  const policy = await findDocument(reader, bucket.bucketId, "policy");
  if (policy === undefined) throw fault(ErrorReason.NO_SUCH_BUCKET_POLICY, { bucket_name: bucket.name });
  return policy;
};
