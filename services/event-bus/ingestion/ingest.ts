import { toBinary, create } from "@bufbuild/protobuf";

import type { EventBusRecord, EventRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { DeliveryRecordSchema, EventRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import type { NewJob } from "../../kit/jobs/jobs.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import type { Application } from "../application.ts";
import type { BusReference } from "../domain/arns.ts";
import { envelopeOf } from "../domain/envelope.ts";
import { Matcher } from "../pattern/matcher.ts";
import { flattenEvent } from "../pattern/flatten.ts";
import { archiveHolder, putArchiveEntry } from "../store/archive.ts";
import { findBus } from "../store/bus.ts";
import type { BusMatcher, WatchingRule } from "../store/compiled-rules.ts";
import type { EventPlace } from "../store/event.ts";
import { putEvent } from "../store/event.ts";

/** The kind of the jobs that deliver events. */
export const deliveryKind = "delivery";

/** What ingesting needs of the application. */
export type Ingesting = Pick<Application, "clock" | "ids" | "jobs" | "limits">;

/** An event before it stands on a bus. */
export type NewEvent = Omit<EventRecord, "$typeName" | "$unknown" | "bus" | "matchedRules">;

/** A bus as one transaction sees it. */
export interface OpenBus {
  readonly reference: BusReference;
  /** Undefined when the bus is not there. */
  readonly record: EventBusRecord | undefined;
  readonly matcher: BusMatcher;
}

/**
 * What became of an event. One whose deliveries are more than one transaction may hold is not written at all, and
 * neither is any of them.
 */
export type Ingested = { readonly kind: "taken"; readonly bytes: number } | { readonly kind: "too-wide" };

/** Tells whoever put an event that it is too wide. */
export const tooWideMessage = "The event matches targets whose inputs are too large together.";

/** Reads a bus and its rules once for all the events that a transaction puts on it. */
export const openBus = async (
  app: Pick<Application, "rules">,
  reader: Reader,
  reference: BusReference,
): Promise<OpenBus> => {
  const record = await findBus(reader, reference);
  const matcher = record === undefined ? new Matcher<WatchingRule>() : await app.rules.of(reader, reference);
  return { reference, record, matcher };
};

/**
 * Puts an event on a bus: writes it to the log and a delivery for each target of each rule that it matches, all in the
 * caller's transaction. An event for a bus that is not there is logged as such and delivered to nobody. With `onlyRules`,
 * rules of other names do not see the event. A caller that puts several events ends its transaction when their bytes
 * together have come to `deliveriesBytesMax`.
 */
export const ingestEvent = (
  app: Ingesting,
  transaction: Transaction,
  { reference: bus, record: busRecord, matcher }: OpenBus,
  event: NewEvent,
  onlyRules?: ReadonlySet<string>,
): Ingested => {
  const place = placeOf(app, bus, event);
  const record = create(EventRecordSchema, { ...event, bus: bus.name });
  if (busRecord === undefined) {
    putEvent(transaction, place, record, []);
    return { kind: "taken", bytes: entryBytes(record, []) };
  }
  const matched = matcher
    .match(flattenEvent(envelopeOf(record), record.detail, matcher.wants))
    .filter((rule) => onlyRules?.has(rule.name) ?? true);
  const archived = matched.flatMap(({ archiveId }) => archiveId ?? []);
  const planned = planDeliveries(app, place, bus, matched);
  if (planned === undefined) return { kind: "too-wide" };
  for (const archiveId of archived) putArchiveEntry(transaction, place, archiveId, record);
  const deliveries = planned.map((job) => enqueueDelivery(app, transaction, job));
  const holders = [...deliveries, ...archived.map(archiveHolder)];
  putEvent(transaction, place, { ...record, matchedRules: matched.length - archived.length }, holders);
  return { kind: "taken", bytes: entryBytes(record, planned) };
};

/** An event that is meant for one rule only. */
export interface RuleEvent {
  readonly event: NewEvent;
  readonly rule: string;
  readonly ruleRoleArn: string | undefined;
  readonly targets: readonly Target[];
}

/** Writes an event to the log and delivers it to the targets of one rule, whatever other rules watch for. */
export const deliverToRule = (
  app: Ingesting,
  transaction: Transaction,
  bus: BusReference,
  { event, rule, ruleRoleArn, targets }: RuleEvent,
): Ingested => {
  const place = placeOf(app, bus, event);
  const planned = planDeliveries(app, place, bus, [{ name: rule, roleArn: ruleRoleArn, targets }]);
  if (planned === undefined) return { kind: "too-wide" };
  const record = create(EventRecordSchema, { ...event, bus: bus.name, matchedRules: 1 });
  const holders = planned.map((job) => enqueueDelivery(app, transaction, job));
  putEvent(transaction, place, record, holders);
  return { kind: "taken", bytes: entryBytes(record, planned) };
};

/** An event that passes through several buses or is replayed keeps its id, so each further entry needs a name of its own. */
const placeOf = (app: Ingesting, bus: BusReference, event: NewEvent): EventPlace => ({
  account: bus.account,
  ingestedMs: app.clock.now(),
  eventId: event.hops === 0 && event.replayName === undefined ? event.id : `${event.id}/${app.ids.uuid()}`,
});

/** A rule as far as deliveries go. */
type DeliveringRule = Pick<WatchingRule, "name" | "roleArn" | "targets">;

/** A delivery that is not enqueued yet. */
type PlannedDelivery = Pick<NewJob, "owner" | "payload">;

/** The deliveries of an event, one for each target; undefined when they are more than one transaction may hold. */
const planDeliveries = (
  app: Pick<Ingesting, "limits">,
  { account, ingestedMs, eventId }: EventPlace,
  bus: BusReference,
  rules: readonly DeliveringRule[],
): PlannedDelivery[] | undefined => {
  const planned: PlannedDelivery[] = [];
  let bytes = 0;
  for (const { name: rule, roleArn: ruleRoleArn, targets } of rules)
    for (const target of targets) {
      const payload = toBinary(
        DeliveryRecordSchema,
        create(DeliveryRecordSchema, {
          account,
          ingestedMs: BigInt(ingestedMs),
          eventId,
          bus: bus.name,
          rule,
          target,
          ...(ruleRoleArn === undefined ? {} : { ruleRoleArn }),
        }),
      );
      const delivery = { owner: target.arn, payload };
      bytes += deliveryBytes(delivery);
      if (bytes > app.limits.deliveriesBytesMax) return undefined;
      planned.push(delivery);
    }
  return planned;
};

/** What the keys of a job and of a holder take, beside the owner in two of them; generously. */
const rowBytes = 1_024;

const deliveryBytes = ({ owner, payload }: PlannedDelivery): number =>
  payload.byteLength + 2 * Buffer.byteLength(owner) + rowBytes;

/** About what an event and its deliveries add to a transaction; never less. Nothing is encoded only to be measured. */
const entryBytes = ({ detail, source, resources }: EventRecord, planned: readonly PlannedDelivery[]): number => {
  const eventBytes = [detail, source, ...resources].reduce((sum, each) => sum + Buffer.byteLength(each), 2 * rowBytes);
  return planned.reduce((sum, delivery) => sum + deliveryBytes(delivery), eventBytes);
};

/** Enqueues a delivery of an event; gives the holder that keeps the event until it has ended. */
const enqueueDelivery = (app: Ingesting, transaction: Transaction, delivery: PlannedDelivery): string =>
  deliveryHolder(app.jobs.enqueue(transaction, { kind: deliveryKind, ...delivery }));

/** Names a delivery's job as a holder of its event. */
export const deliveryHolder = (jobId: string): string => `delivery:${jobId}`;
