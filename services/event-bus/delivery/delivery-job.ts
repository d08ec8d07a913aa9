import { fromBinary } from "@bufbuild/protobuf";

import type { DeliveryRecord, EventRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { DeliveryRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import { nextTurn } from "../../kit/clock/turn.ts";
import type { Job, JobDone, JobHandler, JobOutcome, JobPolicy } from "../../kit/jobs/jobs.ts";
import { NamedKeyError } from "../../kit/keyring/key-names.ts";
import { SealBrokenError } from "../../kit/keyring/sealed.ts";
import { findOrDamaged, undefinedIfDamaged } from "../../kit/store/damage.ts";
import { StoreCorruptionError } from "../../kit/store/errors.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import type { Application } from "../application.ts";
import { ruleArn } from "../domain/arns.ts";
import type { ExhaustedCondition } from "../domain/retry.ts";
import { decideRetry, retryLimitsOf } from "../domain/retry.ts";
import { memoOf } from "../ingestion/delivery-memo.ts";
import { deliveryHolder } from "../ingestion/fan-out.ts";
import { startNextOfLane } from "../ingestion/ordered-delivery.ts";
import { findBus } from "../store/bus.ts";
import type { EventKey } from "../store/event.ts";
import { findEvent, releaseEvent } from "../store/event.ts";
import { countDelivery } from "../store/traffic-counts.ts";
import { outcomeOfInputError } from "./attempt-input.ts";
import type { Circuits } from "./circuits.ts";
import { leaveDeadLetter } from "./dead-letter-job.ts";
import type { AttemptFailure, AttemptOutcome, Connector } from "./connector.ts";
import { logAttemptEnd, logAttemptStart, logDelivered, logGivenUp } from "./delivery-log.ts";

/**
 * The handler applies the retry policy of each target itself. The backoff here is only the delay after a handler that
 * throws, such as on a failing store. A delivery that reaches its maximum age while it waits for its destination
 * becomes a dead letter without a further attempt.
 */
export const deliveryJobPolicy = (app: Application): JobPolicy => ({
  attemptsMax: Infinity,
  ageMsMax: Infinity,
  backoff: () => 500,
  onExhausted: async (transaction, job, _reason, attempts) => {
    const run = await readRunBy(app, transaction, job, attempts);
    if (run === undefined) return startNextOfLane(app, transaction, fromBinary(DeliveryRecordSchema, job.payload));
    await deadLetter(run, transaction, lastFailure(job), "MaximumEventAgeInSeconds");
    countDelivery(transaction, "expired");
    await release(run, transaction);
  },
});

/** The failure of a delivery's last attempt. */
const lastFailure = ({ lastReason }: Job): AttemptFailure => {
  const [, code, message] = /^([A-Z_]+): (.*)$/s.exec(lastReason) ?? [];
  if (code !== undefined && message !== undefined) return { code, message };
  return { code: "THROTTLING", message: "The delivery waited for its destination until its age ended." };
};

/** One run of a delivery's job. */
interface Run {
  readonly app: Application;
  readonly job: Job;
  readonly delivery: DeliveryRecord;
  readonly target: Target;
  /** As it is stored, sealed or not. */
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
  (
    app: Application,
    connectorOf: (target: Target) => Connector,
    circuits: Pick<Circuits, "succeeded" | "failed">,
  ): JobHandler =>
  async (job, context) => {
    const run = rememberedRun(app, job, context.attempt) ?? (await readRun(app, job, context.attempt));
    // If the event no longer exists, an earlier run delivered it and its end was not recorded.
    if (run === undefined)
      return {
        done: true,
        apply: (transaction) => startNextOfLane(app, transaction, fromBinary(DeliveryRecordSchema, job.payload)),
      };
    const event = run.event.sealed === undefined ? run.event : await openEvent(run);
    if ("kind" in event) return settle(run, event);
    logAttemptStart(run, event);
    const outcome = await attemptDelivery(run, event, connectorOf, context.signal);
    if (outcome.kind === "retry") circuits.failed(job.owner, outcome.notBeforeMs);
    else circuits.succeeded(job.owner);
    logAttemptEnd(run, outcome);
    return settle(run, outcome);
  };

/** A run that begins right after the event was put, without a read. */
const rememberedRun = (app: Application, job: Job, count: number): Run | undefined => {
  const memo = memoOf(job);
  if (memo === undefined) return undefined;
  const { delivery, event } = memo;
  const { account, eventId, target } = delivery;
  if (target === undefined) return undefined;
  const eventKey = { account, eventId, ingestedMs: Number(delivery.ingestedMs) };
  return { app, job, delivery, target, event, eventKey, attemptsBefore: count - 1 };
};

const readRun = (app: Application, job: Job, count: number): Promise<Run | undefined> =>
  app.store.read((reader) => readRunBy(app, reader, job, count));

const readRunBy = async (app: Application, reader: Reader, job: Job, count: number): Promise<Run | undefined> => {
  const delivery = fromBinary(DeliveryRecordSchema, job.payload);
  const { account, eventId, target } = delivery;
  const eventKey = { account, eventId, ingestedMs: Number(delivery.ingestedMs) };
  const event = await findOrDamaged(findEvent(reader, eventKey));
  if (event === "damaged") {
    app.log.error({ account, eventId, rule: delivery.rule, job: job.id }, "a damaged event is not delivered");
    return undefined;
  }
  if (event === undefined || target === undefined) return undefined;
  return { app, job, delivery, target, event, eventKey, attemptsBefore: delivery.earlierAttempts + count - 1 };
};

/**
 * The event with all its members. While the key of its bus cannot be used, the delivery is retried, as its target says;
 * also where the key is damaged, which may be restored.
 */
const openEvent = async ({ app, delivery, event }: Run): Promise<EventRecord | AttemptOutcome> => {
  try {
    return await app.store.read((reader) => app.sealing.open(reader, delivery.account, event));
  } catch (error) {
    if (error instanceof NamedKeyError) return { kind: "retry", code: "NO_PERMISSIONS", message: error.message };
    if (!(error instanceof StoreCorruptionError || error instanceof SealBrokenError)) throw error;
    app.log.error({ err: error, event: event.id }, "an event cannot be decrypted");
    return { kind: "retry", code: "INTERNAL_ERROR", message: "The event cannot be decrypted." };
  }
};

const attemptDelivery = async (
  { app, job, delivery, target, eventKey }: Run,
  event: EventRecord,
  connectorOf: (target: Target) => Connector,
  signal: AbortSignal,
): Promise<AttemptOutcome> => {
  try {
    if (takesLong(target, event)) await nextTurn();
    return await connectorOf(target)({
      account: delivery.account,
      event,
      target,
      ruleArn: ruleArnOf(app, delivery),
      ruleName: delivery.rule,
      ingestedMs: eventKey.ingestedMs,
      deliveryId: job.id,
      signal,
    });
  } catch (error) {
    if (signal.aborted) throw error;
    const tooCostly = outcomeOfInputError(error);
    if (tooCostly !== undefined) return tooCostly;
    app.log.error({ err: error, target: target.arn, event: event.id }, "a connector failed");
    return { kind: "retry", code: "INTERNAL_ERROR", message: "The delivery failed inside the service." };
  }
};

/** The characters of an event, once for each of its parts that a target's input has, above which that takes long. */
const quickCharacters = 32_768;

/** Whether making the input takes so long that others wait for some of them. */
const takesLong = ({ input, inputTransformer }: Target, { detail }: EventRecord): boolean =>
  input === undefined &&
  detail.length * (1 + Object.keys(inputTransformer?.inputPathsMap ?? {}).length) > quickCharacters;

const ruleArnOf = ({ arnScope }: Application, { account, bus, rule }: DeliveryRecord): string =>
  ruleArn(arnScope, { account, name: bus }, rule);

/** The outcome of the job that follows from the outcome of its attempt. */
const settle = (run: Run, outcome: AttemptOutcome): JobOutcome => {
  const { app, target, eventKey, attemptsBefore } = run;
  switch (outcome.kind) {
    case "delivered":
      if (outcome.apply === undefined) return endDelivered(run);
      return end(run, async (transaction) => {
        const failure = await outcome.apply?.(transaction);
        if (failure === undefined) logDelivered(run, transaction);
        else await deadLetter(run, transaction, failure, undefined);
        countDelivery(transaction, failure === undefined ? "delivered" : "refused");
      });
    case "failed":
      return end(run, async (transaction) => {
        await deadLetter(run, transaction, outcome, undefined);
        countDelivery(transaction, "refused");
      });
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
      return end(run, async (transaction) => {
        await deadLetter(run, transaction, outcome, decision.condition);
        countDelivery(transaction, "expired");
      });
    }
  }
};

/** Ends the delivery. `writeRest` writes in the transaction that releases the event. */
const end = (run: Run, writeRest: (transaction: Transaction) => Promise<void> | void): JobDone => ({
  done: true,
  apply: async (transaction) => {
    await writeRest(transaction);
    await release(run, transaction);
  },
});

/**
 * Ends a delivery that succeeded, with others unless it has an order: then it reads its lane. It reads at most whether
 * its event has other holders, which nobody writes but the ends of its other deliveries; together they do not conflict.
 */
const endDelivered = (run: Run): JobOutcome => ({
  done: true,
  isBrief: run.delivery.lane === undefined,
  apply: (transaction) => {
    logDelivered(run, transaction);
    countDelivery(transaction, "delivered");
    return release(run, transaction);
  },
});

/** The event is no longer needed for this delivery, and the next one of its lane may begin. */
const release = ({ app, job, delivery, eventKey }: Run, transaction: Transaction): Promise<void> | void => {
  const keptSinceMs = app.clock.now() - app.limits.eventLogMs;
  const released = releaseEvent(transaction, eventKey, deliveryHolder(job.id), keptSinceMs);
  return delivery.lane === undefined ? released : goOn(app, transaction, delivery, released);
};

const goOn = async (
  app: Application,
  transaction: Transaction,
  delivery: DeliveryRecord,
  released: Promise<void> | undefined,
): Promise<void> => {
  await released;
  await startNextOfLane(app, transaction, delivery);
};

/** Leaves the delivery as a dead letter, for the queue of its target or else of its bus. */
const deadLetter = async (
  run: Run,
  transaction: Transaction,
  failure: AttemptFailure,
  condition: ExhaustedCondition | undefined,
): Promise<void> => {
  const { app, delivery, target, event, attemptsBefore } = run;
  const { account, bus } = delivery;
  const ofBus = async () => {
    const record = await findBus(transaction, { account, name: bus }).catch(undefinedIfDamaged);
    return record?.deadLetterConfig?.arn;
  };
  const queueArn = target.deadLetterConfig?.arn ?? (await ofBus());
  logGivenUp(run, transaction, failure, queueArn);
  const rule = ruleArnOf(app, delivery);
  transaction.afterCommit(() => app.givenUp.add({ rule, target: target.arn, ...failure }));
  await leaveDeadLetter(app, transaction, account, {
    event,
    ruleArn: rule,
    targetArn: target.arn,
    errorCode: failure.code,
    errorMessage: failure.message,
    exhaustedRetryCondition: condition,
    retryAttempts: Math.max(0, attemptsBefore),
    queueArn,
    target,
    bus,
    rule: delivery.rule,
    ruleRoleArn: delivery.ruleRoleArn,
  });
};
