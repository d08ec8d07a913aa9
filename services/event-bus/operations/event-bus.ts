/**
 * Event buses. Creating refuses a name with a slash or the reserved name, a partner bus whose source is not there, a
 * name that is taken, then one bus too many. Deleting refuses the default bus and a bus with rules; a bus that is not
 * there counts as deleted.
 */
import type { EventBusRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Operation } from "../application.ts";
import { ownBus } from "../access/guard.ts";
import { busArn, defaultBusName } from "../domain/arns.ts";
import { refuseTags, sortTags } from "../domain/tags.ts";
import { instant } from "../domain/instant.ts";
import { ErrorReason, fault } from "../faults.ts";
import * as stored from "../store/bus.ts";
import { countRules } from "../store/rule.ts";
import { cutPage, pageOf } from "./page.ts";

/** Makes a custom bus. A second call with the same name is refused and changes nothing. */
export const createEventBus: Operation<"createEventBus"> = async (request, { app, caller }) => {
  const { name, eventSourceName, description, kmsKeyIdentifier, deadLetterConfig, logConfig, tags } = request;
  if (eventSourceName !== undefined) throw fault(ErrorReason.EVENT_SOURCE_NOT_FOUND, { name: eventSourceName });
  if (name.includes("/"))
    throw fault(ErrorReason.PARAMETER_REFUSED, { parameter: "Name", reason: "Name must not contain '/'." });
  refuseTags(tags);
  const nowMs = BigInt(app.clock.now());

  await app.store.transact(async (transaction) => {
    const reference = { account: caller.accountId, name };
    if ((await stored.findBus(transaction, reference)) !== undefined)
      throw fault(ErrorReason.EVENT_BUS_ALREADY_EXISTS, { name });
    const limit = app.limits.busesMax;
    if ((await stored.listBuses(transaction, caller.accountId, "", undefined, limit)).length >= limit)
      throw fault(ErrorReason.LIMIT_EXCEEDED);
    stored.putBus(transaction, caller.accountId, {
      name,
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
    eventBusArn: busArn(app.place, caller.accountId, name),
    description,
    kmsKeyIdentifier,
    deadLetterConfig,
    logConfig,
  };
};

/** Tells a bus's settings; without a name, those of the default bus. */
export const describeEventBus: Operation<"describeEventBus"> = async (request, context) => {
  const reference = ownBus(context, request.name);
  const bus = await context.app.store.read((reader) => stored.getBus(reader, reference));
  const { description, kmsKeyIdentifier, deadLetterConfig, policy, logConfig } = bus;
  return {
    name: bus.name,
    arn: busArn(context.app.place, reference.account, bus.name),
    description,
    kmsKeyIdentifier,
    deadLetterConfig,
    policy,
    logConfig,
    state: "ACTIVE",
    creationTime: instant(bus.createdMs),
    lastModifiedTime: instant(bus.modifiedMs),
  };
};

/** Lists the account's buses by name. */
export const listEventBuses: Operation<"listEventBuses"> = async (request, context) => {
  const { app, caller } = context;
  const page = pageOf(context, request, [request.namePrefix]);
  const found = await app.store.read((reader) =>
    stored.listBuses(reader, caller.accountId, request.namePrefix ?? "", page.after, page.lookFor),
  );
  const { items, nextToken } = cutPage(page, found, (bus) => bus.name);
  const toBus = (bus: EventBusRecord) => ({
    name: bus.name,
    arn: busArn(app.place, caller.accountId, bus.name),
    description: bus.description,
    policy: bus.policy,
    state: "ACTIVE",
    creationTime: instant(bus.createdMs),
    lastModifiedTime: instant(bus.modifiedMs),
  });
  return { eventBuses: items.map(toBus), nextToken };
};

/** Deletes a custom bus that has no rules. */
export const deleteEventBus: Operation<"deleteEventBus"> = async (request, context) => {
  const reference = ownBus(context, request.name);
  if (reference.name === defaultBusName) throw fault(ErrorReason.DEFAULT_EVENT_BUS_NOT_DELETABLE);
  await context.app.store.transact(async (transaction) => {
    if ((await stored.findBus(transaction, reference)) === undefined) return;
    if ((await countRules(transaction, reference)) > 0)
      throw fault(ErrorReason.EVENT_BUS_HAS_RULES, { name: reference.name });
    await stored.deleteBus(transaction, reference);
  });
  return {};
};

/** Changes a bus's settings; what is omitted is emptied. */
export const updateEventBus: Operation<"updateEventBus"> = async (request, context) => {
  const { app } = context;
  const reference = ownBus(context, request.name);
  const { description, kmsKeyIdentifier, deadLetterConfig, logConfig } = request;
  const settings = { description, kmsKeyIdentifier, deadLetterConfig, logConfig };
  await app.store.transact(async (transaction) => {
    const present = await stored.getBus(transaction, reference);
    stored.putBus(transaction, reference.account, { ...present, ...settings, modifiedMs: BigInt(app.clock.now()) });
  });
  return { name: reference.name, arn: busArn(app.place, reference.account, reference.name), ...settings };
};
