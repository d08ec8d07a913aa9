/**
 * Rules. An answered change applies to the next event.
 *
 * PutRule checks, in order:
 * 1. a pattern or a schedule is given;
 * 2. the pattern is valid;
 * 3. the schedule is on the default bus and valid;
 * 4. no two tags have the same key;
 * 5. the bus exists;
 * 6. no service manages the rule;
 * 7. the bus has fewer rules than the limit, if the rule is new.
 *
 * DeleteRule checks, in order:
 * 1. the bus exists; in revision B, a rule of a bus that does not exist counts as deleted;
 * 2. no service manages the rule, unless forced; a rule that does not exist counts as deleted;
 * 3. the rule has no targets.
 *
 * DescribeRule, EnableRule and DisableRule fail if the bus or the rule does not exist, the latter two also if a service
 * manages the rule. ListRules fails if the bus does not exist.
 *
 * A rule whose stored record is damaged matches no event and runs no schedule. ListRules has its name; PutRule replaces
 * it, which keeps its targets and not its tags, and DeleteRule deletes it. Every other call of it fails.
 */
import type { RuleRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { RuleState } from "../../../gen/quartet/eventbus/v1/rule_pb.ts";
import type { Application, Operation } from "../application.ts";
import { archiveManager, archiveNameOfRule, isArchiveRuleName } from "../domain/archive.ts";
import type { BusReference } from "../domain/arns.ts";
import { defaultBusName, ruleArn } from "../domain/arns.ts";
import { parseRequestPattern } from "../domain/pattern.ts";
import { parseSchedule } from "../../kit/schedule/schedule.ts";
import { findOrDamaged } from "../../kit/store/damage.ts";
import type { Reader } from "../../kit/store/store.ts";
import { refuseTags, sortTags } from "../domain/tags.ts";
import { ErrorReason, fault } from "../faults.ts";
import { findArchive } from "../store/archive.ts";
import { getBus } from "../store/bus.ts";
import * as stored from "../store/rule.ts";
import { cancelSchedule, rescheduleRule } from "../work/schedule-job.ts";

/** What a listing shows of a rule that cannot be read. */
const damagedDescription = "The stored record of this rule is damaged. Put the rule again, or delete it.";

/** Creates or replaces a rule. Omitted settings become empty, but the targets and tags of a replaced rule stay. */
export const putRule: Operation<"putRule"> = async (request, { app, access, caller }) => {
  const { bus } = access;
  const { name, description, roleArn } = request;
  const eventPattern = request.eventPattern || undefined;
  const scheduleExpression = request.scheduleExpression || undefined;
  if (eventPattern === undefined && scheduleExpression === undefined) throw fault(ErrorReason.RULE_WATCHES_NOTHING);
  if (eventPattern !== undefined) parseRequestPattern(eventPattern);
  if (scheduleExpression !== undefined) refuseSchedule(scheduleExpression, bus);
  refuseTags(request.tags);

  await app.store.transact(async (transaction) => {
    await getBus(transaction, bus);
    const found = await findOrDamaged(stored.findRule(transaction, bus, name));
    const present = found === "damaged" ? undefined : found;
    const lostTargets = found === "damaged" ? await stored.countTargets(transaction, bus, name) : 0;
    if (found === "damaged") await refuseArchiving(transaction, bus, name);
    else if (present !== undefined) refuseManaged(present);
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
      targetCount: present?.targetCount ?? lostTargets,
      generation: app.ids.uuid(),
    };
    await stored.putRule(transaction, bus, rule);
    await rescheduleRule(app, transaction, bus, rule);
  });

  return { ruleArn: ruleArn(app.arnScope, bus, name) };
};

/** Returns the settings of a rule. */
export const describeRule: Operation<"describeRule"> = async (request, { app, access }) => {
  const { bus } = access;
  const rule = await app.store.read(async (reader) => {
    await getBus(reader, bus);
    return stored.getRule(reader, bus, request.name);
  });
  return { ...toRule(app, bus, rule), createdBy: rule.createdBy };
};

/** Lists a bus's rules by name. */
export const listRules: Operation<"listRules"> = async (request, context) => {
  const { app, access } = context;
  const { bus } = access;
  const { namePrefix = "" } = request;
  const page = app.pages.open(context, request, [bus.name, namePrefix]);
  const found = await app.store.read(async (reader) => {
    await getBus(reader, bus);
    return stored.listRules(reader, bus, { namePrefix, after: page.after, limit: page.lookFor });
  });
  const { items, nextToken } = page.cut(found, (rule) => rule.name);
  return { rules: items.map((listed) => toListedRule(app, bus, listed)), nextToken };
};

/** Deletes a rule that has no targets. */
export const deleteRule: Operation<"deleteRule"> = async (request, { app, access }) => {
  const { bus, revision } = access;
  await app.store.transact(async (transaction) => {
    if (revision.refusesDeletionWithoutBus) await getBus(transaction, bus);
    const rule = await findOrDamaged(stored.findRule(transaction, bus, request.name));
    if (rule === undefined) return;
    if (request.force !== true)
      if (rule === "damaged") await refuseArchiving(transaction, bus, request.name);
      else refuseManaged(rule);
    const targets = rule === "damaged" ? await stored.countTargets(transaction, bus, request.name) : rule.targetCount;
    if (targets > 0) throw fault(ErrorReason.RULE_HAS_TARGETS);
    await stored.deleteRule(transaction, bus, request.name);
    await cancelSchedule(app, transaction, bus, request.name);
  });
  return {};
};

/** Enables a rule. */
export const enableRule: Operation<"enableRule"> = async (request, { app, access }) => {
  await setState(app, access.bus, request.name, RuleState.ENABLED);
  return {};
};

/** Disables a rule: it matches no events and runs no schedule. */
export const disableRule: Operation<"disableRule"> = async (request, { app, access }) => {
  await setState(app, access.bus, request.name, RuleState.DISABLED);
  return {};
};

const setState = (app: Application, bus: BusReference, name: string, state: RuleState): Promise<void> =>
  app.store.transact(async (transaction) => {
    await getBus(transaction, bus);
    const present = await stored.getRule(transaction, bus, name);
    refuseManaged(present);
    const rule = { ...present, state, generation: app.ids.uuid() };
    await stored.putRule(transaction, bus, rule);
    await rescheduleRule(app, transaction, bus, rule);
  });

const refuseSchedule = (expression: string, bus: BusReference): void => {
  if (bus.name !== defaultBusName) throw fault(ErrorReason.SCHEDULE_ON_CUSTOM_EVENT_BUS);
  if (parseSchedule(expression) === undefined)
    throw fault(ErrorReason.PARAMETER_NOT_VALID, { parameter: "ScheduleExpression" });
};

/** Throws RULE_MANAGED for a rule that a service manages: only that service may change it. */
const refuseManaged = (rule: RuleRecord): void => {
  if (rule.managedBy !== undefined)
    throw fault(ErrorReason.RULE_MANAGED, { rule: rule.name, managed_by: rule.managedBy });
};

/** The same for a rule that is damaged: only those of archives are managed. */
const refuseArchiving = async (reader: Reader, bus: BusReference, name: string): Promise<void> => {
  if (!isArchiveRuleName(name)) return;
  const archive = await findOrDamaged(findArchive(reader, bus.account, archiveNameOfRule(name)));
  if (archive !== undefined) throw fault(ErrorReason.RULE_MANAGED, { rule: name, managed_by: archiveManager });
};

const toListedRule = (app: Application, bus: BusReference, { name, rule }: stored.ListedRule) =>
  rule === undefined
    ? { name, arn: ruleArn(app.arnScope, bus, name), eventBusName: bus.name, description: damagedDescription }
    : toRule(app, bus, rule);

const toRule = (app: Application, bus: BusReference, rule: RuleRecord) => ({
  name: rule.name,
  arn: ruleArn(app.arnScope, bus, rule.name),
  eventPattern: rule.eventPattern,
  state: rule.state,
  description: rule.description,
  scheduleExpression: rule.scheduleExpression,
  roleArn: rule.roleArn,
  managedBy: rule.managedBy,
  eventBusName: bus.name,
});
