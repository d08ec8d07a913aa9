/**
 * Partner event sources as the account sees with which a partner shares them. CreateEventBus with the name of a source
 * makes the bus that receives it.
 *
 * ActivateEventSource and DeactivateEventSource check, in order:
 * 1. the source is shared with the account;
 * 2. the partner has not deleted it, and its time as a pending source is not over;
 * 3. to activate it: the account has its bus.
 *
 * DescribeEventSource fails if the source is not shared with the account.
 */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { EventSourceRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { EventSourceState } from "../../../gen/quartet/eventbus/v1/event_source_pb.ts";
import type { Application, Operation } from "../application.ts";
import { eventSourceArn } from "../domain/arns.ts";
import { expirationMs, partnerOf, stateOf } from "../domain/event-source.ts";
import { instant } from "../domain/instant.ts";
import { ErrorReason, fault } from "../faults.ts";
import { findBus } from "../store/bus.ts";
import * as stored from "../store/event-source.ts";

/** Lets the bus of a source receive its events again. Repeating it changes nothing. */
export const activateEventSource: Operation<"activateEventSource"> = async ({ name }, { app, caller }) => {
  const account = caller.accountId;
  await app.store.transact(async (transaction) => {
    const source = await stored.getEventSource(transaction, account, name);
    refuseDeleted(source, app.clock.now());
    if ((await findBus(transaction, { account, name })) === undefined)
      throw fault(ErrorReason.EVENT_SOURCE_STATE, { name, reason: "it has no event bus" });
    stored.putEventSource(transaction, { ...source, pendingSinceMs: 0n });
  });
  return {};
};

/** Stops the events of a source; its bus stays. Repeating it does not prolong the time for which it may be pending. */
export const deactivateEventSource: Operation<"deactivateEventSource"> = async ({ name }, { app, caller }) => {
  await app.store.transact(async (transaction) => {
    const source = await stored.getEventSource(transaction, caller.accountId, name);
    refuseDeleted(source, app.clock.now());
    if (source.pendingSinceMs > 0n) return;
    stored.putEventSource(transaction, { ...source, pendingSinceMs: BigInt(app.clock.now()) });
  });
  return {};
};

/** Returns the state of a source that is shared with the account. */
export const describeEventSource: Operation<"describeEventSource"> = async ({ name }, { app, caller }) => {
  const source = await app.store.read((reader) => stored.getEventSource(reader, caller.accountId, name));
  return toEventSource(app, source);
};

/** Lists the sources that are shared with the account by name. */
export const listEventSources: Operation<"listEventSources"> = async (request, context) => {
  const { app, caller } = context;
  const { namePrefix = "" } = request;
  const page = app.pages.open(context, request, [namePrefix]);
  const names = { namePrefix, after: page.after, limit: page.lookFor };
  const found = await app.store.read((reader) => stored.listEventSources(reader, caller.accountId, names));
  const { items, nextToken } = page.cut(found, (source) => source.name);
  return { eventSources: items.map((source) => toEventSource(app, source)), nextToken };
};

const refuseDeleted = (source: EventSourceRecord, nowMs: number): void => {
  if (stateOf(source, nowMs) === EventSourceState.DELETED)
    throw fault(ErrorReason.EVENT_SOURCE_STATE, { name: source.name, reason: "its partner has deleted it" });
};

const toEventSource = ({ arnScope, clock }: Pick<Application, "arnScope" | "clock">, source: EventSourceRecord) => {
  const endMs = expirationMs(source);
  return {
    arn: eventSourceArn(arnScope, source.name),
    createdBy: partnerOf(source.name),
    creationTime: instant(source.createdMs),
    ...(endMs !== undefined && { expirationTime: timestampFromMs(endMs) }),
    name: source.name,
    state: stateOf(source, clock.now()),
  };
};
