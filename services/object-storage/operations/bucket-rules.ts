/**
 * The rules of a bucket that decide, besides its policy and ACL, who may use it: ownership controls, public access
 * block and who pays for requests. Each decides on the next call; repeating a change changes nothing.
 */
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { BucketContext, Operation } from "../application.ts";
import { isOwnersControl } from "../domain/acl.ts";
import { readOwnershipControls } from "../domain/ownership.ts";
import { planPublicAccessBlock, publicAccessBlockMessage } from "../domain/public-access-block.ts";
import { fault } from "../faults.ts";
import { revisionDigits } from "../limits.ts";
import type { Bucket, BucketRules } from "../store/bucket.ts";
import { changeRules } from "../store/bucket.ts";

/**
 * Replaces the ownership controls of a bucket. Checks, in order:
 *  1. they have one rule with a mode (MALFORMED_XML);
 *  2. ACLs are turned off only in a bucket without grants to others (INVALID_BUCKET_ACL_WITH_OBJECT_OWNERSHIP).
 */
export const putBucketOwnershipControls: Operation<"putBucketOwnershipControls"> = async (request, context) => {
  const { app } = context;
  const ownership = readOwnershipControls(request.ownershipControls);
  await change(context, (bucket) => {
    if (ownership === "BucketOwnerEnforced" && !isOwnersControl(bucket.acl, app.canonicalUserId(bucket.accountId)))
      throw fault(ErrorReason.INVALID_BUCKET_ACL_WITH_OBJECT_OWNERSHIP);
    return { ownership };
  });
  return {};
};

/** Returns the ownership controls of a bucket. Fails if they were deleted. */
export const getBucketOwnershipControls: Operation<"getBucketOwnershipControls"> = async (_request, context) => {
  const { name, ownership } = await read(context);
  if (ownership === "None") throw fault(ErrorReason.OWNERSHIP_CONTROLS_NOT_FOUND, { bucket_name: name });
  return { ownershipControls: { rules: [{ objectOwnership: ownership }] } };
};

/** Deletes the ownership controls of a bucket: ACLs count, and who writes an object owns it. Repeating it succeeds. */
export const deleteBucketOwnershipControls: Operation<"deleteBucketOwnershipControls"> = async (_request, context) => {
  await change(context, () => ({ ownership: "None" }));
  return {};
};

/** Replaces the public access block of a bucket; a switch that is not given is turned off. */
export const putPublicAccessBlock: Operation<"putPublicAccessBlock"> = async (request, context) => {
  const publicAccessBlock = planPublicAccessBlock(request.publicAccessBlockConfiguration);
  await change(context, () => ({ publicAccessBlock }));
  return {};
};

/** Returns the public access block of a bucket as it was put. Fails if none was put. */
export const getPublicAccessBlock: Operation<"getPublicAccessBlock"> = async (_request, context) => {
  const { name, publicAccessBlock } = await read(context);
  if (publicAccessBlock === undefined)
    throw fault(ErrorReason.NO_SUCH_PUBLIC_ACCESS_BLOCK_CONFIGURATION, { bucket_name: name });
  return { publicAccessBlockConfiguration: publicAccessBlockMessage(publicAccessBlock) };
};

/** Deletes the public access block of a bucket. Repeating it succeeds. */
export const deletePublicAccessBlock: Operation<"deletePublicAccessBlock"> = async (_request, context) => {
  await change(context, () => ({ publicAccessBlock: undefined }));
  return {};
};

/** Replaces the choice of who pays for requests. Fails for another payer than BucketOwner and Requester. */
export const putBucketRequestPayment: Operation<"putBucketRequestPayment"> = async (request, context) => {
  const payer = request.requestPaymentConfiguration?.payer;
  if (payer !== "BucketOwner" && payer !== "Requester") throw fault(ErrorReason.MALFORMED_XML);
  await change(context, () => ({ requesterPays: payer === "Requester" }));
  return {};
};

/** Returns who pays for requests. */
export const getBucketRequestPayment: Operation<"getBucketRequestPayment"> = async (_request, context) => {
  const { requesterPays } = await read(context);
  return { payer: requesterPays ? "Requester" : "BucketOwner" };
};

const read = ({ app, access }: BucketContext): Promise<Bucket> => app.store.read((reader) => access.bucket.in(reader));

const change = async (
  { app, access }: BucketContext,
  decide: (bucket: Bucket) => Partial<BucketRules>,
): Promise<void> => {
  const revision = app.ids.hex(revisionDigits);
  await app.store.transact(async (transaction) => {
    const bucket = await access.bucket.in(transaction);
    changeRules(transaction, bucket, revision, decide(bucket));
  });
};
