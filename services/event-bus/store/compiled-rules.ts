import { getHeapStatistics } from "node:v8";

import { LRUCache } from "lru-cache";

import type { RuleRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { RuleState } from "../../../gen/quartet/eventbus/v1/rule_pb.ts";
import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import { Turn } from "../../kit/clock/turn.ts";
import type { Reader, Store } from "../../kit/store/store.ts";
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
  /** The data key under which that archive keeps events; undefined: it names no key. */
  readonly archiveKeyId: string | undefined;
  readonly targets: readonly Target[];
}

/** Matches an event with the rules of a bus. */
export type BusMatcher = Matcher<WatchingRule>;

/** The compiled rules of a bus at one revision. */
interface Compiled {
  readonly revision: bigint;
  readonly matcher: BusMatcher;
}

/** About the bytes of memory of one compiled rule, and of a set without rules: 100,000 rules had 197 MB. */
const ruleBytes = 2_000;
const setBytes = 1_000;

/** Part of the heap that compiled sets may have. */
const heapShare = 0.25;

/**
 * The compiled rules of each bus. Each use reads the bus's revision in the caller's transaction: the next event is
 * matched with every answered change, and a concurrent change makes the transaction run again. A set that lacks a few
 * changes reads only the changed rules. All is compiled in turns of some milliseconds, between which all else runs;
 * large parts of a set are joined beside its use.
 */
export class CompiledRules {
  readonly #store: Pick<Store, "read">;
  readonly #compiled: LRUCache<string, Compiled>;
  readonly #bytesMax: number;
  readonly #joining = new Set<string>();
  readonly #turns = new Map<string, Promise<unknown>>();
  #isClosed = false;

  /** The least recently used sets are dropped above `bytesMax`. Unset: a quarter of the heap. */
  constructor(store: Pick<Store, "read">, bytesMax = Math.floor(getHeapStatistics().heap_size_limit * heapShare)) {
    this.#store = store;
    this.#bytesMax = bytesMax;
    this.#compiled = new LRUCache({
      maxSize: bytesMax,
      sizeCalculation: ({ matcher }) => this.#sizeOf(matcher),
    });
  }

  /** The compiled rules of a bus in the state that the reader shows, or a later one. */
  async of(reader: Reader, bus: BusReference): Promise<BusMatcher> {
    const revision = (await reader.get(busRevisions, [bus.account, bus.name]))?.revision ?? 0n;
    if (revision === 0n) return new Matcher();
    const key = keyOf(bus);
    const present = this.#compiled.get(key);
    if (present !== undefined && present.revision >= revision) return present.matcher;
    return this.#inTurn(key, async () => {
      const current = this.#compiled.get(key);
      if (current !== undefined && current.revision >= revision) return current.matcher;
      const changed = current && (await changedRules(reader, bus, current.revision, revision));
      const next =
        current === undefined || changed === undefined
          ? await this.#store.read((latest) => readAll(latest, bus))
          : { revision, matcher: await withChanged(reader, bus, current.matcher, changed) };
      this.#compiled.set(key, next);
      void this.#join(key);
      return next.matcher;
    });
  }

  /** Compiles the rules of all buses, as far as there is memory for them. */
  async loadAll(signal: AbortSignal): Promise<void> {
    let after: readonly [string, string] | undefined;
    while (!signal.aborted && !this.#isClosed && this.#compiled.calculatedSize < this.#bytesMax / 2) {
      const from = after;
      const [entry] = await this.#store.read((reader) =>
        reader.list(busRevisions, { ...(from === undefined ? {} : { after: from }), limit: 1 }),
      );
      if (entry === undefined) return;
      const [account, name] = entry.key;
      await this.#store.read((reader) => this.of(reader, { account, name }));
      after = entry.key;
    }
  }

  /** Ends the joining of parts. */
  close(): void {
    this.#isClosed = true;
  }

  /** A set that is larger than the bound is kept alone. */
  #sizeOf(matcher: BusMatcher): number {
    return Math.min(this.#bytesMax, setBytes + matcher.size * ruleBytes);
  }

  /** Joins the parts of a set until they are few. */
  async #join(key: string): Promise<void> {
    if (this.#joining.has(key)) return;
    this.#joining.add(key);
    try {
      for (;;) {
        const join = await this.#compiled.peek(key)?.matcher.joined();
        if (join === undefined || this.#isClosed) return;
        await this.#inTurn(key, async () => {
          const current = this.#compiled.peek(key);
          if (current !== undefined) this.#compiled.set(key, { ...current, matcher: join(current.matcher) });
        });
      }
    } finally {
      this.#joining.delete(key);
    }
  }

  /** Runs changes of a set one after the other. */
  async #inTurn<T>(key: string, run: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(key) ?? Promise.resolve();
    const own = before.then(run, run);
    this.#turns.set(key, own);
    try {
      return await own;
    } finally {
      if (this.#turns.get(key) === own) this.#turns.delete(key);
    }
  }
}

const keyOf = (bus: BusReference): string => `${bus.account}/${bus.name}`;

const withChanged = async (
  reader: Reader,
  bus: BusReference,
  matcher: BusMatcher,
  changed: readonly string[],
): Promise<BusMatcher> => {
  const turn = new Turn();
  const entries: PatternEntry<WatchingRule>[] = [];
  for (const name of changed) {
    const rule = await reader.get(rules, [bus.account, bus.name, name]);
    const entry = rule && entryOf(rule, await listTargets(reader, bus, name, undefined, rule.targetCount));
    if (entry !== undefined) entries.push(entry);
    if (turn.isOver) await turn.next();
  }
  return matcher.withInTurns(entries, changed);
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

const readAll = async (reader: Reader, bus: BusReference): Promise<Compiled> => {
  const turn = new Turn();
  const revision = (await reader.get(busRevisions, [bus.account, bus.name]))?.revision ?? 0n;
  const byRule = new Map<string, Target[]>();
  for await (const { key, value } of reader.range(targets, { prefix: [bus.account, bus.name] })) {
    if (value.target === undefined) continue;
    const present = byRule.get(key[2]);
    if (present === undefined) byRule.set(key[2], [value.target]);
    else present.push(value.target);
    if (turn.isOver) await turn.next();
  }
  const entries: PatternEntry<WatchingRule>[] = [];
  for await (const { value } of reader.range(rules, { prefix: [bus.account, bus.name] })) {
    const entry = entryOf(value, byRule.get(value.name) ?? []);
    if (entry !== undefined) entries.push(entry);
    if (turn.isOver) await turn.next();
  }
  return { revision, matcher: await new Matcher<WatchingRule>().withInTurns(entries) };
};

const entryOf = (rule: RuleRecord, ruleTargets: readonly Target[]): PatternEntry<WatchingRule> | undefined => {
  if (rule.state === RuleState.DISABLED || rule.eventPattern === undefined) return undefined;
  const { name, roleArn, archiveId, archiveKeyId } = rule;
  const item = { name, roleArn, archiveId, archiveKeyId, targets: ruleTargets };
  return { name, pattern: parsePattern(rule.eventPattern), item };
};
