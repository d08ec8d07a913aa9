import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import type { DeliveryRecord, EventRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { DeliveryRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import type { Job, JobContext, JobHandler, JobOutcome, JobPolicy } from "../../kit/jobs/jobs.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { Application } from "../application.ts";
import { ruleArn } from "../domain/arns.ts";
import type { ExhaustedCondition } from "../domain/retry.ts";
import { decideRetry, retryLimitsOf } from "../domain/retry.ts";
import { deliveryHolder, deliveryKind } from "../ingestion/ingest.ts";
import { putDeadLetter } from "../store/dead-letter.ts";
import type { EventPlace } from "../store/event.ts";
import { findEvent, holdEvent, releaseEvent } from "../store/event.ts";
import type { AttemptFailure, AttemptOutcome, Connector } from "./connector.ts";

/** Each target has limits of its own, which the handler keeps; the delay is the least that a broken store makes it wait. */
export const deliveryPolicy: JobPolicy = { attemptsMax: Infinity, ageMsMax: Infinity, backoff: () => 500 };

/** One run of a delivery's job. */
interface Run {
  readonly app: Application;
  readonly job: Job;
  readonly delivery: DeliveryRecord;
  readonly target: Target;
  readonly event: EventRecord;
  readonly place: EventPlace;
  /** Tries before this one. */
  readonly triesBefore: number;
}

/**
 * Delivers one event to one target: at least once, until the target takes it or its retry policy ends. What ends a
 * delivery, the release of its event and, when it failed, its dead letter are one transaction.
 */
export const deliveryHandler =
  (app: Application, connectorOf: (targetArn: string) => Connector): JobHandler =>
  async (job, context) => {
    const run = await readRun(app, job, context);
    // An event that is gone was delivered by a run whose end was not written.
    if (run === undefined) return { done: true };
    const outcome = await attempt(run, connectorOf, context.signal);
    return settle(run, outcome);
  };

const readRun = async (app: Application, job: Job, { attempt: count }: JobContext): Promise<Run | undefined> => {
  const delivery = fromBinary(DeliveryRecordSchema, job.payload);
  const { account, eventId, target } = delivery;
  const place = { account, eventId, ingestedMs: Number(delivery.ingestedMs) };
  const event = await app.store.read((reader) => findEvent(reader, place));
  if (event === undefined || target === undefined) return undefined;
  return { app, job, delivery, target, event, place, triesBefore: delivery.earlierAttempts + count - 1 };
};

const attempt = async (
  { app, delivery, target, event, place, triesBefore }: Run,
  connectorOf: (targetArn: string) => Connector,
  signal: AbortSignal,
): Promise<AttemptOutcome> => {
  const isFirstTry = triesBefore === delivery.earlierAttempts;
  try {
    return await connectorOf(target.arn)({
      account: delivery.account,
      event,
      target,
      ruleArn: ruleArn(app.place, delivery.account, delivery.bus, delivery.rule),
      ruleName: delivery.rule,
      ingestedMs: place.ingestedMs,
      slotMs: isFirstTry && delivery.slotMs > 0n ? Number(delivery.slotMs) : undefined,
      signal,
    });
  } catch (error) {
    if (signal.aborted) throw error;
    app.log.error({ err: error, target: target.arn, event: event.id }, "a connector failed");
    return { kind: "retry", code: "INTERNAL_ERROR", message: "The delivery failed inside the service." };
  }
};

const settle = (run: Run, outcome: AttemptOutcome): JobOutcome => {
  const { app, target, place, triesBefore } = run;
  switch (outcome.kind) {
    case "delivered":
      return end(run, async (transaction) => {
        const failure = await outcome.apply?.(transaction);
        if (failure !== undefined) bury(run, transaction, failure, undefined);
      });
    case "postponed":
      return { done: true, apply: (transaction) => postpone(run, transaction, outcome.slotMs) };
    case "failed":
      return end(run, (transaction) => bury(run, transaction, outcome, undefined));
    case "retry": {
      const decision = decideRetry(
        retryLimitsOf(target),
        {
          nowMs: app.clock.now(),
          ingestedMs: place.ingestedMs,
          retriesMade: triesBefore,
          notBeforeMs: outcome.notBeforeMs,
        },
        app.random(),
      );
      if (decision.kind === "retry")
        return { retry: true, reason: `${outcome.code}: ${outcome.message}`, notBeforeMs: decision.atMs };
      return end(run, (transaction) => bury(run, transaction, outcome, decision.condition));
    }
  }
};

/** Ends the delivery: what it leaves behind is written with the release of its event. */
const end = ({ app, job, place }: Run, leave: (transaction: Transaction) => Promise<void> | void): JobOutcome => ({
  done: true,
  apply: async (transaction) => {
    await leave(transaction);
    await releaseEvent(transaction, place, deliveryHolder(job.id), app.clock.now() - app.limits.eventLogMs);
  },
});

/** Replaces the job by one that runs at the instant the rate limit gave; waiting for it is no try. */
const postpone = async (run: Run, transaction: Transaction, slotMs: number): Promise<void> => {
  const { app, job, delivery, place, triesBefore } = run;
  const payload = toBinary(
    DeliveryRecordSchema,
    create(DeliveryRecordSchema, { ...delivery, earlierAttempts: triesBefore, slotMs: BigInt(slotMs) }),
  );
  const next = app.jobs.enqueue(transaction, { kind: deliveryKind, owner: job.owner, payload, dueMs: slotMs });
  holdEvent(transaction, place, deliveryHolder(next));
  await releaseEvent(transaction, place, deliveryHolder(job.id), 0);
};

const bury = (
  { app, delivery, target, event, triesBefore }: Run,
  transaction: Transaction,
  failure: AttemptFailure,
  condition: ExhaustedCondition | undefined,
): void =>
  putDeadLetter(transaction, delivery.account, app.clock.now(), app.ids.uuid(), {
    event,
    ruleArn: ruleArn(app.place, delivery.account, delivery.bus, delivery.rule),
    targetArn: target.arn,
    errorCode: failure.code,
    errorMessage: failure.message,
    exhaustedRetryCondition: condition,
    retryAttempts: triesBefore,
    queueArn: target.deadLetterConfig?.arn,
    target,
    bus: delivery.bus,
    rule: delivery.rule,
    ruleRoleArn: delivery.ruleRoleArn,
  });
