/**
 * Targets of a rule. A call takes effect as a whole or not at all; if concurrent changes keep it from that, it is
 * answered with a failed entry for each target.
 *
 * PutTargets checks, in order:
 * 1. each target in turn, and that no earlier one has its id;
 * 2. the bus exists;
 * 3. the rule exists;
 * 4. no service manages the rule;
 * 5. each target whose kind is reached in the name of a role has one, or its rule has;
 * 6. in revision A, the rule would not have more targets than the limit.
 *
 * RemoveTargets checks the same from 2 to 4, and the management only unless forced. An id that does not exist counts as
 * removed. ListTargetsByRule fails if the bus or the rule does not exist, ListRuleNamesByTarget if the bus does not.
 */
import { StoreContentionError } from "../../kit/store/errors.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { Application, Operation } from "../application.ts";
import { needsRole, refuseTargets } from "../domain/target.ts";
import { ErrorReason, fault } from "../faults.ts";
import { getBus } from "../store/bus.ts";
import * as stored from "../store/rule.ts";

/** Adds targets or replaces those of the same id. */
export const putTargets: Operation<"putTargets"> = async (request, { app, access }) => {
  const { bus, revision } = access;
  const refusal = refuseTargets(bus.account, request.targets);
  if (refusal !== undefined) throw refusal;
  const ids = request.targets.map(({ id }) => id);
  return changeOrFail(ids, app, async (transaction) => {
    await getBus(transaction, bus);
    const rule = await stored.getRule(transaction, bus, request.rule);
    if (rule.managedBy !== undefined)
      throw fault(ErrorReason.RULE_MANAGED, { rule: rule.name, managed_by: rule.managedBy });
    const roleless = request.targets.find(
      (target) => needsRole(target) && (target.roleArn ?? rule.roleArn) === undefined,
    );
    if (roleless !== undefined)
      throw fault(ErrorReason.PARAMETER_REFUSED, {
        parameter: "RoleArn",
        reason: `RoleArn is required for target ${roleless.id}.`,
      });
    const change = { put: request.targets, removedIds: [] };
    const targetCountMax = revision.limitsTargets ? app.limits.targetsPerRuleMax : Infinity;
    await stored.changeTargets(transaction, bus, rule, change, targetCountMax);
  });
};

/** Changes targets in one transaction. If others win too often, each target is answered as failed. */
const changeOrFail = async (
  ids: readonly string[],
  { store }: Pick<Application, "store">,
  change: (transaction: Transaction) => Promise<void>,
) => {
  try {
    await store.transact(change);
    return { failedEntryCount: 0, failedEntries: [] };
  } catch (error) {
    if (!(error instanceof StoreContentionError)) throw error;
    const errorMessage = "There is concurrent modification on the rule. Try again.";
    const failedEntries = ids.map((targetId) => ({
      targetId,
      errorCode: "ConcurrentModificationException",
      errorMessage,
    }));
    return { failedEntryCount: failedEntries.length, failedEntries };
  }
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
  return changeOrFail(request.ids, app, async (transaction) => {
    await getBus(transaction, bus);
    const rule = await stored.getRule(transaction, bus, request.rule);
    if (rule.managedBy !== undefined && request.force !== true)
      throw fault(ErrorReason.RULE_MANAGED, { rule: rule.name, managed_by: rule.managedBy });
    await stored.changeTargets(transaction, bus, rule, { put: [], removedIds: request.ids });
  });
};
