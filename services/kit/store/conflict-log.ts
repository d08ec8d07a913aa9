import type { Bounds, ByteString } from "./byte-string.ts";
import { compareBytes } from "./byte-string.ts";
import type { ReadSet } from "./read-set.ts";
import type { WriteSet } from "./write-set.ts";
import { hasKeyWithin } from "./write-set.ts";

interface CommittedGroup {
  readonly version: number;
  readonly keys: readonly ByteString[];
  /** The keys in ascending order, sorted when they are first needed. */
  sorted: readonly ByteString[] | undefined;
}

const sortedKeys = (group: CommittedGroup): readonly ByteString[] =>
  (group.sorted ??= group.keys.toSorted(compareBytes));

/** Whether a group has a key in one of the ranges, which are in ascending order and apart. */
const areTouched = (ranges: readonly Bounds[], groups: readonly CommittedGroup[]): boolean => {
  const keyCount = groups.reduce((sum, { keys }) => sum + keys.length, 0);
  // Many ranges in many groups would be millions of searches in one turn of the event loop; of keys there are fewer.
  return groups.length * ranges.length <= keyCount
    ? groups.some((group) => ranges.some((range) => hasKeyWithin(sortedKeys(group), range)))
    : groups.some(({ keys }) => keys.some((key) => isCovered(ranges, key)));
};

const isCovered = (ranges: readonly Bounds[], key: ByteString): boolean => {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ranges[middle] as Bounds).high <= key) low = middle + 1;
    else high = middle;
  }
  const range = ranges[low];
  return range !== undefined && key >= range.low;
};

/** A reader of the database as it was at a version. */
export interface Watcher {
  readonly version: number;
}

/**
 * The keys that were written since the oldest running transaction began. Memory is bounded twice: keys that no running
 * transaction needs are dropped at once, and past `keysMax` the oldest are dropped too; a transaction older than those
 * counts as lost instead of being checked.
 */
export class ConflictLog {
  readonly #keysMax: number;
  readonly #watchers = new Set<Watcher>();
  readonly #latest = new Map<ByteString, number>();
  #groups: CommittedGroup[] = [];
  #version = 0;
  /** Everything written up to here has been forgotten. */
  #floor = 0;
  #keyCount = 0;

  constructor(keysMax: number) {
    this.#keysMax = keysMax;
  }

  /** How many groups have been committed. */
  get version(): number {
    return this.#version;
  }

  /** How many keys are remembered now. */
  get keyCount(): number {
    return this.#keyCount;
  }

  /** Remembers what is written from now on, for a reader of the present state. */
  watch(): Watcher {
    const watcher = { version: this.#version };
    this.#watchers.add(watcher);
    return watcher;
  }

  unwatch(watcher: Watcher): void {
    this.#watchers.delete(watcher);
  }

  /** Whether something that was read at `version` has been written since. */
  hasConflict(version: number, reads: ReadSet): boolean {
    if (reads.keys.size === 0 && reads.ranges.length === 0) return false;
    if (version < this.#floor) return true;
    for (const key of reads.keys) if ((this.#latest.get(key) ?? 0) > version) return true;
    return reads.ranges.length > 0 && areTouched(reads.covered(), this.#newerThan(version));
  }

  #newerThan(version: number): readonly CommittedGroup[] {
    let first = this.#groups.length;
    while (first > 0 && (this.#groups[first - 1] as CommittedGroup).version > version) first -= 1;
    return this.#groups.slice(first);
  }

  /** Remembers a committed group. */
  append(changes: WriteSet): void {
    this.#version += 1;
    const group = { version: this.#version, keys: [...changes.writes.keys()], sorted: undefined };
    this.#groups.push(group);
    this.#keyCount += group.keys.length;
    for (const key of group.keys) this.#latest.set(key, group.version);
    this.#trim();
  }

  #trim(): void {
    const oldest = this.#watchers.values().next().value?.version ?? this.#version;
    let dropped = 0;
    for (const group of this.#groups) {
      if (group.version > oldest && this.#keyCount <= this.#keysMax) break;
      for (const key of group.keys) if (this.#latest.get(key) === group.version) this.#latest.delete(key);
      this.#keyCount -= group.keys.length;
      this.#floor = group.version;
      dropped += 1;
    }
    if (dropped > 0) this.#groups.splice(0, dropped);
  }
}
