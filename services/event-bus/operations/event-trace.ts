/**
 * The trace of an event. TraceEvent fails if the account's log does not have the event. It reads the latest events of
 * the log, and changes nothing. It also fails while the encryption key of the event's bus cannot be used.
 */
import { fromBinary } from "@bufbuild/protobuf";

import type { EventRecord, RuleRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { DeliveryRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { RuleState } from "../../../gen/quartet/eventbus/v1/rule_pb.ts";
import type { Reader } from "../../kit/store/store.ts";
import { currentGivenUp } from "../../kit/trace/current-trace.ts";
import type { Application, Operation } from "../application.ts";
import { busArn } from "../domain/arns.ts";
import { envelopeOf, eventJson } from "../domain/envelope.ts";
import { instant } from "../domain/instant.ts";
import { ErrorReason, fault } from "../faults.ts";
import { deliveryOfHolder } from "../ingestion/fan-out.ts";
import { findWaitingHolder } from "../ingestion/ordered-delivery.ts";
import { failedField, matchesEvent } from "../pattern/failed-field.ts";
import { flattenEvent } from "../pattern/flatten.ts";
import type { Pattern } from "../pattern/parse.ts";
import { parsePattern } from "../pattern/parse.ts";
import { PatternError } from "../pattern/pattern-error.ts";
import { listDeadLetters } from "../store/dead-letter.ts";
import type { EventKey } from "../store/event.ts";
import { findLogged, listHolders } from "../store/event.ts";
import { listRules } from "../store/rule.ts";

/** Traces of one event. */
const tracesMax = 10;
/** Rules of a bus that are compared with an event, by name. */
const rulesMax = 1_000;
/** Rules in an answer that the event does not match. */
const unmatchedMax = 100;
/** Dead letters among which those of the event are looked for, the latest. */
const lettersMax = 1_000;
/** Deliveries in an answer. */
const deliveriesMax = 100;

/** Explains what became of an event. */
export const traceEvent: Operation<"traceEvent"> = ({ eventId }, { app, caller }) =>
  app.store.read(async (reader) => {
    const found = await findLogged(reader, caller.accountId, eventId, tracesMax);
    if (found.length === 0) throw fault(ErrorReason.EVENT_NOT_FOUND, { id: eventId });
    const traces = [];
    for (const { key, event: logged } of found) {
      const event = await app.sealing.open(reader, key.account, logged);
      const bus = { account: key.account, name: event.bus };
      traces.push({
        event: eventJson(event),
        eventBusArn: busArn(app.arnScope, bus),
        ingestionTime: instant(BigInt(key.ingestedMs)),
        rules: await traceRules(reader, key.account, event),
        deliveries: [...(await waiting(app, reader, key)), ...(await givenUp(reader, key.account, event))],
      });
    }
    return { traces };
  });

const traceRules = async (reader: Reader, account: string, event: EventRecord) => {
  const rules = await listRules(
    reader,
    { account, name: event.bus },
    { namePrefix: "", after: undefined, limit: rulesMax },
  );
  const envelope = envelopeOf(event);
  const flatten = (wanted: (path: string) => boolean) => flattenEvent(envelope, event.detail, wanted);
  const asker = { owner: account, givenUp: currentGivenUp() };
  const traces = [];
  let unmatched = 0;
  for (const { name, rule } of rules) {
    const pattern = rule === undefined ? undefined : patternOf(rule);
    if (pattern !== undefined && (await matchesEvent(pattern, flatten, asker)))
      traces.push({ rule: name, matched: true });
    else if (unmatched++ < unmatchedMax) {
      const failed = pattern && (await failedField(pattern, flatten, asker));
      traces.push({ rule: name, matched: false, ...(failed !== undefined && { failedField: failed }) });
    }
  }
  return traces;
};

/** The pattern of an enabled rule; undefined: it has none, or a damaged one, which no event matches. */
const patternOf = ({ state, eventPattern }: RuleRecord): Pattern | undefined => {
  if (state === RuleState.DISABLED || eventPattern === undefined) return undefined;
  try {
    return parsePattern(eventPattern);
  } catch (error) {
    if (error instanceof PatternError) return undefined;
    throw error;
  }
};

/** The deliveries of a logged event that have not ended. */
const waiting = async ({ jobs, clock }: Application, reader: Reader, key: EventKey) => {
  const deliveries = [];
  for (const holder of await listHolders(reader, key, deliveriesMax)) {
    const id = deliveryOfHolder(holder);
    const status = id === undefined ? undefined : await jobs.find(reader, id);
    const inLane = id === undefined ? await findWaitingHolder(reader, key.account, holder) : undefined;
    if (inLane !== undefined)
      deliveries.push({ rule: inLane.rule, targetArn: inLane.target?.arn ?? "", state: "WAITING", attempts: 0 });
    if (status === undefined) continue;
    const { rule, target } = fromBinary(DeliveryRecordSchema, status.job.payload);
    deliveries.push({
      rule,
      targetArn: target?.arn ?? "",
      state: status.isRunning ? "RUNNING" : "WAITING",
      attempts: status.attempts,
      ...(status.job.lastReason === "" ? {} : { lastFailure: status.job.lastReason }),
      ...(status.dueMs > clock.now() ? { nextAttemptTime: instant(BigInt(status.dueMs)) } : {}),
    });
  }
  return deliveries;
};

/** The deliveries of an event on its bus that are among the latest dead letters. */
const givenUp = async (reader: Reader, account: string, event: EventRecord) => {
  const letters = await listDeadLetters(reader, account, { after: undefined, limit: lettersMax });
  return letters
    .map(({ letter }) => letter)
    .filter(({ event: failed, bus }) => failed?.id === event.id && bus === event.bus)
    .filter(({ event: failed }) => failed?.replayName === event.replayName)
    .slice(0, deliveriesMax)
    .map(({ rule, targetArn, retryAttempts, errorCode, errorMessage }) => ({
      rule,
      targetArn,
      state: "FAILED",
      attempts: retryAttempts + 1,
      lastFailure: `${errorCode}: ${errorMessage}`,
    }));
};
