import type { EventRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";

/** How much a bus logs; each level includes those before it. */
export type BusLogLevel = "ERROR" | "INFO" | "TRACE";

/** The levels of the steps of which a bus writes records. */
const levels = {
  EVENT_RECEIPT: "INFO",
  EVENT_INGEST_SUCCESS: "TRACE",
  EVENT_INGEST_FAILURE: "ERROR",
  RULE_MATCH_START: "TRACE",
  RULE_MATCH: "INFO",
  NO_STANDARD_RULES_MATCHED: "INFO",
  INVOCATION_START: "INFO",
  INVOCATION_ATTEMPT_START: "TRACE",
  INVOCATION_ATTEMPT_SUCCESS: "TRACE",
  INVOCATION_ATTEMPT_RETRYABLE_FAILURE: "ERROR",
  INVOCATION_ATTEMPT_PERMANENT_FAILURE: "ERROR",
  INVOCATION_SUCCESS: "INFO",
  INVOCATION_FAILURE: "ERROR",
  INVOCATION_DLQ: "ERROR",
} as const satisfies Readonly<Record<string, BusLogLevel>>;

/** A step of an event's way through a bus. */
export type BusLogStep = keyof typeof levels;

const order: readonly BusLogLevel[] = ["ERROR", "INFO", "TRACE"];

/** Whether a bus of a level writes records of a step. */
export const writesStep = (level: BusLogLevel, step: BusLogStep): boolean =>
  order.indexOf(levels[step]) <= order.indexOf(level);

/** What a record says about a step. */
export interface BusLogFacts {
  readonly eventId: string;
  /** Unset: the step belongs to no delivery. */
  readonly invocationId?: string;
  readonly details: Readonly<Record<string, unknown>>;
  /** Unset: nothing failed. */
  readonly error?: { readonly code: string; readonly message: string };
}

/** One record as JSON, in the documented form. */
export const busLogRecord = (busArn: string, nowMs: number, step: BusLogStep, facts: BusLogFacts): string => {
  const { eventId, invocationId, details, error } = facts;
  return JSON.stringify({
    resource_arn: busArn,
    event_id: eventId,
    invocation_id: invocationId,
    message_timestamp_ms: nowMs,
    message_type: step,
    log_level: levels[step],
    details,
    error: error && { error_code: error.code, error_message: error.message },
  });
};

/** What records about an event say of it; its detail only if the bus logs details. */
export const eventDetails = (
  event: Pick<EventRecord, "account" | "timeMs" | "source" | "detailType" | "resources" | "detail">,
  isFull: boolean,
): Readonly<Record<string, unknown>> => ({
  caller_account_id: event.account,
  source_time_ms: Number(event.timeMs),
  source: event.source,
  detail_type: event.detailType,
  resources: event.resources,
  event_detail: isFull ? event.detail : undefined,
});
