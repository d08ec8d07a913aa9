import { getHeapStatistics } from "node:v8";

import { LRUCache } from "lru-cache";

import type { RuleRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { RuleState } from "../../../gen/quartet/eventbus/v1/rule_pb.ts";
import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import { Turn } from "../../kit/clock/turn.ts";
import type { Logger } from "../../kit/log/log.ts";
import { findOrDamaged } from "../../kit/store/damage.ts";
import type { Reader, Store } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import type { BusReference } from "../domain/arns.ts";
import { Matcher } from "../pattern/matcher.ts";
import type { FoundRevision } from "./bus-revision.ts";
import { findRevision } from "./bus-revision.ts";
import { busRevisions, ruleChanges, rules, targets } from "./layout.ts";
import { findRule, listSoundTargets, ruleChangesMax } from "./rule.ts";
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
 * large parts of a set are joined beside its use. Rules and targets that are damaged are left out and logged.
 */
export class CompiledRules {
  readonly #store: Pick<Store, "read">;
  readonly #compiled: LRUCache<string, Compiled>;
  readonly #bytesMax: number;
  readonly #leaveOut: LeaveOut;
  readonly #joining = new Set<string>();
  readonly #turns = new Map<string, Promise<unknown>>();
  #isClosed = false;

  /** The least recently used sets are dropped above `bytesMax`. Unset: a quarter of the heap. */
  constructor(
    store: Pick<Store, "read">,
    bytesMax = Math.floor(getHeapStatistics().heap_size_limit * heapShare),
    log?: Logger,
  ) {
    this.#store = store;
    this.#bytesMax = bytesMax;
    this.#leaveOut = loggingOnce(log);
    this.#compiled = new LRUCache({
      maxSize: bytesMax,
      sizeCalculation: ({ matcher }) => this.#sizeOf(matcher),
    });
  }

  /** The compiled rules of a bus in the state that the reader shows, or a later one. */
  async of(reader: Reader, bus: BusReference): Promise<BusMatcher> {
    const state = await findRevision(reader, bus);
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
          ? await this.#store.read((latest) => readAll(latest, bus, this.#leaveOut))
          : { revision, matcher: await withChanged(reader, bus, current.matcher, changed, this.#leaveOut) };
      this.#compiled.set(key, next);
      void this.#join(key);
      return next.matcher;
    });
  }

  /**
   * Compiles the rules of all buses, as far as there is memory for them. Goes on where those of a bus cannot be
   * compiled, and throws what failed last at the end.
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

/** Is given a rule, or one target of it, whose record is damaged. */
type LeaveOut = (bus: BusReference, rule: string, targetId?: string) => void;

/** What is remembered as logged; more is not logged. */
const leftOutMax = 1_000;

const loggingOnce = (log: Logger | undefined): LeaveOut => {
  const logged = new Set<string>();
  return ({ account, name }, rule, targetId) => {
    const key = JSON.stringify([account, name, rule, targetId]);
    if (logged.size >= leftOutMax || logged.has(key)) return;
    logged.add(key);
    const what = { account, bus: name, rule, ...(targetId !== undefined && { targetId }) };
    log?.error(what, targetId === undefined ? "a damaged rule matches no event" : "a damaged target is not invoked");
  };
};

const withChanged = async (
  reader: Reader,
  bus: BusReference,
  matcher: BusMatcher,
  changed: readonly string[],
  leaveOut: LeaveOut,
): Promise<BusMatcher> => {
  const turn = new Turn();
  const entries: WatchingRule[] = [];
  for (const name of changed) {
    const rule = await findOrDamaged(findRule(reader, bus, name));
    if (rule === "damaged") leaveOut(bus, name);
    else if (rule !== undefined) {
      const ruleTargets = await listSoundTargets(reader, bus, name, (id) => leaveOut(bus, name, id));
      const entry = watchingRuleOf(rule, ruleTargets);
      if (entry !== undefined) entries.push(entry);
    }
    if (turn.isOver) await turn.next();
  }
  return withSound(matcher, bus, entries, changed, leaveOut);
};

/** The matcher with entries, without those whose pattern cannot be parsed; all stored ones could when they were put. */
const withSound = async (
  matcher: BusMatcher,
  bus: BusReference,
  entries: readonly WatchingRule[],
  changed: readonly string[],
  leaveOut: LeaveOut,
): Promise<BusMatcher> => {
  try {
    return await matcher.withInTurns(entries, changed);
  } catch (error) {
    const turn = new Turn();
    const sound: WatchingRule[] = [];
    for (const entry of entries) {
      if (hasPattern(entry)) sound.push(entry);
      else leaveOut(bus, entry.name);
      if (turn.isOver) await turn.next();
    }
    if (sound.length === entries.length) throw error;
    return matcher.withInTurns(sound, changed);
  }
};

const hasPattern = (entry: WatchingRule): boolean => {
  try {
    return entry.pattern.branches.length > 0;
  } catch {
    return false;
  }
};

/**
 * The names of the rules that changed between two revisions; undefined if not all these changes are stored and whole,
 * or reading all rules is less work.
 */
const changedRules = async (
  reader: Reader,
  bus: BusReference,
  from: bigint,
  { revision, ruleCount = 0 }: FoundRevision,
): Promise<string[] | undefined> => {
  if (revision - from >= Math.min(ruleChangesMax, Math.max(ruleCount, changesAlwaysRead))) return undefined;
  const turn = new Turn();
  const names = new Set<string>();
  let count = 0n;
  const after = [bus.account, bus.name, Number(from)] as const;
  for await (const { value } of walkTable(reader, ruleChanges, { prefix: [bus.account, bus.name], after })) {
    if (value === undefined) return undefined;
    names.add(value.rule);
    count += 1n;
    if (turn.isOver) await turn.next();
  }
  return count < revision - from ? undefined : [...names];
};

const readAll = async (reader: Reader, bus: BusReference, leaveOut: LeaveOut): Promise<Compiled> => {
  const turn = new Turn();
  const revision = (await findRevision(reader, bus))?.revision ?? 0n;
  const entries: WatchingRule[] = [];
  for await (const [rule, ruleTargets] of withTargets(reader, bus, leaveOut)) {
    const entry = watchingRuleOf(rule, ruleTargets);
    if (entry !== undefined) entries.push(entry);
    if (turn.isOver) await turn.next();
  }
  return { revision, matcher: await withSound(new Matcher<WatchingRule>(), bus, entries, [], leaveOut) };
};

/** All rules of a bus with their targets, which are read next to them: both are in the order of the rules' names. */
async function* withTargets(
  reader: Reader,
  bus: BusReference,
  leaveOut: LeaveOut,
): AsyncGenerator<[rule: RuleRecord, targets: Target[]]> {
  const prefix: [string, string] = [bus.account, bus.name];
  const allTargets = walkTable(reader, targets, { prefix });
  try {
    let next = await allTargets.next();
    for await (const { key, value: rule } of walkTable(reader, rules, { prefix })) {
      const name = key[2];
      const ruleTargets: Target[] = [];
      for (; next.done !== true && next.value.key[2] <= name; next = await allTargets.next()) {
        const { key: targetKey, value } = next.value;
        if (targetKey[2] !== name) continue;
        if (value?.target?.id === targetKey[3]) ruleTargets.push(value.target);
        else leaveOut(bus, name, targetKey[3]);
      }
      if (rule?.name === name) yield [rule, ruleTargets];
      else leaveOut(bus, name);
    }
  } finally {
    await allTargets.return();
  }
}

/** Undefined: the rule is disabled, or has no pattern. */
const watchingRuleOf = (rule: RuleRecord, ruleTargets: readonly Target[]): WatchingRule | undefined =>
  rule.state === RuleState.DISABLED || rule.eventPattern === undefined
    ? undefined
    : new WatchingRule({ ...rule, eventPattern: rule.eventPattern }, ruleTargets);
