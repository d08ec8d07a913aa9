import type { OrderedDeliveryRecord, OrderedLaneRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { findOrDamaged } from "../../kit/store/damage.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import { orderedDeliveries, orderedLanes } from "./layout.ts";

/** The deliveries of one key to one target. */
export interface Lane {
  readonly account: string;
  readonly lane: string;
}

/**
 * The numbers of a lane's deliveries; undefined: it has none that has not ended. If the record is damaged, those of the
 * deliveries that wait; without any, the lane begins again, so that the next delivery may run beside the one that runs.
 */
export const findLane = async (
  reader: Reader,
  { account, lane }: Lane,
): Promise<Pick<OrderedLaneRecord, "running" | "last"> | undefined> => {
  const found = await findOrDamaged(reader.get(orderedLanes, [account, lane]));
  if (found !== "damaged") return found;
  const numbers: number[] = [];
  for await (const { key } of walkTable(reader, orderedDeliveries, { prefix: [account, lane] })) numbers.push(key[2]);
  const [first, last = first] = [numbers[0], numbers.at(-1)];
  return first === undefined || last === undefined ? undefined : { running: BigInt(first - 1), last: BigInt(last) };
};

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
