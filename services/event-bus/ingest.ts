import { toBinary, create } from "@bufbuild/protobuf";

import type { EventBusRecord, EventRecord } from "../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { DeliveryRecordSchema, EventRecordSchema } from "../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Target } from "../../gen/quartet/eventbus/v1/target_pb.ts";
import type { Reader, Transaction } from "../kit/store/store.ts";
import type { Application } from "./application.ts";
import type { BusReference } from "./domain/arns.ts";
import { envelopeOf } from "./domain/envelope.ts";
import { Matcher } from "./pattern/matcher.ts";
import { flattenEvent } from "./pattern/flatten.ts";
import { archiveHolder, putArchiveEntry } from "./store/archive.ts";
import { findBus } from "./store/bus.ts";
import type { BusMatcher, WatchingRule } from "./store/compiled-rules.ts";
import type { EventPlace } from "./store/event.ts";
import { putEvent } from "./store/event.ts";

/** The kind of the jobs that deliver events. */
export const deliveryKind = "delivery";

/** What ingesting needs of the application. */
export type Ingesting = Pick<Application, "clock" | "ids" | "jobs">;

/** An event before it stands on a bus. */
export type NewEvent = Omit<EventRecord, "$typeName" | "$unknown" | "bus" | "matchedRules">;

/** A bus as one transaction sees it. */
export interface OpenBus {
  readonly reference: BusReference;
  /** Undefined when the bus is not there. */
  readonly record: EventBusRecord | undefined;
  readonly matcher: BusMatcher;
}

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
 * rules of other names do not see the event.
 */
export const ingestEvent = (
  app: Ingesting,
  transaction: Transaction,
  { reference: bus, record: busRecord, matcher }: OpenBus,
  event: NewEvent,
  onlyRules?: ReadonlySet<string>,
): void => {
  const place = placeOf(app, bus, event);
  const record = create(EventRecordSchema, { ...event, bus: bus.name });
  if (busRecord === undefined) {
    putEvent(transaction, place, record, []);
    return;
  }
  const matched = matcher
    .match(flattenEvent(envelopeOf(record), record.detail, matcher.wants))
    .filter((rule) => onlyRules?.has(rule.name) ?? true);
  const archived = matched.flatMap(({ archiveId }) => archiveId ?? []);
  for (const archiveId of archived) putArchiveEntry(transaction, place, archiveId, record);
  const deliveries = matched.flatMap((rule) =>
    rule.targets.map((target) =>
      enqueueDelivery(app, transaction, place, {
        bus: bus.name,
        rule: rule.name,
        target,
        ruleRoleArn: rule.roleArn,
      }),
    ),
  );
  const holders = [...deliveries, ...archived.map(archiveHolder)];
  putEvent(transaction, place, { ...record, matchedRules: matched.length - archived.length }, holders);
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
): void => {
  const place = placeOf(app, bus, event);
  const holders = targets.map((target) =>
    enqueueDelivery(app, transaction, place, { bus: bus.name, rule, target, ruleRoleArn }),
  );
  const record = create(EventRecordSchema, { ...event, bus: bus.name, matchedRules: 1 });
  putEvent(transaction, place, record, holders);
};

/** An event that passes through several buses or is replayed keeps its id, so each further entry needs a name of its own. */
const placeOf = (app: Ingesting, bus: BusReference, event: NewEvent): EventPlace => ({
  account: bus.account,
  ingestedMs: app.clock.now(),
  eventId: event.hops === 0 && event.replayName === undefined ? event.id : `${event.id}/${app.ids.uuid()}`,
});

/** What is delivered where. */
interface NewDelivery {
  readonly bus: string;
  readonly rule: string;
  readonly target: Target;
  readonly ruleRoleArn: string | undefined;
}

/** Enqueues a delivery of an event; gives the holder that keeps the event until it has ended. */
const enqueueDelivery = (
  app: Ingesting,
  transaction: Transaction,
  place: EventPlace,
  delivery: NewDelivery,
): string => {
  const { account, ingestedMs, eventId } = place;
  const { bus, rule, target, ruleRoleArn } = delivery;
  const payload = toBinary(
    DeliveryRecordSchema,
    create(DeliveryRecordSchema, {
      account,
      ingestedMs: BigInt(ingestedMs),
      eventId,
      bus,
      rule,
      target,
      ...(ruleRoleArn === undefined ? {} : { ruleRoleArn }),
    }),
  );
  return deliveryHolder(app.jobs.enqueue(transaction, { kind: deliveryKind, owner: target.arn, payload }));
};

/** Names a delivery's job as a holder of its event. */
export const deliveryHolder = (jobId: string): string => `delivery:${jobId}`;
