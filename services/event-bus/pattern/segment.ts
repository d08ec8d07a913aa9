import { HashChains, hashOfText } from "./hash-chains.ts";
import { IntegerRows } from "./integer-rows.ts";
import type { Pattern } from "./parse.ts";
import type { Steps } from "./steps.ts";
import { Tree } from "./tree.ts";

/** A named pattern and its item. */
export interface PatternEntry<T> {
  readonly name: string;
  /** It is read once for each time that the entry is compiled, and not kept. */
  readonly pattern: Pattern;
  readonly item: T;
  /** About the bytes of memory that the entry has. Unset: they are not counted. */
  readonly bytes?: number;
}

/** After so many entries, tables that are nearly full are made larger, each in a step of its own. */
const roomEntries = 32;

/** Entries that were compiled together, and in which order some of them have been removed since. */
interface Compiled<T> {
  readonly entries: readonly PatternEntry<T>[];
  readonly names: HashChains;
  readonly tree: Tree;
  readonly bytes: number;
  /** The indexes of removed entries, in order. */
  readonly removals: IntegerRows;
  /** For each entry its position in `removals`, counted from 1; 0: it is not removed. Unset: none is. */
  removedAt: Int32Array | undefined;
}

/**
 * The state of a part of a set: entries that were compiled together, without the first so many that were removed. A
 * further removal is noted once for all states, so its cost does not grow with the number of entries.
 */
export class Segment<T> {
  readonly #compiled: Compiled<T>;
  /** Later removals are not part of this state. */
  readonly #removalCount: number;

  private constructor(compiled: Compiled<T>, removalCount: number) {
    this.#compiled = compiled;
    this.#removalCount = removalCount;
  }

  /** Compiles entries. Of several with one name the last counts. */
  static *compile<T>(entries: readonly PatternEntry<T>[]): Steps<Segment<T>> {
    const names = new HashChains();
    const tree = new Tree();
    let bytes = 0;
    let segment = new Segment<T>(
      { entries, names, tree, bytes, removals: new IntegerRows(1), removedAt: undefined },
      0,
    );
    // All tables have about as many rows as there are entries, and would be copied at the same entry.
    const parts = [...names.parts, ...tree.parts];
    for (const [index, entry] of entries.entries()) {
      if (index % roomEntries === 0) for (const part of parts) if (part.makeRoom()) yield;
      segment = segment.without([entry.name]);
      names.add(hashOfText(entry.name, 0, entry.name.length));
      yield* tree.add(index, entry.pattern.branches);
      bytes += entry.bytes ?? 0;
    }
    yield* tree.seal();
    yield;
    names.trim();
    return new Segment({ ...segment.#compiled, bytes: bytes + names.bytes + tree.bytes }, segment.#removalCount);
  }

  get tree(): Tree {
    return this.#compiled.tree;
  }

  /** The number of entries, with those that have been removed. */
  get compiledCount(): number {
    return this.#compiled.entries.length;
  }

  /** The number of entries. */
  get count(): number {
    return this.compiledCount - this.#removalCount;
  }

  /** About the bytes of memory. */
  get bytes(): number {
    return this.#compiled.bytes + (this.#compiled.removedAt === undefined ? 0 : this.compiledCount * 8);
  }

  /** The entry of an index; undefined: it has been removed. */
  entryAt(index: number): PatternEntry<T> | undefined {
    return this.#has(index) ? this.#compiled.entries[index] : undefined;
  }

  /** All entries, in the order in which they were compiled. */
  *entries(): Generator<PatternEntry<T>, void> {
    for (const [index, entry] of this.#compiled.entries.entries()) if (this.#has(index)) yield entry;
  }

  /** Whether this is a state of the same compiled entries as another one. */
  isStateOf(other: Segment<T> | undefined): boolean {
    return this.#compiled.tree === other?.tree;
  }

  /** The names of the entries that an earlier state had and this one has not. */
  removedSince(earlier: Segment<T>): string[] {
    const { entries, removals } = this.#compiled;
    return Array.from(
      { length: this.#removalCount - earlier.#removalCount },
      (_none, at) => entries[removals.at(earlier.#removalCount + at)]?.name ?? "",
    );
  }

  /** The state without these names. */
  without(names: Iterable<string>): Segment<T> {
    let compiled = this.#compiled;
    let count = this.#removalCount;
    for (const name of names) {
      const index = this.#find(compiled, count, name);
      if (index === -1) continue;
      // Another state has been made of this one: it keeps what is shared.
      if (compiled.removals.length > count) compiled = copyOf(compiled, count);
      compiled.removedAt ??= new Int32Array(compiled.entries.length);
      compiled.removals.add(index);
      count += 1;
      compiled.removedAt[index] = count;
    }
    return count === this.#removalCount ? this : new Segment(compiled, count);
  }

  #has(index: number): boolean {
    return isPresent(this.#compiled, this.#removalCount, index);
  }

  #find(compiled: Compiled<T>, removalCount: number, name: string): number {
    const { entries, names } = compiled;
    for (let at = names.first(hashOfText(name, 0, name.length)); at !== -1; at = names.next(at))
      if (entries[at]?.name === name && isPresent(compiled, removalCount, at)) return at;
    return -1;
  }
}

const isPresent = ({ removedAt }: Compiled<unknown>, removalCount: number, index: number): boolean => {
  const removal = removedAt?.[index] ?? 0;
  return removal === 0 || removal > removalCount;
};

/** The same entries with the first so many removals. */
const copyOf = <T>(compiled: Compiled<T>, removalCount: number): Compiled<T> => {
  const removals = new IntegerRows(1);
  const removedAt = new Int32Array(compiled.entries.length);
  for (let at = 0; at < removalCount; at += 1) {
    const index = compiled.removals.at(at);
    removals.add(index);
    removedAt[index] = at + 1;
  }
  return { ...compiled, removals, removedAt };
};
