import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { Reader } from "../../kit/store/store.ts";
import type { Context } from "../application.ts";
import { isBucketArn } from "../domain/bucket-name.ts";
import { fault, notOffered } from "../faults.ts";
import type { Bucket } from "../store/bucket.ts";
import { findBucket } from "../store/bucket.ts";

/** How a request names its bucket. */
export interface BucketRequest {
  readonly bucket: string;
  readonly expectedBucketOwner?: string;
}

/** Throws ACCESS_DENIED for a caller who signed nothing. */
export const refuseAnonymous = (context: Context, resource: string): void => {
  if (context.caller.isAnonymous) throw denied(context, resource);
};

/**
 * The bucket that a request names, if its caller may use it: the owner's account may do everything with its buckets,
 * nobody else anything. Refuses in this order: an ARN as the name (not offered), an unknown bucket, an expected owner that
 * is no account id, another owner than expected, a caller of another account.
 */
export const useBucket = async (reader: Reader, context: Context, request: BucketRequest): Promise<Bucket> => {
  const { bucket: name, expectedBucketOwner } = request;
  if (isBucketArn(name)) throw notOffered("Bucket");
  const bucket = await findBucket(reader, name);
  if (bucket === undefined) throw fault(ErrorReason.NO_SUCH_BUCKET, { bucket_name: name });
  if (expectedBucketOwner !== undefined && !/^\d{12}$/.test(expectedBucketOwner))
    throw fault(ErrorReason.INVALID_EXPECTED_BUCKET_OWNER, { expected_bucket_owner: expectedBucketOwner });
  if (expectedBucketOwner !== undefined && expectedBucketOwner !== bucket.accountId) throw denied(context, name);
  if (context.caller.isAnonymous || context.caller.accountId !== bucket.accountId) throw denied(context, name);
  return bucket;
};

const denied = (context: Context, resource: string) =>
  fault(ErrorReason.ACCESS_DENIED, { action: context.method.name, resource });
