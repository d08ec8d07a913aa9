import type { FlatEvent } from "./flatten.ts";
import type { Pattern } from "./parse.ts";
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

/**
 * An immutable set of patterns that finds those that an event matches. A changed set shares the unchanged parts:
 * entries are compiled in segments, a change adds a small segment, and segments are joined if one grows to half of the
 * previous one. So each entry is compiled again only a logarithmic number of times, however many changes follow.
 */
export class Matcher<T> {
  readonly #segments: readonly Segment<T>[];

  constructor(segments: readonly Segment<T>[] = []) {
    this.#segments = segments;
  }

  /** The number of patterns. */
  get size(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.entries.length - segment.removed.size, 0);
  }

  /** Returns the set without these names and with these entries. An entry replaces one of the same name. */
  with(entries: readonly PatternEntry<T>[], removedNames: readonly string[] = []): Matcher<T> {
    const added = [...new Map(entries.map((entry) => [entry.name, entry])).values()];
    const removed = [...removedNames, ...added.map((entry) => entry.name)];
    const segments = this.#segments
      .map((segment) => withoutNames(segment, removed))
      .filter((segment) => segment.removed.size < segment.entries.length);
    if (added.length > 0) segments.push(compile(added));
    return new Matcher(joinSmall(segments));
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
}

const compile = <T>(entries: readonly PatternEntry<T>[]): Segment<T> => ({
  entries,
  indexes: new Map(entries.map((entry, index) => [entry.name, index])),
  tree: buildTree(entries.map((entry) => entry.pattern.branches)),
  removed: new Set(),
});

const withoutNames = <T>(segment: Segment<T>, names: readonly string[]): Segment<T> => {
  const found = names.flatMap((name) => segment.indexes.get(name) ?? []);
  const removed = found.filter((index) => !segment.removed.has(index));
  return removed.length === 0 ? segment : { ...segment, removed: new Set([...segment.removed, ...removed]) };
};

const liveEntries = <T>({ entries, removed }: Segment<T>): readonly PatternEntry<T>[] =>
  removed.size === 0 ? entries : entries.filter((_entry, index) => !removed.has(index));

/** Joins segments so that each is more than twice as large as the next, and at most half of its entries are removed. */
const joinSmall = <T>(segments: readonly Segment<T>[]): Segment<T>[] => {
  const kept: Segment<T>[] = [];
  for (const segment of segments) {
    let live = segment.removed.size * 2 > segment.entries.length ? liveEntries(segment) : undefined;
    for (let before = kept.at(-1); before !== undefined; before = kept.at(-1)) {
      const size = live?.length ?? segment.entries.length;
      if (before.entries.length > size * 2) break;
      live = [...liveEntries(before), ...(live ?? liveEntries(segment))];
      kept.pop();
    }
    kept.push(live === undefined ? segment : compile(live));
  }
  return kept;
};
