import type { MessageInitShape } from "@bufbuild/protobuf";

import type { RuleRecord, RuleRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import type { BusReference } from "../domain/arns.ts";
import { ErrorReason, fault } from "../faults.ts";
import { busRevisions, ruleChanges, rules, rulesByTarget, targets } from "./layout.ts";
import type { NamePage } from "./named-records.ts";
import { listByName } from "./named-records.ts";

/**
 * Changes of a bus's rules that are stored; a compiled set that lacks more of them is compiled from all rules. They are
 * so many that this is rare: else a few hundred changes without an event between them cost as much as all rules.
 */
export const ruleChangesMax = 65_536;

/** The rule, or undefined. */
export const findRule = (reader: Reader, bus: BusReference, name: string): Promise<RuleRecord | undefined> =>
  reader.get(rules, [bus.account, bus.name, name]);

/** The rule. Throws RULE_NOT_FOUND. */
export const getRule = async (reader: Reader, bus: BusReference, name: string): Promise<RuleRecord> => {
  const rule = await findRule(reader, bus, name);
  if (rule === undefined) throw fault(ErrorReason.RULE_NOT_FOUND, { rule: name, event_bus: bus.name });
  return rule;
};

/** Rules of a bus by name. */
export const listRules = (reader: Reader, bus: BusReference, page: NamePage): Promise<RuleRecord[]> =>
  listByName(reader, rules, [bus.account, bus.name], page);

/** The number of rules of a bus. */
export const countRules = async (reader: Reader, bus: BusReference): Promise<number> =>
  (await reader.get(busRevisions, [bus.account, bus.name]))?.ruleCount ?? 0;

/** Creates or replaces a rule; events that are put later are matched with it. */
export const putRule = async (
  transaction: Transaction,
  bus: BusReference,
  rule: MessageInitShape<typeof RuleRecordSchema> & { readonly name: string },
): Promise<void> => {
  const isNew = (await findRule(transaction, bus, rule.name)) === undefined;
  transaction.put(rules, [bus.account, bus.name, rule.name], rule);
  await recordChange(transaction, bus, rule.name, isNew ? 1 : 0);
};

/** Deletes an existing rule that has no targets. */
export const deleteRule = async (transaction: Transaction, bus: BusReference, name: string): Promise<void> => {
  transaction.delete(rules, [bus.account, bus.name, name]);
  await recordChange(transaction, bus, name, -1);
};

/** A target of a rule, or undefined. */
export const findTarget = async (
  reader: Reader,
  { account, name }: BusReference,
  rule: string,
  id: string,
): Promise<Target | undefined> => (await reader.get(targets, [account, name, rule, id]))?.target;

/** At most `limit` targets of a rule, by id. */
export const listTargets = async (
  reader: Reader,
  bus: BusReference,
  rule: string,
  after: string | undefined,
  limit: number,
): Promise<Target[]> => {
  const entries = await reader.list(targets, {
    prefix: [bus.account, bus.name, rule],
    ...(after === undefined ? {} : { after: [bus.account, bus.name, rule, after] as const }),
    limit,
  });
  return entries.flatMap((entry) => entry.value.target ?? []);
};

/** A change of the targets of a rule. */
interface TargetChange {
  readonly put: readonly Target[];
  readonly removedIds: readonly string[];
}

/** Puts and removes targets of an existing rule. Throws LIMIT_EXCEEDED if it would have more than `targetCountMax`. */
export const changeTargets = async (
  transaction: Transaction,
  bus: BusReference,
  rule: RuleRecord,
  change: TargetChange,
  targetCountMax = Infinity,
): Promise<void> => {
  const { account, name } = bus;
  let count = rule.targetCount;
  for (const id of new Set([...change.removedIds, ...change.put.map((target) => target.id)])) {
    const present = (await transaction.get(targets, [account, name, rule.name, id]))?.target;
    if (present === undefined) continue;
    transaction.delete(targets, [account, name, rule.name, id]);
    transaction.delete(rulesByTarget, [account, name, present.arn, rule.name, id]);
    count -= 1;
  }
  for (const target of change.put) {
    transaction.put(targets, [account, name, rule.name, target.id], { target });
    transaction.put(rulesByTarget, [account, name, target.arn, rule.name, target.id], {});
    count += 1;
  }
  if (change.put.length > 0 && count > targetCountMax) throw fault(ErrorReason.LIMIT_EXCEEDED);
  transaction.put(rules, [account, name, rule.name], { ...rule, targetCount: count });
  await recordChange(transaction, bus, rule.name, 0);
};

/** At most `limit` names of rules that have a target, in order. */
export const listRuleNamesByTarget = async (
  reader: Reader,
  bus: BusReference,
  targetArn: string,
  after: string | undefined,
  limit: number,
): Promise<string[]> => {
  const names: string[] = [];
  const range = reader.range(rulesByTarget, {
    prefix: [bus.account, bus.name, targetArn],
    ...(after === undefined ? {} : { after: [bus.account, bus.name, targetArn, after] as const }),
  });
  for await (const { key } of range) {
    if (names.at(-1) === key[3]) continue;
    if (names.length === limit) break;
    names.push(key[3]);
  }
  return names;
};

/** Records that a rule changed, so that compiled sets are updated. */
const recordChange = async (
  transaction: Transaction,
  bus: BusReference,
  rule: string,
  countDifference: number,
): Promise<void> => {
  const { account, name } = bus;
  const before = await transaction.get(busRevisions, [account, name]);
  const revision = (before?.revision ?? 0n) + 1n;
  transaction.put(busRevisions, [account, name], { revision, ruleCount: (before?.ruleCount ?? 0) + countDifference });
  transaction.put(ruleChanges, [account, name, Number(revision)], { rule });
  if (revision > ruleChangesMax) transaction.delete(ruleChanges, [account, name, Number(revision) - ruleChangesMax]);
};
