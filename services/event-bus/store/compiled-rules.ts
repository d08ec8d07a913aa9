import { getHeapStatistics } from "node:v8";

import { LRUCache } from "lru-cache";

import type { BusRevisionRecord, RuleRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { RuleState } from "../../../gen/quartet/eventbus/v1/rule_pb.ts";
import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import { Turn } from "../../kit/clock/turn.ts";
import type { Reader, Store } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import type { BusReference } from "../domain/arns.ts";
import { Matcher } from "../pattern/matcher.ts";
import { busRevisions, ruleChanges, rules, targets } from "./layout.ts";
import { listTargets, ruleChangesMax } from "./rule.ts";
import { WatchingRule } from "./watching-rule.ts";

/** Matches an event with the rules of a bus. */
export type BusMatcher = Matcher<WatchingRule>;

/** The compiled rules of a bus at one revision. */
interface Compiled {
  readonly revision: bigint;
  readonly matcher: BusMatcher;
}

/** About the bytes of memory of a set without rules. */
const setBytes = 1_000;

/** Changes that are read one by one even if a bus has fewer rules. */
const changesAlwaysRead = 256;

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
    const state = await reader.getShared(busRevisions, [bus.account, bus.name]);
    if (state === undefined) return new Matcher();
    const { revision } = state;
    const key = keyOf(bus);
    const present = this.#compiled.get(key);
    if (present !== undefined && present.revision >= revision) return present.matcher;
    return this.#inTurn(key, async () => {
      const current = this.#compiled.get(key);
      if (current !== undefined && current.revision >= revision) return current.matcher;
      const changed = current && (await changedRules(reader, bus, current.revision, state));
      const next =
        current === undefined || changed === undefined
          ? await this.#store.read((latest) => readAll(latest, bus))
          : { revision, matcher: await withChanged(reader, bus, current.matcher, changed) };
      this.#compiled.set(key, next);
      void this.#join(key);
      return next.matcher;
    });
  }

  /**
   * Compiles the rules of all buses, as far as there is memory for them. Those of a bus with a damaged record are left
   * out; throws what failed last at the end.
   */
  async loadAll(signal: AbortSignal): Promise<void> {
    let after: readonly [string, string] | undefined;
    let failure: { readonly error: unknown } | undefined;
    while (!signal.aborted && !this.#isClosed && this.#compiled.calculatedSize < this.#bytesMax / 2) {
      const from = after;
      const [entry] = await this.#store.read((reader) =>
        Array.fromAsync(walkTable(reader, busRevisions, { after: from, limit: 1 })),
      );
      if (entry === undefined) break;
      const [account, name] = entry.key;
      after = entry.key;
      try {
        await this.#store.read((reader) => this.of(reader, { account, name }));
      } catch (error) {
        failure = { error };
      }
    }
    if (failure !== undefined) throw failure.error;
  }

  /** Ends the joining of parts. */
  close(): void {
    this.#isClosed = true;
  }

  /** A set that is larger than the bound is kept alone. */
  #sizeOf(matcher: BusMatcher): number {
    return Math.min(this.#bytesMax, setBytes + matcher.bytes);
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
  const entries: WatchingRule[] = [];
  for (const name of changed) {
    const rule = await reader.get(rules, [bus.account, bus.name, name]);
    const ruleTargets = rule && (await listTargets(reader, bus, name, undefined, rule.targetCount));
    const entry = rule && watchingRuleOf(rule, ruleTargets ?? []);
    if (entry !== undefined) entries.push(entry);
    if (turn.isOver) await turn.next();
  }
  return matcher.withInTurns(entries, changed);
};

/**
 * The names of the rules that changed between two revisions; undefined if not all these changes are stored, or reading
 * all rules is less work.
 */
const changedRules = async (
  reader: Reader,
  bus: BusReference,
  from: bigint,
  { revision, ruleCount }: Pick<BusRevisionRecord, "revision" | "ruleCount">,
): Promise<string[] | undefined> => {
  if (revision - from >= Math.min(ruleChangesMax, Math.max(ruleCount, changesAlwaysRead))) return undefined;
  const turn = new Turn();
  const names = new Set<string>();
  let count = 0n;
  const after = [bus.account, bus.name, Number(from)] as const;
  for await (const { value } of reader.range(ruleChanges, { prefix: [bus.account, bus.name], after })) {
    names.add(value.rule);
    count += 1n;
    if (turn.isOver) await turn.next();
  }
  return count < revision - from ? undefined : [...names];
};

const readAll = async (reader: Reader, bus: BusReference): Promise<Compiled> => {
  const turn = new Turn();
  const revision = (await reader.get(busRevisions, [bus.account, bus.name]))?.revision ?? 0n;
  const entries: WatchingRule[] = [];
  for await (const [rule, ruleTargets] of withTargets(reader, bus)) {
    const entry = watchingRuleOf(rule, ruleTargets);
    if (entry !== undefined) entries.push(entry);
    if (turn.isOver) await turn.next();
  }
  return { revision, matcher: await new Matcher<WatchingRule>().withInTurns(entries) };
};

/** All rules of a bus with their targets, which are read next to them: both are in the order of the rules' names. */
async function* withTargets(reader: Reader, bus: BusReference): AsyncGenerator<[rule: RuleRecord, targets: Target[]]> {
  const allTargets = reader.range(targets, { prefix: [bus.account, bus.name] })[Symbol.asyncIterator]();
  try {
    let next = await allTargets.next();
    for await (const { value: rule } of reader.range(rules, { prefix: [bus.account, bus.name] })) {
      const ruleTargets: Target[] = [];
      for (; next.done !== true && next.value.key[2] <= rule.name; next = await allTargets.next()) {
        const { key, value } = next.value;
        if (key[2] === rule.name && value.target !== undefined) ruleTargets.push(value.target);
      }
      yield [rule, ruleTargets];
    }
  } finally {
    await allTargets.return?.();
  }
}

/** Undefined: the rule is disabled, or has no pattern. */
const watchingRuleOf = (rule: RuleRecord, ruleTargets: readonly Target[]): WatchingRule | undefined =>
  rule.state === RuleState.DISABLED || rule.eventPattern === undefined
    ? undefined
    : new WatchingRule({ ...rule, eventPattern: rule.eventPattern }, ruleTargets);
