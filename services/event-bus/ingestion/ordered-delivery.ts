import { createHash } from "node:crypto";

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import type {
  DeliveryRecord,
  EventRecord,
  OrderedDeliveryRecord,
} from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { DeliveryRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { Turn } from "../../kit/clock/turn.ts";
import { findOrDamaged } from "../../kit/store/damage.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import type { Application } from "../application.ts";
import { eventJson } from "../domain/envelope.ts";
import { PathReader } from "../json/json-path.ts";
import type { EventKey } from "../store/event.ts";
import { holdEvent, releaseEvent } from "../store/event.ts";
import type { Lane } from "../store/ordered-delivery.ts";
import { deleteLane, deleteWaiting, findLane, findWaiting, putLane, putWaiting } from "../store/ordered-delivery.ts";
import type { OrderedPlan, RulePlan } from "./delivery-plan.ts";
import { deliveryHolder, deliveryKind, encodeEvent, enqueueDelivery } from "./fan-out.ts";

/**
 * Enqueues the deliveries of an event that have an order: each at once if all others of its key have ended, and
 * otherwise after those. Always in the transaction that stores the event, so the order is that in which events are
 * accepted. Returns the holders that keep the event in the log.
 */
export const enqueueOrdered = async (
  { jobs }: Pick<Application, "jobs">,
  transaction: Transaction,
  key: EventKey,
  event: EventRecord,
  plans: readonly RulePlan[],
  remembered?: EventRecord,
): Promise<string[]> => {
  const ordered = plans.flatMap((plan) => plan.ordered);
  const paths = new PathReader(eventJson(event), Infinity);
  const turn = new Turn();
  const encoded = encodeEvent(key, remembered);
  const holders: string[] = [];
  for (const each of ordered) {
    if (turn.isOver) await turn.next();
    const value = paths.read(each.keyPath);
    if (value === undefined) holders.push(enqueueDelivery(jobs, transaction, encoded, each));
    else {
      const lane = { account: key.account, lane: laneOf(each.scope, value) };
      holders.push(await joinLane(jobs, transaction, lane, encoded, each));
    }
  }
  return holders;
};

/** The name of a lane: 32 hexadecimal digits. */
const laneOf = (scope: readonly string[], key: string): string =>
  createHash("sha256")
    .update(JSON.stringify([...scope, key]))
    .digest("hex")
    .slice(0, 32);

const joinLane = async (
  jobs: Application["jobs"],
  transaction: Transaction,
  lane: Lane,
  event: ReturnType<typeof encodeEvent>,
  planned: OrderedPlan,
): Promise<string> => {
  const numbers = await findLane(transaction, lane);
  const bytes = toBinary(DeliveryRecordSchema, create(DeliveryRecordSchema, { lane: lane.lane }));
  if (numbers === undefined) {
    putLane(transaction, lane, { running: 0n, last: 0n });
    return enqueueDelivery(jobs, transaction, event, planned, { name: lane.lane, bytes });
  }
  const number = numbers.last + 1n;
  putLane(transaction, lane, { running: numbers.running, last: number });
  putWaiting(transaction, lane, number, {
    owner: planned.owner,
    // Messages are joined by joining their bytes.
    delivery: Buffer.concat([event.bytes, planned.delivery, bytes]),
    expiresMs: BigInt(event.ingestedMs) + planned.ageMs,
  });
  return waitingHolder(lane, number);
};

/** A delivery has ended: enqueues the next one of its lane, if it has one. Damaged ones are lost, and logged. */
export const startNextOfLane = async (
  { jobs, clock, limits, log }: Pick<Application, "jobs" | "clock" | "limits" | "log">,
  transaction: Transaction,
  ended: Pick<DeliveryRecord, "account" | "lane">,
): Promise<void> => {
  if (ended.lane === undefined) return;
  const lane = { account: ended.account, lane: ended.lane };
  const numbers = await findLane(transaction, lane);
  if (numbers === undefined) return;
  let number = numbers.running + 1n;
  let next: OrderedDeliveryRecord | "damaged" | undefined;
  for (; number <= numbers.last; number += 1n) {
    next = await findOrDamaged(findWaiting(transaction, lane, number));
    if (next !== "damaged") break;
    deleteWaiting(transaction, lane, number);
    const lost = { ...lane, number: Number(number) };
    transaction.afterCommit(() => log.error(lost, "a damaged delivery of an ordered target is lost"));
  }
  if (next === undefined || next === "damaged") return deleteLane(transaction, lane);
  const { owner, delivery, expiresMs } = next;
  deleteWaiting(transaction, lane, number);
  putLane(transaction, lane, { running: number, last: numbers.last });
  const id = jobs.enqueue(transaction, { kind: deliveryKind, owner, payload: delivery, expiresMs: Number(expiresMs) });
  const { account, ingestedMs, eventId } = fromBinary(DeliveryRecordSchema, delivery);
  const key = { account, ingestedMs: Number(ingestedMs), eventId };
  holdEvent(transaction, key, deliveryHolder(id));
  await releaseEvent(transaction, key, waitingHolder(lane, number), clock.now() - limits.eventLogMs);
};

const holderPrefix = "ordered:";

const waitingHolder = ({ lane }: Lane, number: bigint): string => `${holderPrefix}${lane}/${number}`;

/** The delivery that waits in its lane and holds an event; undefined: the holder is another. */
export const findWaitingHolder = async (
  reader: Reader,
  account: string,
  holder: string,
): Promise<DeliveryRecord | undefined> => {
  const [, lane, number] = /^ordered:([0-9a-f]+)\/([0-9]+)$/.exec(holder) ?? [];
  if (lane === undefined || number === undefined) return undefined;
  const waiting = await findWaiting(reader, { account, lane }, BigInt(number));
  return waiting && fromBinary(DeliveryRecordSchema, waiting.delivery);
};
