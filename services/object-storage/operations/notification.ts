import type {
  GetBucketNotificationConfigurationRequest,
  PutBucketNotificationConfigurationRequest,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { useBucket } from "../access.ts";
import type { Context } from "../application.ts";
import { noNotification, planNotification } from "../domain/notification.ts";
import { findNotification, putNotification } from "../store/configuration.ts";

/**
 * Replaces the bucket's notification configuration; changes that are answered afterwards are told by it. Refuses a
 * configuration that breaks the rules or names destinations that are not offered, then as every use of a bucket does.
 */
export const putBucketNotificationConfiguration = async (
  request: PutBucketNotificationConfigurationRequest,
  context: Context,
) => {
  const configuration = planNotification(request.notificationConfiguration ?? noNotification());
  await context.app.store.transact(async (transaction) => {
    const bucket = await useBucket(transaction, context, request);
    putNotification(transaction, bucket.bucketId, configuration);
  });
  return {};
};

/** Reads the bucket's notification configuration. Refuses as every use of a bucket does. */
export const getBucketNotificationConfiguration = async (
  request: GetBucketNotificationConfigurationRequest,
  context: Context,
) => {
  const configuration = await context.app.store.read(async (reader) => {
    const bucket = await useBucket(reader, context, request);
    return findNotification(reader, bucket.bucketId);
  });
  return { notificationConfiguration: configuration ?? noNotification() };
};
