import { setTimeout as delay } from "node:timers/promises";

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import { FanOutRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { JobHandler, JobPolicy, NewJob } from "../../kit/jobs/jobs.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { Application } from "../application.ts";
import type { EventKey } from "../store/event.ts";
import { holdEvent, isHeldBy, releaseEvent } from "../store/event.ts";

/** The kind of the jobs that deliver events. */
export const deliveryKind = "delivery";

/** The kind of the jobs that enqueue deliveries of events which have many. */
export const fanOutKind = "fan-out";

/** A part is enqueued, or tried again. */
export const fanOutPolicy: JobPolicy = { attemptsMax: Infinity, ageMsMax: Infinity, backoff: () => 1_000 };

/** A delivery that is not enqueued yet. */
export type PlannedDelivery = Pick<NewJob, "owner" | "payload"> & { readonly expiresMs: number };

/** The deliveries that one transaction enqueues; other events wait for it. */
const partMax = 64;

/**
 * Enqueues the deliveries of an event: at once, or of many in parts that later jobs enqueue, because all that arrives
 * meanwhile waits for each transaction. Returns the holders that keep the event in the log.
 */
export const enqueueDeliveries = (
  { jobs }: Pick<Application, "jobs">,
  transaction: Transaction,
  key: EventKey,
  planned: readonly PlannedDelivery[],
): string[] => {
  if (planned.length <= partMax) return planned.map((delivery) => enqueueDelivery(jobs, transaction, delivery));
  const holders: string[] = [];
  for (let begin = 0; begin < planned.length; begin += partMax) {
    const part = create(FanOutRecordSchema, {
      account: key.account,
      ingestedMs: BigInt(key.ingestedMs),
      eventId: key.eventId,
      deliveries: planned
        .slice(begin, begin + partMax)
        .map((delivery) => ({ ...delivery, expiresMs: BigInt(delivery.expiresMs) })),
    });
    const payload = toBinary(FanOutRecordSchema, part);
    const id = jobs.enqueue(transaction, { kind: fanOutKind, owner: `fan-out/${key.account}`, payload });
    holders.push(fanOutHolder(id));
  }
  return holders;
};

/**
 * Enqueues the deliveries of one part, exactly once. Then it pauses for as long as that took, so that events which
 * arrive meanwhile have at least half of the time.
 */
export const fanOutHandler =
  (app: Pick<Application, "store" | "jobs" | "clock" | "limits">): JobHandler =>
  async (job) => {
    const { store, jobs, clock, limits } = app;
    const { account, ingestedMs, eventId, deliveries } = fromBinary(FanOutRecordSchema, job.payload);
    const key = { account, ingestedMs: Number(ingestedMs), eventId };
    const beginMs = performance.now();
    await store.transact(async (transaction) => {
      // If the part has no holder any more, an earlier run enqueued it and its end was not recorded.
      if (!(await isHeldBy(transaction, key, fanOutHolder(job.id)))) return;
      for (const { owner, payload, expiresMs } of deliveries)
        holdEvent(
          transaction,
          key,
          enqueueDelivery(jobs, transaction, { owner, payload, expiresMs: Number(expiresMs) }),
        );
      await releaseEvent(transaction, key, fanOutHolder(job.id), clock.now() - limits.eventLogMs);
    });
    await delay(performance.now() - beginMs);
    return { done: true };
  };

const fanOutHolder = (jobId: string): string => `fan-out:${jobId}`;

const enqueueDelivery = (
  jobs: Application["jobs"],
  transaction: Transaction,
  { owner, payload, expiresMs }: PlannedDelivery,
): string => deliveryHolder(jobs.enqueue(transaction, { kind: deliveryKind, owner, payload, expiresMs }));

/** The name of a delivery's job as a holder of its event. */
export const deliveryHolder = (jobId: string): string => `delivery:${jobId}`;
