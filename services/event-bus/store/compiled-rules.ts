import { getHeapStatistics } from "node:v8";

import { LRUCache } from "lru-cache";

import type { RuleRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { RuleState } from "../../../gen/quartet/eventbus/v1/rule_pb.ts";
import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import type { Reader } from "../../kit/store/store.ts";
import type { BusReference } from "../domain/arns.ts";
import type { PatternEntry } from "../pattern/matcher.ts";
import { Matcher } from "../pattern/matcher.ts";
import { parsePattern } from "../pattern/parse.ts";
import { busRevisions, ruleChanges, rules, targets } from "./layout.ts";
import { ruleChangesMax, listTargets } from "./rule.ts";

/** An enabled rule with a pattern, and its targets. */
export interface WatchingRule {
  readonly name: string;
  readonly roleArn: string | undefined;
  /** The id of the archive that keeps the matched events; undefined: the rule invokes its targets. */
  readonly archiveId: string | undefined;
  readonly targets: readonly Target[];
}

/** Matches an event with the rules of a bus. */
export type BusMatcher = Matcher<WatchingRule>;

/** The compiled rules of a bus at one revision. */
interface Compiled {
  readonly revision: bigint;
  readonly matcher: BusMatcher;
}

/** About the bytes of memory of one compiled rule, and of a set without rules: 100,000 rules had 316 MB. */
const ruleBytes = 3_200;
const setBytes = 1_000;

/** Part of the heap that compiled sets may have. */
const heapShare = 0.25;

/**
 * The compiled rules of each bus. Each use reads the bus's revision in the caller's transaction: the next event is
 * matched with every answered change, and a concurrent change makes the transaction run again. A set that lacks a few
 * changes reads only the changed rules.
 */
export class CompiledRules {
  readonly #compiled: LRUCache<string, Compiled>;

  /** The least recently used sets are dropped above `bytesMax`. Unset: a quarter of the heap. */
  constructor(bytesMax = Math.floor(getHeapStatistics().heap_size_limit * heapShare)) {
    this.#compiled = new LRUCache({
      maxSize: bytesMax,
      // A set that is larger than the bound is kept alone.
      sizeCalculation: ({ matcher }) => Math.min(bytesMax, setBytes + matcher.size * ruleBytes),
    });
  }

  /** The compiled rules of a bus in the state that the reader shows. */
  async of(reader: Reader, bus: BusReference): Promise<BusMatcher> {
    const revision = (await reader.get(busRevisions, [bus.account, bus.name]))?.revision ?? 0n;
    const key = `${bus.account}/${bus.name}`;
    const present = this.#compiled.get(key);
    if (present !== undefined && present.revision >= revision && revision > 0n) return present.matcher;
    const matcher = await compile(reader, bus, present, revision);
    this.#compiled.set(key, { revision, matcher });
    return matcher;
  }
}

const compile = async (
  reader: Reader,
  bus: BusReference,
  present: Compiled | undefined,
  revision: bigint,
): Promise<BusMatcher> => {
  if (revision === 0n) return new Matcher();
  const changed = present === undefined ? undefined : await changedRules(reader, bus, present.revision, revision);
  if (present === undefined || changed === undefined) return readAll(reader, bus);
  const entries: PatternEntry<WatchingRule>[] = [];
  for (const name of changed) {
    const rule = await reader.get(rules, [bus.account, bus.name, name]);
    const entry = rule && entryOf(rule, await listTargets(reader, bus, name, undefined, rule.targetCount));
    if (entry !== undefined) entries.push(entry);
  }
  return present.matcher.with(entries, changed);
};

/** The names of the rules that changed between two revisions; undefined if not all these changes are stored. */
const changedRules = async (
  reader: Reader,
  bus: BusReference,
  from: bigint,
  to: bigint,
): Promise<string[] | undefined> => {
  if (to - from >= ruleChangesMax) return undefined;
  const changes = await reader.list(ruleChanges, {
    prefix: [bus.account, bus.name],
    after: [bus.account, bus.name, Number(from)],
    limit: ruleChangesMax,
  });
  if (BigInt(changes.length) < to - from) return undefined;
  return [...new Set(changes.map(({ value }) => value.rule))];
};

const readAll = async (reader: Reader, bus: BusReference): Promise<BusMatcher> => {
  const byRule = new Map<string, Target[]>();
  for await (const { key, value } of reader.range(targets, { prefix: [bus.account, bus.name] })) {
    if (value.target === undefined) continue;
    const present = byRule.get(key[2]);
    if (present === undefined) byRule.set(key[2], [value.target]);
    else present.push(value.target);
  }
  const entries: PatternEntry<WatchingRule>[] = [];
  for await (const { value } of reader.range(rules, { prefix: [bus.account, bus.name] })) {
    const entry = entryOf(value, byRule.get(value.name) ?? []);
    if (entry !== undefined) entries.push(entry);
  }
  return new Matcher<WatchingRule>().with(entries);
};

const entryOf = (rule: RuleRecord, ruleTargets: readonly Target[]): PatternEntry<WatchingRule> | undefined => {
  if (rule.state === RuleState.DISABLED || rule.eventPattern === undefined) return undefined;
  const { name, roleArn, archiveId } = rule;
  return { name, pattern: parsePattern(rule.eventPattern), item: { name, roleArn, archiveId, targets: ruleTargets } };
};
