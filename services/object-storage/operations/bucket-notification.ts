/**
 * The notifications of a bucket. A put fails if the document breaks its rules (domain/notification.ts has their order),
 * then if a queue or a topic does not take a test message, unless the request skips that; everything else is checked
 * before, by the guard. Repeating any of these operations changes nothing.
 */
import type { NotificationConfiguration } from "../../../gen/quartet/objectstorage/v1/notification_pb.ts";
import type { BucketContext, Operation } from "../application.ts";
import type { Destination } from "../domain/notification.ts";
import {
  destinationsOf,
  fromOlder,
  noNotification,
  notValidated,
  planNotification,
  toOlder,
} from "../domain/notification.ts";
import { findDocument, putDocument } from "../store/configuration.ts";

/** Changes that are answered after this are notified by the new configuration. */
export const putBucketNotificationConfiguration: Operation<"putBucketNotificationConfiguration"> = async (
  { notificationConfiguration, skipDestinationValidation },
  context,
) => store(context, notificationConfiguration ?? noNotification(), skipDestinationValidation === true);

/** The configuration, empty if none was put. */
export const getBucketNotificationConfiguration: Operation<"getBucketNotificationConfiguration"> = async (
  _request,
  context,
) => ({ notificationConfiguration: await read(context) });

/** Replaces the whole configuration by a document that has no event bus, and no filters. */
export const putBucketNotification: Operation<"putBucketNotification"> = async (
  { notificationConfiguration },
  context,
) =>
  store(
    context,
    notificationConfiguration === undefined ? noNotification() : fromOlder(notificationConfiguration),
    false,
  );

/** The first entry of each kind, which is all that the older document can say. */
export const getBucketNotification: Operation<"getBucketNotification"> = async (_request, context) =>
  toOlder(await read(context));

const read = async ({ app, access }: BucketContext): Promise<NotificationConfiguration> => {
  const found = await app.store.read(async (reader) => {
    const { bucketId } = await access.bucket.in(reader);
    return findDocument(reader, bucketId, "notification");
  });
  return found ?? noNotification();
};

const store = async (
  context: BucketContext,
  configuration: NotificationConfiguration,
  isUntried: boolean,
): Promise<object> => {
  const { app, access } = context;
  const { accountId, region } = await app.store.read((reader) => access.bucket.in(reader));
  const place = { accountId, region, reached: app.notifications.reached };
  const planned = planNotification(configuration, place, () => app.ids.uuid());
  if (!isUntried) await tryDestinations(context, destinationsOf(planned));
  await app.store.transact(async (transaction) => {
    const { bucketId } = await access.bucket.in(transaction);
    putDocument(transaction, bucketId, "notification", planned);
  });
  return {};
};

/** Sends a test message to each queue and topic. Throws INVALID_ARGUMENT for the first that does not take it. */
const tryDestinations = async (
  { app, access, requestId, signal }: BucketContext,
  destinations: readonly Destination[],
): Promise<void> => {
  const distinct = [...new Map(destinations.map((each) => [each.arn, each])).values()];
  const tried = { bucket: access.bucket.name, requestId };
  const problems = await Promise.all(distinct.map((each) => app.notifications.test(each, tried, signal)));
  const failed = distinct.find((_each, index) => problems[index] !== undefined);
  if (failed !== undefined) throw notValidated(failed.service, failed.arn);
};
