import { setTimeout as delay } from "node:timers/promises";

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import type { EventRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { DeliveryRecordSchema, FanOutRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { JobHandler, JobPolicy } from "../../kit/jobs/jobs.ts";
import type { Transaction } from "../../kit/store/store.ts";
import { encodeMessage } from "../../kit/wire/encode-message.ts";
import type { Application } from "../application.ts";
import type { EventKey } from "../store/event.ts";
import { findEvent, holdEvent, isHeldBy, releaseEvent } from "../store/event.ts";
import type { RememberedEvent } from "./delivery-memo.ts";
import { deliveryMemo } from "./delivery-memo.ts";
import type { PlannedDelivery, RulePlan } from "./delivery-plan.ts";

/** The kind of the jobs that deliver events. */
export const deliveryKind = "delivery";

/** The kind of the jobs that enqueue deliveries of events which have many. */
export const fanOutKind = "fan-out";

/** A part is enqueued, or tried again. */
export const fanOutPolicy: JobPolicy = { attemptsMax: Infinity, ageMsMax: Infinity, backoff: () => 1_000 };

/** The deliveries that one job enqueues. An event with more has several. */
const partMax = 64;

/** The deliveries that one transaction of such a job enqueues; all that arrives meanwhile waits for it. */
const stepMax = 16;

/**
 * Enqueues the deliveries of an event that have no order: at once, or of many in parts that later jobs enqueue, so that
 * no other event waits for all of them. Returns the holders that keep the event in the log.
 */
export const enqueueDeliveries = (
  { jobs }: Pick<Application, "jobs">,
  transaction: Transaction,
  key: EventKey,
  plans: readonly RulePlan[],
  remembered?: EventRecord,
): string[] => {
  const count = plans.reduce((sum, { deliveries }) => sum + deliveries.length, 0);
  if (count === 0) return [];
  if (count <= partMax) {
    const event = encodeEvent(key, remembered);
    return plans.flatMap(({ deliveries }) => deliveries.map((each) => enqueueDelivery(jobs, transaction, event, each)));
  }
  const { account, eventId } = key;
  const head = create(FanOutRecordSchema, { account, ingestedMs: BigInt(key.ingestedMs), eventId });
  const begin = toBinary(FanOutRecordSchema, head);
  return partsOf(plans).flatMap((part) => {
    // Messages are joined by joining their bytes.
    const payload = Buffer.concat([begin, ...part.map(({ encoded }) => encoded)]);
    const id = jobs.enqueue(transaction, { kind: fanOutKind, owner: `fan-out/${account}`, payload });
    const deliveries = part.reduce((sum, plan) => sum + plan.deliveries.length, 0);
    return Array.from({ length: Math.ceil(deliveries / stepMax) }, (_, step) => fanOutHolder(id, step));
  });
};

/** Rules together that have about so many deliveries as a part. */
const partsOf = (plans: readonly RulePlan[]): RulePlan[][] => {
  const parts: RulePlan[][] = [];
  let left = 0;
  for (const plan of plans) {
    if (plan.deliveries.length === 0) continue;
    if (left <= 0) {
      parts.push([]);
      left = partMax;
    }
    parts.at(-1)?.push(plan);
    left -= plan.deliveries.length;
  }
  return parts;
};

/** Names an event in its deliveries. `remembered` is the event as it is stored, for attempts that need not read it. */
export const encodeEvent = (key: EventKey, remembered?: EventRecord): EncodedEvent => ({
  ingestedMs: key.ingestedMs,
  bytes: encodeMessage(
    DeliveryRecordSchema,
    create(DeliveryRecordSchema, {
      account: key.account,
      ingestedMs: BigInt(key.ingestedMs),
      eventId: key.eventId,
    }),
  ),
  remembered: remembered && { key, event: remembered },
});

interface EncodedEvent {
  readonly ingestedMs: number;
  /** The members of a DeliveryRecord that name the event. */
  readonly bytes: Uint8Array;
  readonly remembered: RememberedEvent | undefined;
}

/**
 * Enqueues the deliveries of one part in steps, each exactly once. After each it pauses for as long as that took, so
 * that events which arrive meanwhile have at least half of the time.
 */
export const fanOutHandler =
  (app: Pick<Application, "store" | "jobs" | "clock" | "limits">): JobHandler =>
  async (job, { signal }) => {
    const { store, jobs, clock, limits } = app;
    const { account, ingestedMs, eventId, deliveries } = fromBinary(FanOutRecordSchema, job.payload);
    const key = { account, ingestedMs: Number(ingestedMs), eventId };
    // Read once for all deliveries of the part. What is encrypted in the database is not kept in memory in clear.
    const found = await store.read((reader) => findEvent(reader, key));
    const event = encodeEvent(key, found?.sealed === undefined ? found : undefined);
    for (let step = 0; step * stepMax < deliveries.length; step += 1) {
      signal.throwIfAborted();
      const holder = fanOutHolder(job.id, step);
      const beginMs = performance.now();
      await store.transact(async (transaction) => {
        // If it has no holder any more, an earlier run has made this step.
        if (!(await isHeldBy(transaction, key, holder))) return;
        for (const each of deliveries.slice(step * stepMax, (step + 1) * stepMax))
          holdEvent(transaction, key, enqueueDelivery(jobs, transaction, event, each));
        await releaseEvent(transaction, key, holder, clock.now() - limits.eventLogMs);
      });
      await delay(performance.now() - beginMs);
    }
    return { done: true };
  };

const fanOutHolder = (jobId: string, step: number): string => `fan-out:${jobId}/${step}`;

/** Enqueues a delivery; returns the holder that keeps its event in the log. */
export const enqueueDelivery = (
  jobs: Application["jobs"],
  transaction: Transaction,
  { ingestedMs, bytes, remembered }: EncodedEvent,
  planned: PlannedDelivery,
  lane?: PlannedLane,
): string => {
  const { owner, delivery, ageMs } = planned;
  const payload = Buffer.concat(lane === undefined ? [bytes, delivery] : [bytes, delivery, lane.bytes]);
  const expiresMs = ingestedMs + Number(ageMs);
  const memo = remembered && deliveryMemo(remembered, planned, lane?.name);
  return deliveryHolder(jobs.enqueue(transaction, { kind: deliveryKind, owner, payload, expiresMs, memo }));
};

/** The lane of a delivery that has an order. */
interface PlannedLane {
  readonly name: string;
  /** The members of a DeliveryRecord that name it. */
  readonly bytes: Uint8Array;
}

const holderPrefix = "delivery:";

/** The name of a delivery's job as a holder of its event. */
export const deliveryHolder = (jobId: string): string => `${holderPrefix}${jobId}`;

/** The id of a delivery's job; undefined: the holder is not a delivery. */
export const deliveryOfHolder = (holder: string): string | undefined =>
  holder.startsWith(holderPrefix) ? holder.slice(holderPrefix.length) : undefined;
