import type { ByteString } from "./byte-string.ts";
import type { ReadSet } from "./read-set.ts";
import type { WriteSet } from "./write-set.ts";
import { lowerBound } from "./write-set.ts";

interface CommittedGroup {
  readonly version: number;
  readonly keys: readonly ByteString[];
}

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
    if (reads.ranges.length === 0) return false;
    for (let index = this.#groups.length - 1; index >= 0; index -= 1) {
      const group = this.#groups[index] as CommittedGroup;
      if (group.version <= version) return false;
      for (const range of reads.ranges) {
        const first = group.keys[lowerBound(group.keys, range.low)];
        if (first !== undefined && first < range.high) return true;
      }
    }
    return false;
  }

  /** Remembers a committed group. */
  append(changes: WriteSet): void {
    this.#version += 1;
    const group = { version: this.#version, keys: changes.sortedKeys() };
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
