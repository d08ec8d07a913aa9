import type { NotificationConfiguration } from "../../../gen/quartet/objectstorage/v1/notification_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { configurations } from "./layout.ts";

const notificationKind = "notification";

/** The bucket's notification configuration. */
export const findNotification = async (
  reader: Reader,
  bucketId: string,
): Promise<NotificationConfiguration | undefined> => {
  const record = await reader.get(configurations, [bucketId, notificationKind]);
  return record?.document.case === "notification" ? record.document.value : undefined;
};

/** Replaces the bucket's notification configuration. */
export const putNotification = (
  transaction: Transaction,
  bucketId: string,
  configuration: NotificationConfiguration,
): void => {
  transaction.put(configurations, [bucketId, notificationKind], {
    document: { case: "notification", value: configuration },
  });
};
