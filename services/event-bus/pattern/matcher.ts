import type { FlatEvent } from "./flatten.ts";
import type { Pattern } from "./parse.ts";
import type { Steps } from "./steps.ts";
import { runAtOnce, runInTurns } from "./steps.ts";
import type { Tree } from "./tree.ts";
import { buildTree } from "./tree.ts";
import { walkTree } from "./walk.ts";

/** A named pattern and its item. */
export interface PatternEntry<T> {
  readonly name: string;
  readonly pattern: Pattern;
  readonly item: T;
}

/** Entries that were compiled together, and the indexes of those that have been replaced or removed since. */
interface Segment<T> {
  readonly entries: readonly PatternEntry<T>[];
  readonly indexes: ReadonlyMap<string, number>;
  readonly tree: Tree;
  readonly removed: ReadonlySet<number>;
}

/** Segments are joined at once if they have no more entries than this together; larger ones by `joined` only. */
const joinedAtOnceMax = 128;

/**
 * An immutable set of patterns that finds those that an event matches. A changed set shares the unchanged parts:
 * entries are compiled in segments, a change adds a small segment, and segments are joined if one grows to half of the
 * previous one. So each entry is compiled again only a logarithmic number of times, however many changes follow. A
 * change compiles few entries; the owner of a set joins large segments beside its use, with `joined`.
 */
export class Matcher<T> {
  readonly #segments: readonly Segment<T>[];

  constructor(segments: readonly Segment<T>[] = []) {
    this.#segments = segments;
  }

  /** The number of patterns. */
  get size(): number {
    return this.#segments.reduce((sum, segment) => sum + liveCount(segment), 0);
  }

  /** Returns the set without these names and with these entries. An entry replaces one of the same name. */
  with(entries: readonly PatternEntry<T>[], removedNames: readonly string[] = []): Matcher<T> {
    return runAtOnce(this.#change(entries, removedNames));
  }

  /** The same in turns of some milliseconds, for many entries. */
  withInTurns(entries: readonly PatternEntry<T>[], removedNames: readonly string[] = []): Promise<Matcher<T>> {
    return runInTurns(this.#change(entries, removedNames));
  }

  /**
   * Compiles segments that should be one, in turns. Returns the function that puts the result in the place of these
   * segments in a later state of the set; undefined: no segments should be joined.
   */
  async joined(): Promise<((later: Matcher<T>) => Matcher<T>) | undefined> {
    const parts = findExcess(this.#segments);
    if (parts === undefined) return undefined;
    const whole = await runInTurns(compile(parts.flatMap(liveEntries)));
    return (later) => later.#replace(parts, whole);
  }

  /** Whether any pattern names this path or a path below it. */
  readonly wants = (path: string): boolean => this.#segments.some((segment) => segment.tree.prefixes.has(path));

  /** The items of the patterns that the event matches, in order of their names. */
  match(event: FlatEvent): T[] {
    const matched: PatternEntry<T>[] = [];
    for (const { entries, tree, removed } of this.#segments) {
      const indexes = new Set<number>();
      walkTree(tree, event, (index) => indexes.add(index));
      for (const index of indexes) if (!removed.has(index)) matched.push(entries[index] as PatternEntry<T>);
    }
    return matched.toSorted((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name))).map((entry) => entry.item);
  }

  *#change(entries: readonly PatternEntry<T>[], removedNames: readonly string[]): Steps<Matcher<T>> {
    const added = [...new Map(entries.map((entry) => [entry.name, entry])).values()];
    const removed = [...removedNames, ...added.map((entry) => entry.name)];
    const segments = this.#segments
      .map((segment) => withoutNames(segment, removed))
      .filter((segment) => segment.removed.size < segment.entries.length);
    if (added.length > 0) segments.push(yield* compile(added));
    return new Matcher(yield* joinSmall(segments));
  }

  /** The set with these segments replaced, as they are now, by one that was compiled of them; or unchanged. */
  #replace(parts: readonly Segment<T>[], whole: Segment<T>): Matcher<T> {
    const begin = this.#segments.findIndex(({ tree }) => tree === parts[0]?.tree);
    const present = begin === -1 ? [] : this.#segments.slice(begin, begin + parts.length);
    if (present.length < parts.length || present.some(({ tree }, index) => tree !== parts[index]?.tree)) return this;
    const removed = present.flatMap((segment, index) =>
      [...segment.removed]
        .filter((entry) => parts[index]?.removed.has(entry) === false)
        .map((entry) => segment.entries[entry]?.name ?? ""),
    );
    const segments = [...this.#segments];
    segments.splice(begin, parts.length, withoutNames(whole, removed));
    return new Matcher(segments.filter((segment) => liveCount(segment) > 0));
  }
}

function* compile<T>(entries: readonly PatternEntry<T>[]): Steps<Segment<T>> {
  const indexes = new Map<string, number>();
  for (const [index, { name }] of entries.entries()) {
    indexes.set(name, index);
    if (index % 64 === 0) yield;
  }
  const tree = yield* buildTree(entries.map((entry) => entry.pattern.branches));
  return { entries, indexes, tree, removed: new Set() };
}

const withoutNames = <T>(segment: Segment<T>, names: readonly string[]): Segment<T> => {
  const found = names.flatMap((name) => segment.indexes.get(name) ?? []);
  const removed = found.filter((index) => !segment.removed.has(index));
  return removed.length === 0 ? segment : { ...segment, removed: new Set([...segment.removed, ...removed]) };
};

const liveEntries = <T>({ entries, removed }: Segment<T>): readonly PatternEntry<T>[] =>
  removed.size === 0 ? entries : entries.filter((_entry, index) => !removed.has(index));

const liveCount = <T>({ entries, removed }: Segment<T>): number => entries.length - removed.size;

/** Segments that should be one, and whether that must be compiled. */
interface Group<T> {
  readonly segments: readonly Segment<T>[];
  readonly size: number;
  readonly isStale: boolean;
}

/** Groups segments so that each group is more than twice as large as the next, and few of its entries are removed. */
const groupOf = <T>(segments: readonly Segment<T>[], sizeMax: number): Group<T>[] => {
  const groups: Group<T>[] = [];
  for (const segment of segments) {
    const isStale = segment.removed.size * 2 > segment.entries.length && liveCount(segment) <= sizeMax;
    let group: Group<T> = { segments: [segment], size: isStale ? liveCount(segment) : segment.entries.length, isStale };
    for (let before = groups.at(-1); before !== undefined; before = groups.at(-1)) {
      const size = before.segments.reduce((sum, each) => sum + liveCount(each), liveCount(segment));
      if (before.size > group.size * 2 || size > sizeMax) break;
      group = { segments: [...before.segments, ...group.segments], size, isStale: true };
      groups.pop();
    }
    groups.push(group);
  }
  return groups;
};

function* joinSmall<T>(segments: readonly Segment<T>[]): Steps<Segment<T>[]> {
  const joined: Segment<T>[] = [];
  for (const group of groupOf(segments, joinedAtOnceMax))
    if (group.isStale) joined.push(yield* compile(group.segments.flatMap(liveEntries)));
    else joined.push(...group.segments);
  return joined;
}

/** The smallest segments that should be one; undefined: there are none. */
const findExcess = <T>(segments: readonly Segment<T>[]): readonly Segment<T>[] | undefined =>
  groupOf(segments, Infinity).findLast(({ isStale }) => isStale)?.segments;
