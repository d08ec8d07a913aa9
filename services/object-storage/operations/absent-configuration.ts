/**
 * Configurations that no bucket has, because nothing here can set them. To read one is refused with the reason that says
 * that there is none; to delete one changes nothing and succeeds, for there is none afterwards. Both refuse as every use
 * of a bucket does first; what would set one is not offered.
 */
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { BucketRequest } from "../access/bucket-access.ts";
import { useBucket } from "../access/bucket-access.ts";
import type { Context } from "../application.ts";
import { fault } from "../faults.ts";

const refusedWith =
  (reason: ErrorReason) =>
  async (request: BucketRequest, context: Context): Promise<never> => {
    const { name } = await context.app.store.read((reader) => useBucket(reader, context, request));
    throw fault(reason, { bucket_name: name });
  };

const deletedAlready = async (request: BucketRequest, context: Context): Promise<Record<string, never>> => {
  await context.app.store.read((reader) => useBucket(reader, context, request));
  return {};
};

export const absentConfigurations = {
  getBucketPolicy: refusedWith(ErrorReason.NO_SUCH_BUCKET_POLICY),
  getBucketPolicyStatus: refusedWith(ErrorReason.NO_SUCH_BUCKET_POLICY),
  deleteBucketPolicy: deletedAlready,
  getBucketEncryption: refusedWith(ErrorReason.ENCRYPTION_CONFIGURATION_NOT_FOUND),
  deleteBucketEncryption: deletedAlready,
  getPublicAccessBlock: refusedWith(ErrorReason.NO_SUCH_PUBLIC_ACCESS_BLOCK_CONFIGURATION),
  deletePublicAccessBlock: deletedAlready,
  getBucketLifecycle: refusedWith(ErrorReason.NO_SUCH_LIFECYCLE_CONFIGURATION),
  getBucketLifecycleConfiguration: refusedWith(ErrorReason.NO_SUCH_LIFECYCLE_CONFIGURATION),
  deleteBucketLifecycle: deletedAlready,
  getBucketWebsite: refusedWith(ErrorReason.NO_SUCH_WEBSITE_CONFIGURATION),
  deleteBucketWebsite: deletedAlready,
  getBucketReplication: refusedWith(ErrorReason.REPLICATION_CONFIGURATION_NOT_FOUND),
  deleteBucketReplication: deletedAlready,
  getObjectLockConfiguration: refusedWith(ErrorReason.OBJECT_LOCK_CONFIGURATION_NOT_FOUND),
};
