/**
 * Rules. Putting refuses what watches nothing, a pattern that is not in the language, a schedule on a custom bus, a
 * schedule that cannot be read, then a bus that is not there, a rule that a service manages, and one rule too many. The
 * others refuse a bus and a rule that are not there; deleting takes a rule that is not there as deleted, and in revision B
 * also one of a bus that is not there. Whatever is answered holds for the next event.
 */
import type { RuleRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { RuleState } from "../../../gen/quartet/eventbus/v1/rule_pb.ts";
import type { Application, Operation } from "../application.ts";
import { ownBus } from "../access/guard.ts";
import type { BusReference } from "../domain/arns.ts";
import { defaultBusName, ruleArn } from "../domain/arns.ts";
import { parseGivenPattern } from "../domain/pattern.ts";
import { parseSchedule } from "../domain/schedule.ts";
import { refuseTags, sortTags } from "../domain/tags.ts";
import { ErrorReason, fault } from "../faults.ts";
import { revisionOf } from "../access/revision.ts";
import { endSchedule, followSchedule } from "../work/schedule-job.ts";
import { getBus } from "../store/bus.ts";
import * as stored from "../store/rule.ts";
import { cutPage, pageOf } from "./page.ts";

/** Creates or replaces a rule; what is omitted is emptied, but targets and tags stay. */
export const putRule: Operation<"putRule"> = async (request, context) => {
  const { app, caller } = context;
  const bus = ownBus(context, request.eventBusName);
  const { name, description, roleArn } = request;
  const eventPattern = request.eventPattern || undefined;
  const scheduleExpression = request.scheduleExpression || undefined;
  if (eventPattern === undefined && scheduleExpression === undefined) throw fault(ErrorReason.RULE_WATCHES_NOTHING);
  if (eventPattern !== undefined) parseGivenPattern(eventPattern);
  if (scheduleExpression !== undefined) refuseSchedule(scheduleExpression, bus);
  refuseTags(request.tags);

  await app.store.transact(async (transaction) => {
    await getBus(transaction, bus);
    const present = await stored.findRule(transaction, bus, name);
    if (present !== undefined) refuseManaged(present);
    else if ((await stored.countRules(transaction, bus)) >= app.limits.rulesPerBusMax)
      throw fault(ErrorReason.LIMIT_EXCEEDED);
    const rule = {
      name,
      eventPattern,
      scheduleExpression,
      state: request.state === RuleState.UNSPECIFIED ? RuleState.ENABLED : request.state,
      description,
      roleArn,
      createdBy: present?.createdBy ?? caller.accountId,
      tags: present?.tags ?? sortTags(request.tags),
      createdMs: present?.createdMs ?? BigInt(app.clock.now()),
      targetCount: present?.targetCount ?? 0,
      generation: app.ids.uuid(),
    };
    await stored.putRule(transaction, bus, rule);
    await followSchedule(app, transaction, bus, rule);
  });

  return { ruleArn: ruleArn(app.place, bus.account, bus.name, name) };
};

/** Tells a rule's settings. */
export const describeRule: Operation<"describeRule"> = async (request, context) => {
  const bus = ownBus(context, request.eventBusName);
  const rule = await context.app.store.read(async (reader) => {
    await getBus(reader, bus);
    return stored.getRule(reader, bus, request.name);
  });
  return { ...toRule(context.app, bus, rule), createdBy: rule.createdBy };
};

/** Lists a bus's rules by name. */
export const listRules: Operation<"listRules"> = async (request, context) => {
  const bus = ownBus(context, request.eventBusName);
  const page = pageOf(context, request, [bus.name, request.namePrefix]);
  const found = await context.app.store.read(async (reader) => {
    await getBus(reader, bus);
    return stored.listRules(reader, bus, request.namePrefix ?? "", page.after, page.lookFor);
  });
  const { items, nextToken } = cutPage(page, found, (rule) => rule.name);
  return { rules: items.map((rule) => toRule(context.app, bus, rule)), nextToken };
};

/** Deletes a rule that has no targets. */
export const deleteRule: Operation<"deleteRule"> = async (request, context) => {
  const bus = ownBus(context, request.eventBusName);
  const { refusesDeletionWithoutBus } = revisionOf(context);
  await context.app.store.transact(async (transaction) => {
    if (refusesDeletionWithoutBus) await getBus(transaction, bus);
    const rule = await stored.findRule(transaction, bus, request.name);
    if (rule === undefined) return;
    if (request.force !== true) refuseManaged(rule);
    if (rule.targetCount > 0) throw fault(ErrorReason.RULE_HAS_TARGETS);
    await stored.deleteRule(transaction, bus, request.name);
    await endSchedule(context.app, transaction, bus, request.name);
  });
  return {};
};

/** Lets a rule act again. */
export const enableRule: Operation<"enableRule"> = async (request, context) => {
  await setState(context.app, ownBus(context, request.eventBusName), request.name, RuleState.ENABLED);
  return {};
};

/** Stops a rule. */
export const disableRule: Operation<"disableRule"> = async (request, context) => {
  await setState(context.app, ownBus(context, request.eventBusName), request.name, RuleState.DISABLED);
  return {};
};

const setState = (app: Application, bus: BusReference, name: string, state: RuleState): Promise<void> =>
  app.store.transact(async (transaction) => {
    await getBus(transaction, bus);
    const present = await stored.getRule(transaction, bus, name);
    refuseManaged(present);
    const rule = { ...present, state, generation: app.ids.uuid() };
    await stored.putRule(transaction, bus, rule);
    await followSchedule(app, transaction, bus, rule);
  });

const refuseSchedule = (expression: string, bus: BusReference): void => {
  if (bus.name !== defaultBusName) throw fault(ErrorReason.SCHEDULE_ON_CUSTOM_EVENT_BUS);
  if (parseSchedule(expression) === undefined)
    throw fault(ErrorReason.PARAMETER_NOT_VALID, { parameter: "ScheduleExpression" });
};

/** Only the service that manages a rule changes it. */
const refuseManaged = (rule: RuleRecord): void => {
  if (rule.managedBy !== undefined)
    throw fault(ErrorReason.RULE_MANAGED, { rule: rule.name, managed_by: rule.managedBy });
};

const toRule = (app: Application, bus: BusReference, rule: RuleRecord) => ({
  name: rule.name,
  arn: ruleArn(app.place, bus.account, bus.name, rule.name),
  eventPattern: rule.eventPattern,
  state: rule.state,
  description: rule.description,
  scheduleExpression: rule.scheduleExpression,
  roleArn: rule.roleArn,
  managedBy: rule.managedBy,
  eventBusName: bus.name,
});
