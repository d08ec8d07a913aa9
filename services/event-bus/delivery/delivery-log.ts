import type { DeliveryRecord, EventRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import type { Job } from "../../kit/jobs/jobs.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { Application } from "../application.ts";
import { ruleArn } from "../domain/arns.ts";
import type { BusLogFacts, BusLogStep } from "../domain/bus-log-record.ts";
import { targetInput } from "../domain/input.ts";
import { isInputError } from "./attempt-input.ts";
import type { AttemptFailure, AttemptOutcome } from "./connector.ts";

/** A delivery as its bus's log shows it. */
interface LoggedDelivery {
  readonly app: Pick<Application, "arnScope" | "busLogs">;
  readonly job: Pick<Job, "id">;
  readonly delivery: DeliveryRecord;
  readonly target: Target;
  readonly event: EventRecord;
  readonly attemptsBefore: number;
}

/** Logs that an attempt begins, if the bus logs that. `event` has all its members. */
export const logAttemptStart = (run: LoggedDelivery, event: EventRecord): void => {
  if (!isLogged(run)) return;
  if (run.attemptsBefore === 0) add(run, "INVOCATION_START");
  add(run, "INVOCATION_ATTEMPT_START", (isFull) => (isFull ? { target_input: inputOf(run, event) } : {}));
};

/** Logs how an attempt ended. */
export const logAttemptEnd = (run: LoggedDelivery, outcome: AttemptOutcome): void => {
  if (!isLogged(run)) return;
  if (outcome.kind === "delivered") return add(run, "INVOCATION_ATTEMPT_SUCCESS");
  const { code, message } = outcome;
  const step = outcome.kind === "retry" ? "RETRYABLE_FAILURE" : "PERMANENT_FAILURE";
  add(run, `INVOCATION_ATTEMPT_${step}`, () => ({}), { code, message });
};

/** Logs that a delivery succeeded, once the transaction commits. */
export const logDelivered = (run: LoggedDelivery, transaction: Transaction): void => {
  if (isLogged(run)) transaction.afterCommit(() => add(run, "INVOCATION_SUCCESS"));
};

/** Logs that a delivery failed for good, and its queue if there is one, once the transaction commits. */
export const logGivenUp = (
  run: LoggedDelivery,
  transaction: Transaction,
  error: AttemptFailure,
  queueArn: string | undefined,
): void => {
  if (!isLogged(run)) return;
  transaction.afterCommit(() => {
    add(run, "INVOCATION_FAILURE", () => ({}), error);
    if (queueArn !== undefined) add(run, "INVOCATION_DLQ", () => ({ dead_letter_arn: queueArn }), error);
  });
};

const busOf = ({ delivery: { account, bus } }: LoggedDelivery) => ({ account, name: bus });

const isLogged = (run: LoggedDelivery): boolean => run.app.busLogs.of(busOf(run)) !== undefined;

const add = (
  run: LoggedDelivery,
  step: BusLogStep,
  details: (isFull: boolean) => Readonly<Record<string, unknown>> = () => ({}),
  error?: BusLogFacts["error"],
): void => {
  const { app, job, delivery, target, event, attemptsBefore } = run;
  app.busLogs.add(busOf(run), step, (isFull) => ({
    eventId: event.id,
    invocationId: job.id,
    details: {
      rule_arn: ruleArn(app.arnScope, busOf(run), delivery.rule),
      target_arn: target.arn,
      role_arn: target.roleArn,
      attempt_count: attemptsBefore + 1,
      ...details(isFull),
    },
    ...(error === undefined ? {} : { error }),
  }));
};

/** What the target receives; undefined if its input cannot be made. */
const inputOf = (run: LoggedDelivery, event: EventRecord): string | undefined => {
  const { app, delivery, target } = run;
  const facts = { ruleArn: ruleArn(app.arnScope, busOf(run), delivery.rule), ruleName: delivery.rule };
  try {
    return targetInput({ target, event, ingestedMs: Number(delivery.ingestedMs), ...facts });
  } catch (error) {
    if (isInputError(error)) return undefined;
    throw error;
  }
};
