import { WaitingNotificationsRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { undefinedIfDamaged } from "../../kit/store/damage.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { defineTable, text } from "../../kit/store/table.ts";

/**
 * How many notifications of each account wait for their queues, topics and functions, to which transactions add.
 * Sorted so that those of one account are one record.
 * Written with the jobs that send them.
 *
 *     waiting_notifications/"000000000000"
 *     0045 30303030303030303030303000
 */
export const waitingNotifications = defineTable({
  number: 69,
  name: "waiting_notifications",
  key: [text("account")],
  value: WaitingNotificationsRecordSchema,
});

/** About how many notifications of an account wait; 0 if their count is damaged. */
export const countWaiting = async (reader: Reader, accountId: string): Promise<number> =>
  Number((await reader.get(waitingNotifications, [accountId]).catch(undefinedIfDamaged))?.notificationCount ?? 0n);

/** Counts notifications of an account that wait; fewer than 0 have ended. */
export const addWaiting = (transaction: Transaction, accountId: string, by: number): void =>
  transaction.add(waitingNotifications, [accountId], { notificationCount: by });
