import type { FlatEvent } from "./flatten.ts";
import type { PatternEntry } from "./segment.ts";
import { Segment } from "./segment.ts";
import type { Asker, Steps } from "./steps.ts";
import { runAtOnce, runFewInTurns, runInTurns } from "./steps.ts";
import { walkTree } from "./walk.ts";

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
    return this.#segments.reduce((sum, { count }) => sum + count, 0);
  }

  /** About the bytes of memory. */
  get bytes(): number {
    return this.#segments.reduce((sum, { bytes }) => sum + bytes, 0);
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
    const whole = await runInTurns(compileTogether(parts));
    return (later) => later.#replace(parts, whole);
  }

  /** Whether any pattern names this path or a path below it. */
  readonly wants = (path: string): boolean => this.#segments.some(({ tree }) => tree.hasPrefix(path));

  /** The items of the patterns that the event matches, in order of their names. */
  match(event: FlatEvent): T[] {
    return runAtOnce(this.#match(event));
  }

  /**
   * The same in turns of some milliseconds, for many patterns and an event of any size. Rejects with the reason for
   * which it was given up.
   */
  matchInTurns(event: FlatEvent, asker: Asker): Promise<T[]> {
    return runFewInTurns(this.#match(event), asker);
  }

  *#match(event: FlatEvent): Steps<T[]> {
    const matched: PatternEntry<T>[] = [];
    for (const segment of this.#segments) {
      let indexes: Set<number> | undefined;
      yield* walkTree(segment.tree, event, (index) => (indexes ??= new Set()).add(index));
      for (const index of indexes ?? none) {
        const entry = segment.entryAt(index);
        if (entry !== undefined) matched.push(entry);
      }
    }
    if (matched.length > 1) matched.sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
    return matched.map(({ item }) => item);
  }

  *#change(entries: readonly PatternEntry<T>[], removedNames: readonly string[]): Steps<Matcher<T>> {
    const segments: Segment<T>[] = [];
    for (const segment of this.#segments) {
      const rest = yield* withoutNames(segment, removedNames, entries);
      if (rest.count > 0) segments.push(rest);
    }
    if (entries.length > 0) segments.push(yield* Segment.compile(entries));
    return new Matcher(yield* joinSmall(segments));
  }

  /** The set with these segments replaced, as they are now, by one that was compiled of them; or unchanged. */
  #replace(parts: readonly Segment<T>[], whole: Segment<T>): Matcher<T> {
    const begin = this.#segments.findIndex((segment) => segment.isStateOf(parts[0]));
    const present = begin === -1 ? [] : this.#segments.slice(begin, begin + parts.length);
    if (present.length < parts.length || present.some((segment, index) => !segment.isStateOf(parts[index])))
      return this;
    const removed = present.flatMap((segment, index) => segment.removedSince(parts[index] as Segment<T>));
    const segments = [...this.#segments];
    segments.splice(begin, parts.length, whole.without(removed));
    return new Matcher(segments.filter(({ count }) => count > 0));
  }
}

const none: readonly number[] = [];

/** Names that are removed in one step. */
const namesStepMax = 256;

function* withoutNames<T>(
  segment: Segment<T>,
  names: readonly string[],
  entries: readonly PatternEntry<T>[],
): Steps<Segment<T>> {
  let rest = segment.without(names);
  for (let begin = 0; begin < entries.length; begin += namesStepMax) {
    rest = rest.without(entries.slice(begin, begin + namesStepMax).map(({ name }) => name));
    yield;
  }
  return rest;
}

/** Compiles what segments have as one. */
function* compileTogether<T>(segments: readonly Segment<T>[]): Steps<Segment<T>> {
  const entries: PatternEntry<T>[] = [];
  for (const segment of segments)
    for (const entry of segment.entries()) if (entries.push(entry) % namesStepMax === 0) yield;
  return yield* Segment.compile(entries);
}

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
    const { count, compiledCount } = segment;
    const isStale = count * 2 < compiledCount && count <= sizeMax;
    let group: Group<T> = { segments: [segment], size: isStale ? count : compiledCount, isStale };
    for (let before = groups.at(-1); before !== undefined; before = groups.at(-1)) {
      const size = before.segments.reduce((sum, each) => sum + each.count, count);
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
    if (group.isStale) joined.push(yield* compileTogether(group.segments));
    else joined.push(...group.segments);
  return joined;
}

/** The smallest segments that should be one; undefined: there are none. */
const findExcess = <T>(segments: readonly Segment<T>[]): readonly Segment<T>[] | undefined =>
  groupOf(segments, Infinity).findLast(({ isStale }) => isStale)?.segments;
