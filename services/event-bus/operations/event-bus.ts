/**
 * Event buses.
 *
 * CreateEventBus checks, in order:
 * 1. the name is that of the partner event source, if one is named, and otherwise has no slash;
 * 2. the partner event source is shared with the account, and its partner has not deleted it;
 * 3. no two tags have the same key;
 * 4. the name is not in use; `default` always is;
 * 5. the account has fewer buses than the limit;
 * 6. the encryption key, if one is named, may be used.
 *
 * DeleteEventBus checks, in order:
 * 1. the bus is not the default bus;
 * 2. it has no rules. A bus that does not exist counts as deleted.
 *
 * DescribeEventBus and UpdateEventBus fail if the bus does not exist, UpdateEventBus also if the key may not be used.
 *
 * Of a bus whose stored record is damaged nothing is known, not even its policy, so every call of it fails but for
 * UpdateEventBus and DeleteEventBus of its owner's root.
 */
import { create } from "@bufbuild/protobuf";

import type { EventBusRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { EventBusRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { EventSourceState } from "../../../gen/quartet/eventbus/v1/event_source_pb.ts";
import { findOrDamaged } from "../../kit/store/damage.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import type { Application, Operation } from "../application.ts";
import type { BusReference } from "../domain/arns.ts";
import { busArn, defaultBusName } from "../domain/arns.ts";
import { stateOf } from "../domain/event-source.ts";
import { instant } from "../domain/instant.ts";
import { refuseTags, sortTags } from "../domain/tags.ts";
import { ErrorReason, fault } from "../faults.ts";
import * as stored from "../store/bus.ts";
import { deleteSchemas } from "../store/discovered-schema.ts";
import { findEventSource, getEventSource, putEventSource, removeEventSource } from "../store/event-source.ts";
import { countRules } from "../store/rule.ts";

/** Creates a custom bus. A second call with the same name is refused and changes nothing. */
export const createEventBus: Operation<"createEventBus"> = async (request, { app, caller }) => {
  const { name, eventSourceName, description, kmsKeyIdentifier, deadLetterConfig, logConfig, tags } = request;
  if (eventSourceName !== undefined && eventSourceName !== name)
    throw fault(ErrorReason.PARAMETER_REFUSED, { parameter: "Name", reason: "Name must equal EventSourceName." });
  if (eventSourceName === undefined && name.includes("/"))
    throw fault(ErrorReason.PARAMETER_REFUSED, { parameter: "Name", reason: "Name must not contain '/'." });
  refuseTags(tags);
  const nowMs = BigInt(app.clock.now());

  await app.store.transact(async (transaction) => {
    const source = eventSourceName && (await getLiveSource(app, transaction, caller.accountId, eventSourceName));
    if ((await stored.findBus(transaction, { account: caller.accountId, name })) !== undefined)
      throw fault(ErrorReason.EVENT_BUS_ALREADY_EXISTS, { name });
    const limit = app.limits.busesMax;
    if ((await stored.countBuses(transaction, caller.accountId)) >= limit) throw fault(ErrorReason.LIMIT_EXCEEDED);
    if (source) putEventSource(transaction, { ...source, pendingSinceMs: 0n });
    const eventKeyId = await app.sealing.keyFor(transaction, caller.accountId, kmsKeyIdentifier, undefined);
    app.busLogs.configure(transaction, { account: caller.accountId, name }, logConfig);
    await stored.createBus(transaction, caller.accountId, {
      name,
      eventKeyId,
      eventSourceName,
      description,
      kmsKeyIdentifier,
      deadLetterConfig,
      logConfig,
      tags: sortTags(tags),
      createdMs: nowMs,
      modifiedMs: nowMs,
    });
  });

  return {
    eventBusArn: busArn(app.arnScope, { account: caller.accountId, name }),
    description,
    kmsKeyIdentifier,
    deadLetterConfig,
    logConfig,
  };
};

/** A source that the partner has not deleted. Throws EVENT_SOURCE_NOT_FOUND. */
const getLiveSource = async (app: Application, reader: Reader, account: string, name: string) => {
  const source = await getEventSource(reader, account, name);
  if (stateOf(source, app.clock.now()) === EventSourceState.DELETED)
    throw fault(ErrorReason.EVENT_SOURCE_NOT_FOUND, { name });
  return source;
};

/** ACTIVE, or DELETED for a bus whose partner event source was deleted. */
const busState = ({ isSourceDeleted }: EventBusRecord): string => (isSourceDeleted ? "DELETED" : "ACTIVE");

/** Returns the settings of a bus; without a name, those of the default bus. */
export const describeEventBus: Operation<"describeEventBus"> = async (_request, { app, access }) => {
  const bus = await app.store.read((reader) => stored.getBus(reader, access.bus));
  const { description, kmsKeyIdentifier, deadLetterConfig, policy, logConfig } = bus;
  return {
    name: bus.name,
    arn: busArn(app.arnScope, access.bus),
    description,
    kmsKeyIdentifier,
    deadLetterConfig,
    policy,
    logConfig,
    state: busState(bus),
    creationTime: instant(bus.createdMs),
    lastModifiedTime: instant(bus.modifiedMs),
  };
};

/** Lists the account's buses by name. */
export const listEventBuses: Operation<"listEventBuses"> = async (request, context) => {
  const { app, caller } = context;
  const { namePrefix = "" } = request;
  const page = app.pages.open(context, request, [namePrefix]);
  const names = { namePrefix, after: page.after, limit: page.lookFor };
  const found = await app.store.read((reader) => stored.listBuses(reader, caller.accountId, names));
  const { items, nextToken } = page.cut(found, (bus) => bus.name);
  const toBus = (bus: EventBusRecord) => ({
    name: bus.name,
    arn: busArn(app.arnScope, { account: caller.accountId, name: bus.name }),
    description: bus.description,
    policy: bus.policy,
    state: busState(bus),
    creationTime: instant(bus.createdMs),
    lastModifiedTime: instant(bus.modifiedMs),
  });
  return { eventBuses: items.map(toBus), nextToken };
};

/** Deletes a custom bus that has no rules. */
export const deleteEventBus: Operation<"deleteEventBus"> = async (_request, { app, access }) => {
  const { bus } = access;
  if (bus.name === defaultBusName) throw fault(ErrorReason.DEFAULT_EVENT_BUS_NOT_DELETABLE);
  await app.store.transact(async (transaction) => {
    const present = await findOrDamaged(stored.findBus(transaction, bus));
    if (present === undefined) return;
    if ((await countRules(transaction, bus)) > 0) throw fault(ErrorReason.EVENT_BUS_HAS_RULES, { name: bus.name });
    app.busLogs.configure(transaction, bus, undefined);
    await deleteSchemas(transaction, bus);
    await stored.deleteBus(transaction, bus);
    // The bus of a partner event source has its name.
    if (present === "damaged" || present.eventSourceName !== undefined) await leaveSource(app, transaction, bus);
  });
  return {};
};

/** The source of a deleted bus is pending again; one that the partner has deleted is forgotten. */
const leaveSource = async (app: Application, transaction: Transaction, { account, name }: BusReference) => {
  const source = await findEventSource(transaction, account, name);
  if (source === undefined) return;
  if (stateOf(source, app.clock.now()) === EventSourceState.DELETED) removeEventSource(transaction, account, name);
  else if (source.pendingSinceMs === 0n)
    putEventSource(transaction, { ...source, pendingSinceMs: BigInt(app.clock.now()) });
};

/**
 * Replaces the settings of a bus; omitted ones become empty. Stored events stay under the key that they have. With a
 * key, the discovery of schemas ends. A bus whose record is damaged is whole again, without its policy and its tags.
 */
export const updateEventBus: Operation<"updateEventBus"> = async (request, { app, access }) => {
  const { bus } = access;
  const { description, kmsKeyIdentifier, deadLetterConfig, logConfig } = request;
  const settings = { description, kmsKeyIdentifier, deadLetterConfig, logConfig };
  await app.store.transact(async (transaction) => {
    const modifiedMs = BigInt(app.clock.now());
    const found = await findOrDamaged(stored.getBus(transaction, bus));
    const present = found === "damaged" ? await standInFor(transaction, bus, modifiedMs) : found;
    const eventKeyId = await app.sealing.keyFor(transaction, bus.account, kmsKeyIdentifier, present.eventKeyId);
    app.busLogs.configure(transaction, bus, logConfig);
    const discoversSchemas = present.discoversSchemas && eventKeyId === undefined;
    stored.putBus(transaction, bus.account, { ...present, ...settings, eventKeyId, discoversSchemas, modifiedMs });
  });
  return { name: bus.name, arn: busArn(app.arnScope, bus), ...settings };
};

/** What is known of a bus whose record is damaged. */
const standInFor = async (reader: Reader, { account, name }: BusReference, nowMs: bigint): Promise<EventBusRecord> => {
  const source = await findEventSource(reader, account, name);
  const eventSourceName = source === undefined ? {} : { eventSourceName: name };
  return create(EventBusRecordSchema, { name, createdMs: nowMs, ...eventSourceName });
};
