import { fromBinary } from "@bufbuild/protobuf";
import { LRUCache } from "lru-cache";

import type { DeliveryRecord, EventRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { DeliveryRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Job, JobMemo } from "../../kit/jobs/jobs.ts";
import type { EventKey } from "../store/event.ts";
import type { PlannedDelivery } from "./delivery-plan.ts";

/** What an attempt that begins right after its event was put need not read. */
export interface DeliveryMemo {
  readonly delivery: DeliveryRecord;
  readonly event: EventRecord;
}

/** An event that remains in memory until its deliveries have begun. */
export interface RememberedEvent {
  readonly key: EventKey;
  readonly event: EventRecord;
}

/** About the memory of an event without its detail, and of a delivery. */
const memoBytes = 2_048;

/** Planned deliveries whose records are in memory; the least recently used one is decoded again. */
const recordsMax = 1_000;
const records = new LRUCache<PlannedDelivery, DeliveryRecord>({ max: recordsMax });

/** The memo of a planned delivery of an event, in its lane if it has one. It is made when the delivery begins. */
export const deliveryMemo = (remembered: RememberedEvent, planned: PlannedDelivery, lane?: string): JobMemo => ({
  bytes: memoBytes + remembered.event.detail.length,
  get value() {
    return rememberedDelivery(remembered, planned, lane);
  },
});

const rememberedDelivery = (
  { key, event }: RememberedEvent,
  planned: PlannedDelivery,
  lane: string | undefined,
): DeliveryMemo => {
  let record = records.get(planned);
  if (record === undefined) {
    record = fromBinary(DeliveryRecordSchema, planned.delivery);
    records.set(planned, record);
  }
  const { account, ingestedMs, eventId } = key;
  const delivery = { ...record, account, ingestedMs: BigInt(ingestedMs), eventId };
  if (lane !== undefined) delivery.lane = lane;
  return { delivery, event };
};

/** The memo of a delivery's job, if it has one. */
export const memoOf = ({ memo }: Job): DeliveryMemo | undefined => memo?.value as DeliveryMemo | undefined;
