/**
 * Targets of a rule. A call takes effect as a whole or not at all.
 *
 * PutTargets checks, in order:
 * 1. each target in turn, and that no earlier one has its id;
 * 2. the bus exists;
 * 3. the rule exists;
 * 4. no service manages the rule;
 * 5. in revision A, the rule would not have more targets than the limit.
 *
 * RemoveTargets checks the same from 2 to 4, and the management only unless forced. An id that does not exist counts as
 * removed. ListTargetsByRule fails if the bus or the rule does not exist, ListRuleNamesByTarget if the bus does not.
 */
import type { Operation } from "../application.ts";
import { refuseTargets } from "../domain/target.ts";
import { ErrorReason, fault } from "../faults.ts";
import { getBus } from "../store/bus.ts";
import * as stored from "../store/rule.ts";

/** Adds targets or replaces those of the same id. */
export const putTargets: Operation<"putTargets"> = async (request, { app, access }) => {
  const { bus, revision } = access;
  const refusal = refuseTargets(request.targets);
  if (refusal !== undefined) throw refusal;
  await app.store.transact(async (transaction) => {
    await getBus(transaction, bus);
    const rule = await stored.getRule(transaction, bus, request.rule);
    if (rule.managedBy !== undefined)
      throw fault(ErrorReason.RULE_MANAGED, { rule: rule.name, managed_by: rule.managedBy });
    const change = { put: request.targets, removedIds: [] };
    const targetCountMax = revision.limitsTargets ? app.limits.targetsPerRuleMax : Infinity;
    await stored.changeTargets(transaction, bus, rule, change, targetCountMax);
  });
  return { failedEntryCount: 0, failedEntries: [] };
};

/** Lists a rule's targets by id. */
export const listTargetsByRule: Operation<"listTargetsByRule"> = async (request, context) => {
  const { app, access } = context;
  const { bus } = access;
  const page = app.pages.open(context, request, [bus.name, request.rule]);
  const found = await app.store.read(async (reader) => {
    await getBus(reader, bus);
    await stored.getRule(reader, bus, request.rule);
    return stored.listTargets(reader, bus, request.rule, page.after, page.lookFor);
  });
  const { items, nextToken } = page.cut(found, (target) => target.id);
  return { targets: items, nextToken };
};

/** Lists the names of the rules of a bus that have a target. */
export const listRuleNamesByTarget: Operation<"listRuleNamesByTarget"> = async (request, context) => {
  const { app, access } = context;
  const { bus } = access;
  const page = app.pages.open(context, request, [bus.name, request.targetArn]);
  const found = await app.store.read(async (reader) => {
    await getBus(reader, bus);
    return stored.listRuleNamesByTarget(reader, bus, request.targetArn, page.after, page.lookFor);
  });
  const { items, nextToken } = page.cut(found, (name) => name);
  return { ruleNames: items, nextToken };
};

/** Removes targets; those of a managed rule only with force. */
export const removeTargets: Operation<"removeTargets"> = async (request, { app, access }) => {
  const { bus } = access;
  await app.store.transact(async (transaction) => {
    await getBus(transaction, bus);
    const rule = await stored.getRule(transaction, bus, request.rule);
    if (rule.managedBy !== undefined && request.force !== true)
      throw fault(ErrorReason.RULE_MANAGED, { rule: rule.name, managed_by: rule.managedBy });
    await stored.changeTargets(transaction, bus, rule, { put: [], removedIds: request.ids });
  });
  return { failedEntryCount: 0, failedEntries: [] };
};
