import { setTimeout as delay } from "node:timers/promises";

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import type { EventRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { DeliveryRecordSchema, FanOutRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Job, JobHandler, JobMemo, JobPolicy } from "../../kit/jobs/jobs.ts";
import { undefinedIfDamaged } from "../../kit/store/damage.ts";
import type { Transaction } from "../../kit/store/store.ts";
import { encodeMessage } from "../../kit/wire/encode-message.ts";
import type { Application } from "../application.ts";
import type { EventKey } from "../store/event.ts";
import { findEvent, passHold } from "../store/event.ts";
import type { RememberedEvent } from "./delivery-memo.ts";
import { deliveryMemo } from "./delivery-memo.ts";
import type { PlannedDelivery, RulePlan, UnorderedPlan } from "./delivery-plan.ts";

/** The kind of the jobs that deliver events. */
export const deliveryKind = "delivery";

/** The kind of the jobs that enqueue deliveries of events which have many. */
export const fanOutKind = "fan-out";

/** A part is enqueued, or tried again. */
export const fanOutPolicy: JobPolicy = { attemptsMax: Infinity, ageMsMax: Infinity, backoff: () => 1_000 };

/** The deliveries of an event up to which all are enqueued with it. */
const directMax = 64;

/** The deliveries that one job enqueues, in one transaction: all that arrives meanwhile waits for it. */
const partMax = 32;

/** The bytes at which a part gets no further delivery, so that its job can start from memory. */
const partBytesMax = 49_152;

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
  if (count <= directMax) {
    const event = encodeEvent(key, remembered);
    return plans.flatMap(({ deliveries }) => deliveries.map((each) => enqueueDelivery(jobs, transaction, event, each)));
  }
  const { account, eventId } = key;
  const head = create(FanOutRecordSchema, { account, ingestedMs: BigInt(key.ingestedMs), eventId });
  const begin = toBinary(FanOutRecordSchema, head);
  const event = remembered && encodeEvent(key, remembered);
  return partsOf(plans).map((deliveries) => {
    // Messages are joined by joining their bytes.
    const payload = Buffer.concat([begin, ...deliveries.map(({ encoded }) => encoded)]);
    const memo = event && partMemo({ key, event, deliveries }, remembered.detail.length);
    return fanOutHolder(jobs.enqueue(transaction, { kind: fanOutKind, owner: `fan-out/${account}`, payload, memo }));
  });
};

/** The deliveries in parts, each of which one job enqueues. */
const partsOf = (plans: readonly RulePlan[]): UnorderedPlan[][] => {
  const parts: UnorderedPlan[][] = [];
  let bytes = 0;
  for (const { deliveries } of plans)
    for (const each of deliveries) {
      const part = parts.at(-1);
      bytes += each.encoded.byteLength;
      if (part !== undefined && part.length < partMax && bytes <= partBytesMax) part.push(each);
      else {
        parts.push([each]);
        bytes = each.encoded.byteLength;
      }
    }
  return parts;
};

/** Deliveries of an event that one job enqueues. */
interface Part {
  readonly key: EventKey;
  readonly event: EncodedEvent;
  readonly deliveries: readonly PlannedDelivery[];
}

/** The memo of a part that is enqueued right after its event was put. Its deliveries are those of compiled rules. */
const partMemo = (part: Part, bytes: number): JobMemo => ({ value: part, bytes });

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
 * Enqueues the deliveries of one part, in the transaction that ends its job: each exactly once. Where that takes long,
 * because they do not start from memory, the next part pauses as long first: events that arrive have half of the time.
 */
export const fanOutHandler = (app: Pick<Application, "store" | "jobs">): JobHandler => {
  let tookMs = 0;
  return async (job) => {
    if (tookMs >= 1) await delay(tookMs);
    const { key, event, deliveries } = (job.memo?.value as Part | undefined) ?? (await readPart(app, job));
    return {
      done: true,
      apply: (transaction) => {
        const beginMs = performance.now();
        const holders = deliveries.map((each) => enqueueDelivery(app.jobs, transaction, event, each));
        passHold(transaction, key, fanOutHolder(job.id), holders);
        tookMs = performance.now() - beginMs;
      },
    };
  };
};

/** Reads an event once for all deliveries. What is encrypted in the database is not kept in memory in clear. */
const readPart = async ({ store }: Pick<Application, "store">, job: Job): Promise<Part> => {
  const { account, ingestedMs, eventId, deliveries } = fromBinary(FanOutRecordSchema, job.payload);
  const key = { account, ingestedMs: Number(ingestedMs), eventId };
  // A damaged one is read again, and logged, by each of its deliveries.
  const found = await store.read((reader) => findEvent(reader, key)).catch(undefinedIfDamaged);
  return { key, event: encodeEvent(key, found?.sealed === undefined ? found : undefined), deliveries };
};

const fanOutHolder = (jobId: string): string => `fan-out:${jobId}`;

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
