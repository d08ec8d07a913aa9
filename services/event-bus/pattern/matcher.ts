import type { FlatEvent } from "./flatten.ts";
import type { Pattern } from "./parse.ts";
import type { Tree } from "./tree.ts";
import { buildTree } from "./tree.ts";
import { walkTree } from "./walk.ts";

/** A named pattern and what it stands for. */
export interface PatternEntry<T> {
  readonly name: string;
  readonly pattern: Pattern;
  readonly item: T;
}

/** Entries that were compiled together, and the places of those that have been replaced or removed since. */
interface Segment<T> {
  readonly entries: readonly PatternEntry<T>[];
  readonly places: ReadonlyMap<string, number>;
  readonly tree: Tree;
  readonly removed: ReadonlySet<number>;
}

/**
 * An immutable set of patterns that finds those an event matches. A changed set shares what did not change: entries are
 * compiled in segments, a change adds a small one, and segments are joined when one grows to half of the one before,
 * so an entry is compiled again only a logarithmic number of times however many changes there are.
 */
export class Matcher<T> {
  readonly #segments: readonly Segment<T>[];

  constructor(segments: readonly Segment<T>[] = []) {
    this.#segments = segments;
  }

  /** How many patterns there are. */
  get size(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.entries.length - segment.removed.size, 0);
  }

  /** The set with these names removed and these entries added; an entry replaces one of the same name. */
  with(entries: readonly PatternEntry<T>[], removedNames: readonly string[] = []): Matcher<T> {
    const added = [...new Map(entries.map((entry) => [entry.name, entry])).values()];
    const gone = [...removedNames, ...added.map((entry) => entry.name)];
    const segments = this.#segments
      .map((segment) => withoutNames(segment, gone))
      .filter((segment) => segment.removed.size < segment.entries.length);
    if (added.length > 0) segments.push(compile(added));
    return new Matcher(joinSmall(segments));
  }

  /** Whether any pattern asks for this path or something below it. */
  readonly wants = (path: string): boolean => this.#segments.some((segment) => segment.tree.prefixes.has(path));

  /** The items whose patterns the event matches, in order of their names. */
  match(event: FlatEvent): T[] {
    const matched: PatternEntry<T>[] = [];
    for (const { entries, tree, removed } of this.#segments) {
      const places = new Set<number>();
      walkTree(tree, event, (place) => places.add(place));
      for (const place of places) if (!removed.has(place)) matched.push(entries[place] as PatternEntry<T>);
    }
    return matched.toSorted((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name))).map((entry) => entry.item);
  }
}

const compile = <T>(entries: readonly PatternEntry<T>[]): Segment<T> => ({
  entries,
  places: new Map(entries.map((entry, place) => [entry.name, place])),
  tree: buildTree(entries.map((entry) => entry.pattern.branches)),
  removed: new Set(),
});

const withoutNames = <T>(segment: Segment<T>, names: readonly string[]): Segment<T> => {
  const gone = names.flatMap((name) => segment.places.get(name) ?? []).filter((place) => !segment.removed.has(place));
  return gone.length === 0 ? segment : { ...segment, removed: new Set([...segment.removed, ...gone]) };
};

const liveEntries = <T>({ entries, removed }: Segment<T>): readonly PatternEntry<T>[] =>
  removed.size === 0 ? entries : entries.filter((_entry, place) => !removed.has(place));

/** Keeps each segment more than twice as large as the next, and no segment more than half dead. */
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
