import type { OrderedDeliveryRecord, OrderedLaneRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { orderedDeliveries, orderedLanes } from "./layout.ts";

/** The deliveries of one key to one target. */
export interface Lane {
  readonly account: string;
  readonly lane: string;
}

/** The numbers of a lane's deliveries; undefined: it has none that has not ended. */
export const findLane = (reader: Reader, { account, lane }: Lane): Promise<OrderedLaneRecord | undefined> =>
  reader.get(orderedLanes, [account, lane]);

/** Stores the numbers of a lane's deliveries. */
export const putLane = (
  transaction: Transaction,
  { account, lane }: Lane,
  numbers: Pick<OrderedLaneRecord, "running" | "last">,
): void => transaction.put(orderedLanes, [account, lane], numbers);

/** Deletes a lane without deliveries. */
export const deleteLane = (transaction: Transaction, { account, lane }: Lane): void =>
  transaction.delete(orderedLanes, [account, lane]);

/** The delivery that waits with a number, or undefined. */
export const findWaiting = (
  reader: Reader,
  { account, lane }: Lane,
  number: bigint,
): Promise<OrderedDeliveryRecord | undefined> => reader.get(orderedDeliveries, [account, lane, Number(number)]);

/** Stores a delivery that waits. */
export const putWaiting = (
  transaction: Transaction,
  { account, lane }: Lane,
  number: bigint,
  waiting: Pick<OrderedDeliveryRecord, "owner" | "delivery" | "expiresMs">,
): void => transaction.put(orderedDeliveries, [account, lane, Number(number)], waiting);

/** Deletes a delivery that waits no longer. */
export const deleteWaiting = (transaction: Transaction, { account, lane }: Lane, number: bigint): void =>
  transaction.delete(orderedDeliveries, [account, lane, Number(number)]);
