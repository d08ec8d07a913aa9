import { create } from "@bufbuild/protobuf";

import type { EventBusRecord, EventRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { EventRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { currentGivenUp } from "../../kit/trace/current-trace.ts";
import type { Application } from "../application.ts";
import { leaveDeadLetter } from "../delivery/dead-letter-job.ts";
import type { BusReference } from "../domain/arns.ts";
import { busArn } from "../domain/arns.ts";
import { envelopeOf } from "../domain/envelope.ts";
import type { Sealing } from "../encryption/event-sealing.ts";
import { Matcher } from "../pattern/matcher.ts";
import { flattenEvent } from "../pattern/flatten.ts";
import { runAtOnce, runInTurns } from "../pattern/steps.ts";
import { findBus } from "../store/bus.ts";
import { archiveEvent } from "./archiving.ts";
import type { DeliveringRule, RulePlan } from "./delivery-plan.ts";
import { planDeliveries, rowBytes } from "./delivery-plan.ts";
import { enqueueDeliveries } from "./fan-out.ts";
import { enqueueOrdered } from "./ordered-delivery.ts";
import { logIngested, logNotIngested } from "./ingest-log.ts";
import type { BusMatcher } from "../store/compiled-rules.ts";
import type { WatchingRule } from "../store/watching-rule.ts";
import type { EventKey } from "../store/event.ts";
import { putEvent } from "../store/event.ts";

/** The dependencies of ingestion. */
type Ingesting = Pick<
  Application,
  "arnScope" | "busLogs" | "clock" | "ids" | "jobs" | "limits" | "reachesQueues" | "schemas" | "sealing"
>;

/** An event before it is put on a bus. */
export type NewEvent = Omit<
  EventRecord,
  "$typeName" | "$unknown" | "bus" | "matchedRules" | "endpointArn" | "sealed"
> & {
  readonly endpointArn?: string | undefined;
};

/** A bus and its rules in the state of one transaction. */
export interface OpenBus {
  readonly reference: BusReference;
  /** Undefined if the bus does not exist. */
  readonly record: EventBusRecord | undefined;
  readonly matcher: BusMatcher;
  readonly sealing: Sealing;
  /** Delivers every event to the same bus of another region. Unset: nothing does. */
  readonly replication?: DeliveringRule;
}

/**
 * The outcome of an ingestion, with the bytes that it added to the transaction. If the deliveries of an event are too
 * large for one transaction, neither the event nor any of its deliveries is written.
 */
type Ingested = { readonly kind: "ingested"; readonly bytes: number } | { readonly kind: "too-large" };

/** Explains to the sender of an event that its deliveries are too large. */
export const tooLargeMessage = "The event matches targets whose inputs are too large together.";

/** Reads a bus and its rules once for all events that a transaction puts on it. */
export const openBus = async (
  app: Pick<Application, "rules" | "sealing">,
  reader: Reader,
  reference: BusReference,
): Promise<OpenBus> => {
  const record = await findBus(reader, reference);
  const matcher = record === undefined ? new Matcher<WatchingRule>() : await app.rules.of(reader, reference);
  const sealing = await app.sealing.under(reader, reference.account, record?.eventKeyId);
  return { reference, record, matcher, sealing };
};

/**
 * Puts an event on a bus: writes it to the log with a delivery for each target of each rule that it matches, all in the
 * caller's transaction; of many deliveries, only the plan. An event for a bus that does not exist is stored with a
 * marker and not delivered; one for a bus whose encryption key cannot be used becomes a dead letter. With `onlyRules`,
 * rules of other names do not match. A caller that puts several events ends its transaction once their total size
 * reaches `deliveriesBytesMax`.
 */
export const ingestEvent = async (
  app: Ingesting,
  transaction: Transaction,
  { reference: bus, record: busRecord, matcher, sealing, replication }: OpenBus,
  event: NewEvent,
  onlyRules?: ReadonlySet<string>,
): Promise<Ingested> => {
  const key = eventKeyOf(app, bus, event);
  const record = create(EventRecordSchema, { ...event, bus: bus.name });
  if (busRecord === undefined) {
    putEvent(transaction, key, record, []);
    return { kind: "ingested", bytes: entryBytes(record, []) };
  }
  if (sealing.kind === "unusable") {
    await leaveUnsealed(app, transaction, { reference: bus, record: busRecord }, record, sealing);
    return { kind: "ingested", bytes: entryBytes(record, []) };
  }
  const flat = flattenEvent(envelopeOf(record), record.detail, matcher.wants);
  const matched = (await matcher.matchInTurns(flat, { owner: bus.account, givenUp: currentGivenUp() })).filter(
    (rule) => onlyRules?.has(rule.name) ?? true,
  );
  const archiving = matched.filter(({ archiveId }) => archiveId !== undefined);
  const copies = archiving.filter(({ archiveKeyId }) => archiveKeyId !== undefined).length;
  const copiesBytes = copies === 0 ? 0 : copies * entryBytes(record, []);
  const delivering = replication === undefined ? matched : [...matched, replication];
  const planned = await runInTurns(planDeliveries(app.limits, bus, delivering, copiesBytes));
  if (planned === undefined) {
    logNotIngested(app, transaction, bus, record, { code: "RESOURCE_LIMIT_EXCEEDED", message: tooLargeMessage });
    return { kind: "too-large" };
  }
  const logged = { ...record, matchedRules: matched.length - archiving.length };
  // What is encrypted in the database is not kept in memory in clear.
  const remembered = sealing.kind === "sealed" ? undefined : logged;
  const holders = [
    ...(archiving.length > 0 ? await archiveEvent(app, transaction, { key, record, bus, busRecord }, archiving) : []),
    ...enqueueDeliveries(app, transaction, key, planned, remembered),
    ...(hasOrder(planned) ? await enqueueOrdered(app, transaction, key, record, planned, remembered) : []),
  ];
  putEvent(transaction, key, sealing.kind === "sealed" ? sealing.seal(logged) : logged, holders);
  if (busRecord.discoversSchemas && sealing.kind === "clear") app.schemas.observe(transaction, bus, event);
  logIngested(
    app,
    transaction,
    bus,
    record,
    matched.filter(({ archiveId }) => archiveId === undefined),
  );
  return { kind: "ingested", bytes: entryBytes(record, planned) + copiesBytes };
};

const hasOrder = (planned: readonly RulePlan[]): boolean => planned.some(({ ordered }) => ordered.length > 0);

/** An event that cannot be stored under the key of its bus becomes a dead letter of the bus. */
const leaveUnsealed = async (
  app: Ingesting,
  transaction: Transaction,
  bus: { readonly reference: BusReference; readonly record: EventBusRecord },
  event: EventRecord,
  { reason, seal }: Extract<Sealing, { readonly kind: "unusable" }>,
): Promise<void> => {
  const error = { code: "NO_PERMISSIONS", message: reason.message };
  await leaveDeadLetter(app, transaction, bus.reference.account, {
    event: seal(event),
    targetArn: busArn(app.arnScope, bus.reference),
    errorCode: error.code,
    errorMessage: error.message,
    queueArn: bus.record.deadLetterConfig?.arn,
    bus: bus.reference.name,
  });
  logNotIngested(app, transaction, bus.reference, event, error);
};

/** An event for the targets of one rule. */
interface RuleEvent {
  /** As it is to be stored: sealed if it is to be. */
  readonly event: NewEvent & Pick<EventRecord, "sealed">;
  /** With all its members. Unset: it is stored so. */
  readonly opened?: EventRecord;
  readonly rule: string;
  readonly ruleRoleArn: string | undefined;
  readonly targets: readonly Target[];
}

/** Writes an event to the log with deliveries to the targets of one rule; other rules are not matched. */
export const deliverToRule = async (
  app: Ingesting,
  transaction: Transaction,
  bus: BusReference,
  { event, opened, rule, ruleRoleArn, targets }: RuleEvent,
): Promise<Ingested> => {
  const key = eventKeyOf(app, bus, event);
  const planned = runAtOnce(planDeliveries(app.limits, bus, [{ name: rule, roleArn: ruleRoleArn, targets }]));
  if (planned === undefined) return { kind: "too-large" };
  const record = create(EventRecordSchema, { ...event, bus: bus.name, matchedRules: 1 });
  const holders = [
    ...enqueueDeliveries(app, transaction, key, planned),
    ...(hasOrder(planned) ? await enqueueOrdered(app, transaction, key, opened ?? record, planned) : []),
  ];
  putEvent(transaction, key, record, holders);
  return { kind: "ingested", bytes: entryBytes(record, planned) };
};

/**
 * An event that passes through several buses or is replayed keeps its id, so each later entry of the log has its own
 * key.
 */
const eventKeyOf = (app: Ingesting, bus: BusReference, event: NewEvent): EventKey => ({
  account: bus.account,
  ingestedMs: app.clock.now(),
  eventId: event.hops === 0 && event.replayName === undefined ? event.id : `${event.id}/${app.ids.uuid()}`,
});

/**
 * An upper bound for the bytes that an event and its deliveries add to a transaction. It is an estimate, so that
 * nothing is encoded only to be measured.
 */
const entryBytes = ({ detail, source, resources }: EventRecord, planned: readonly RulePlan[]): number => {
  const eventBytes = [detail, source, ...resources].reduce((sum, each) => sum + Buffer.byteLength(each), 2 * rowBytes);
  return planned.reduce((sum, { bytes }) => sum + bytes, eventBytes);
};
