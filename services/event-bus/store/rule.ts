import type { MessageInitShape } from "@bufbuild/protobuf";

import type { RuleRecord, RuleRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import { findOrDamaged } from "../../kit/store/damage.ts";
import { StoreCorruptionError } from "../../kit/store/errors.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { keyBytes } from "../../kit/store/table.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import type { BusReference } from "../domain/arns.ts";
import { ErrorReason, fault } from "../faults.ts";
import { readRevision } from "./bus-revision.ts";
import { busRevisions, ruleChanges, rules, rulesByTarget, targets } from "./layout.ts";
import type { NamePage } from "./named-records.ts";
import { walkByName } from "./named-records.ts";

/**
 * Changes of a bus's rules that are stored; a compiled set that lacks more of them is compiled from all rules. They are
 * so many that this is rare: else a few hundred changes without an event between them cost as much as all rules.
 */
export const ruleChangesMax = 65_536;

/** The rule, or undefined. Throws StoreCorruptionError also if the record has not its name. */
export const findRule = async (reader: Reader, bus: BusReference, name: string): Promise<RuleRecord | undefined> => {
  const key = [bus.account, bus.name, name] as const;
  const rule = await reader.get(rules, key);
  if (rule !== undefined && rule.name !== name)
    throw new StoreCorruptionError(keyBytes(rules, key), "it has not its rule's name");
  return rule;
};

/** The rule. Throws RULE_NOT_FOUND. */
export const getRule = async (reader: Reader, bus: BusReference, name: string): Promise<RuleRecord> => {
  const rule = await findRule(reader, bus, name);
  if (rule === undefined) throw fault(ErrorReason.RULE_NOT_FOUND, { rule: name, event_bus: bus.name });
  return rule;
};

/** A rule in a listing. */
export interface ListedRule {
  readonly name: string;
  /** Undefined: its record is damaged. */
  readonly rule: RuleRecord | undefined;
}

/** Rules of a bus by name. */
export const listRules = async (reader: Reader, bus: BusReference, page: NamePage): Promise<ListedRule[]> => {
  const found: ListedRule[] = [];
  for await (const { key, value } of walkByName(reader, rules, [bus.account, bus.name], page)) {
    const name = key.at(-1) ?? "";
    found.push({ name, rule: value?.name === name ? value : undefined });
  }
  return found;
};

/** The number of rules of a bus. */
export const countRules = async (reader: Reader, bus: BusReference): Promise<number> =>
  (await readRevision(reader, bus)).ruleCount;

/** The number of targets of a rule whose record is damaged. */
export const countTargets = async (reader: Reader, bus: BusReference, rule: string): Promise<number> => {
  let count = 0;
  for await (const _target of walkTable(reader, targets, { prefix: [bus.account, bus.name, rule] })) count += 1;
  return count;
};

/** Creates or replaces a rule; events that are put later are matched with it. */
export const putRule = async (
  transaction: Transaction,
  bus: BusReference,
  rule: MessageInitShape<typeof RuleRecordSchema> & { readonly name: string },
): Promise<void> => {
  const present = await findOrDamaged(findRule(transaction, bus, rule.name));
  transaction.put(rules, [bus.account, bus.name, rule.name], rule);
  await recordChange(transaction, bus, rule.name, present === undefined ? 1 : 0);
};

/** Deletes an existing rule, which may be damaged and has no targets. */
export const deleteRule = async (transaction: Transaction, bus: BusReference, name: string): Promise<void> => {
  transaction.delete(rules, [bus.account, bus.name, name]);
  await recordChange(transaction, bus, name, -1);
};

/** A target of a rule, or undefined. Throws StoreCorruptionError also if the record has not its id. */
export const findTarget = async (
  reader: Reader,
  { account, name }: BusReference,
  rule: string,
  id: string,
): Promise<Target | undefined> => {
  const key = [account, name, rule, id] as const;
  const record = await reader.get(targets, key);
  if (record !== undefined && record.target?.id !== id)
    throw new StoreCorruptionError(keyBytes(targets, key), "it has not its target's id");
  return record?.target;
};

/** The targets of a rule that can be read, by id; the ids of the others go to `onDamaged`. */
export const listSoundTargets = async (
  reader: Reader,
  bus: BusReference,
  rule: string,
  onDamaged: (id: string) => void,
): Promise<Target[]> => {
  const sound: Target[] = [];
  for await (const { key, value } of walkTable(reader, targets, { prefix: [bus.account, bus.name, rule] }))
    if (value?.target?.id === key[3]) sound.push(value.target);
    else onDamaged(key[3]);
  return sound;
};

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
    const present = await findOrDamaged(findTarget(transaction, bus, rule.name, id));
    if (present === undefined) continue;
    transaction.delete(targets, [account, name, rule.name, id]);
    const arns = present === "damaged" ? await listArnsOf(transaction, bus, rule.name, id) : [present.arn];
    for (const arn of arns) transaction.delete(rulesByTarget, [account, name, arn, rule.name, id]);
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

/** The ARNs under which a target is found, for one whose record is damaged. */
const listArnsOf = async (
  reader: Reader,
  { account, name }: BusReference,
  rule: string,
  id: string,
): Promise<string[]> => {
  const arns: string[] = [];
  for await (const { key } of walkTable(reader, rulesByTarget, { prefix: [account, name] }))
    if (key[3] === rule && key[4] === id) arns.push(key[2]);
  return arns;
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
  const before = await readRevision(transaction, bus);
  const revision = before.revision + 1n;
  transaction.put(busRevisions, [account, name], { revision, ruleCount: before.ruleCount + countDifference });
  transaction.put(ruleChanges, [account, name, Number(revision)], { rule });
  if (revision > ruleChangesMax) transaction.delete(ruleChanges, [account, name, Number(revision) - ruleChangesMax]);
};
