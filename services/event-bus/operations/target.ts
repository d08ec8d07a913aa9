/**
 * Targets of a rule. Putting refuses ids given twice, then each target in turn for what it is alone, then a bus and a
 * rule that are not there, a rule that a service manages, and (in revision A) more targets than a rule may have; so a call
 * takes effect whole or not at all. Removing an id that is not there changes nothing.
 */
import type { Operation } from "../application.ts";
import { ownBus } from "../access/guard.ts";
import { refuseTargets } from "../domain/target.ts";
import { ErrorReason, fault } from "../faults.ts";
import { revisionOf } from "../access/revision.ts";
import { getBus } from "../store/bus.ts";
import * as stored from "../store/rule.ts";
import { cutPage, pageOf } from "./page.ts";

/** Adds targets or replaces those of the same id. */
export const putTargets: Operation<"putTargets"> = async (request, context) => {
  const { app } = context;
  const bus = ownBus(context, request.eventBusName);
  const { limitsTargets } = revisionOf(context);
  const refusal = refuseTargets(request.targets);
  if (refusal !== undefined) throw refusal;
  await app.store.transact(async (transaction) => {
    await getBus(transaction, bus);
    const rule = await stored.getRule(transaction, bus, request.rule);
    if (rule.managedBy !== undefined)
      throw fault(ErrorReason.RULE_MANAGED, { rule: rule.name, managed_by: rule.managedBy });
    const change = { put: request.targets, removedIds: [] };
    const targetCountMax = limitsTargets ? app.limits.targetsPerRuleMax : Infinity;
    await stored.changeTargets(transaction, bus, rule, change, targetCountMax);
  });
  return { failedEntryCount: 0, failedEntries: [] };
};

/** Lists a rule's targets by id. */
export const listTargetsByRule: Operation<"listTargetsByRule"> = async (request, context) => {
  const bus = ownBus(context, request.eventBusName);
  const page = pageOf(context, request, [bus.name, request.rule]);
  const found = await context.app.store.read(async (reader) => {
    await getBus(reader, bus);
    await stored.getRule(reader, bus, request.rule);
    return stored.listTargets(reader, bus, request.rule, page.after, page.lookFor);
  });
  const { items, nextToken } = cutPage(page, found, (target) => target.id);
  return { targets: items, nextToken };
};

/** Lists the rules of a bus that can invoke a target. */
export const listRuleNamesByTarget: Operation<"listRuleNamesByTarget"> = async (request, context) => {
  const bus = ownBus(context, request.eventBusName);
  const page = pageOf(context, request, [bus.name, request.targetArn]);
  const found = await context.app.store.read(async (reader) => {
    await getBus(reader, bus);
    return stored.listRuleNamesByTarget(reader, bus, request.targetArn, page.after, page.lookFor);
  });
  const { items, nextToken } = cutPage(page, found, (name) => name);
  return { ruleNames: items, nextToken };
};

/** Removes targets; those of a managed rule only with force. */
export const removeTargets: Operation<"removeTargets"> = async (request, context) => {
  const { app } = context;
  const bus = ownBus(context, request.eventBusName);
  await app.store.transact(async (transaction) => {
    await getBus(transaction, bus);
    const rule = await stored.getRule(transaction, bus, request.rule);
    if (rule.managedBy !== undefined && request.force !== true)
      throw fault(ErrorReason.RULE_MANAGED, { rule: rule.name, managed_by: rule.managedBy });
    await stored.changeTargets(transaction, bus, rule, { put: [], removedIds: request.ids });
  });
  return { failedEntryCount: 0, failedEntries: [] };
};
