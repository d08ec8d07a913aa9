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
import type { EventKey } from "../store/event.ts";
import { findEvent, holdEvent, releaseEvent } from "../store/event.ts";
import type { AttemptFailure, AttemptOutcome, Connector } from "./connector.ts";

/**
 * The handler applies the retry policy of each target itself. The backoff here is only the delay after a handler that
 * throws, such as on a failing store.
 */
export const deliveryJobPolicy: JobPolicy = { attemptsMax: Infinity, ageMsMax: Infinity, backoff: () => 500 };

/** One run of a delivery's job. */
interface Run {
  readonly app: Application;
  readonly job: Job;
  readonly delivery: DeliveryRecord;
  readonly target: Target;
  readonly event: EventRecord;
  readonly eventKey: EventKey;
  /** Attempts before this one. */
  readonly attemptsBefore: number;
}

/**
 * Delivers one event to one target: at least once, until the target accepts it or its retry policy ends. The end of a
 * delivery, the release of its event and, if it failed, its dead letter are one transaction.
 */
export const deliveryHandler =
  (app: Application, connectorOf: (targetArn: string) => Connector): JobHandler =>
  async (job, context) => {
    const run = await readRun(app, job, context);
    // If the event no longer exists, an earlier run delivered it and its end was not recorded.
    if (run === undefined) return { done: true };
    const outcome = await attemptDelivery(run, connectorOf, context.signal);
    return settle(run, outcome);
  };

const readRun = async (app: Application, job: Job, { attempt: count }: JobContext): Promise<Run | undefined> => {
  const delivery = fromBinary(DeliveryRecordSchema, job.payload);
  const { account, eventId, target } = delivery;
  const eventKey = { account, eventId, ingestedMs: Number(delivery.ingestedMs) };
  const event = await app.store.read((reader) => findEvent(reader, eventKey));
  if (event === undefined || target === undefined) return undefined;
  return { app, job, delivery, target, event, eventKey, attemptsBefore: delivery.earlierAttempts + count - 1 };
};

const attemptDelivery = async (
  { app, delivery, target, event, eventKey, attemptsBefore }: Run,
  connectorOf: (targetArn: string) => Connector,
  signal: AbortSignal,
): Promise<AttemptOutcome> => {
  const isFirstAttempt = attemptsBefore === delivery.earlierAttempts;
  try {
    return await connectorOf(target.arn)({
      account: delivery.account,
      event,
      target,
      ruleArn: ruleArnOf(app, delivery),
      ruleName: delivery.rule,
      ingestedMs: eventKey.ingestedMs,
      slotMs: isFirstAttempt && delivery.slotMs > 0n ? Number(delivery.slotMs) : undefined,
      signal,
    });
  } catch (error) {
    if (signal.aborted) throw error;
    app.log.error({ err: error, target: target.arn, event: event.id }, "a connector failed");
    return { kind: "retry", code: "INTERNAL_ERROR", message: "The delivery failed inside the service." };
  }
};

const ruleArnOf = ({ arnScope }: Application, { account, bus, rule }: DeliveryRecord): string =>
  ruleArn(arnScope, { account, name: bus }, rule);

/** The outcome of the job that follows from the outcome of its attempt. */
const settle = (run: Run, outcome: AttemptOutcome): JobOutcome => {
  const { app, target, eventKey, attemptsBefore } = run;
  switch (outcome.kind) {
    case "delivered":
      return end(run, async (transaction) => {
        const failure = await outcome.apply?.(transaction);
        if (failure !== undefined) deadLetter(run, transaction, failure, undefined);
      });
    case "postponed":
      return { done: true, apply: (transaction) => postpone(run, transaction, outcome.slotMs) };
    case "failed":
      return end(run, (transaction) => deadLetter(run, transaction, outcome, undefined));
    case "retry": {
      const decision = decideRetry(
        retryLimitsOf(target),
        {
          nowMs: app.clock.now(),
          ingestedMs: eventKey.ingestedMs,
          retriesMade: attemptsBefore,
          notBeforeMs: outcome.notBeforeMs,
        },
        app.random(),
      );
      if (decision.kind === "retry")
        return { retry: true, reason: `${outcome.code}: ${outcome.message}`, notBeforeMs: decision.atMs };
      return end(run, (transaction) => deadLetter(run, transaction, outcome, decision.condition));
    }
  }
};

/** Ends the delivery. `writeRest` writes in the transaction that releases the event. */
const end = (
  { app, job, eventKey }: Run,
  writeRest: (transaction: Transaction) => Promise<void> | void,
): JobOutcome => ({
  done: true,
  apply: async (transaction) => {
    await writeRest(transaction);
    await releaseEvent(transaction, eventKey, deliveryHolder(job.id), app.clock.now() - app.limits.eventLogMs);
  },
});

/**
 * Replaces the job by one that runs at the instant that the rate limit assigned. The wait does not count as an attempt.
 */
const postpone = async (run: Run, transaction: Transaction, slotMs: number): Promise<void> => {
  const { app, job, delivery, eventKey, attemptsBefore } = run;
  const payload = toBinary(
    DeliveryRecordSchema,
    create(DeliveryRecordSchema, { ...delivery, earlierAttempts: attemptsBefore, slotMs: BigInt(slotMs) }),
  );
  const next = app.jobs.enqueue(transaction, { kind: deliveryKind, owner: job.owner, payload, dueMs: slotMs });
  holdEvent(transaction, eventKey, deliveryHolder(next));
  await releaseEvent(transaction, eventKey, deliveryHolder(job.id), 0);
};

/** Stores the delivery as a dead letter. */
const deadLetter = (
  { app, delivery, target, event, attemptsBefore }: Run,
  transaction: Transaction,
  failure: AttemptFailure,
  condition: ExhaustedCondition | undefined,
): void =>
  putDeadLetter(transaction, delivery.account, app.clock.now(), app.ids.uuid(), {
    event,
    ruleArn: ruleArnOf(app, delivery),
    targetArn: target.arn,
    errorCode: failure.code,
    errorMessage: failure.message,
    exhaustedRetryCondition: condition,
    retryAttempts: attemptsBefore,
    queueArn: target.deadLetterConfig?.arn,
    target,
    bus: delivery.bus,
    rule: delivery.rule,
    ruleRoleArn: delivery.ruleRoleArn,
  });
