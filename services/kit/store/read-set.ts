import type { Bounds, ByteString } from "./byte-string.ts";
import { successor } from "./byte-string.ts";
import type { WriteSet } from "./write-set.ts";

/**
 * The part of a range that a reader has seen so far. It grows with each entry that is read, so that a phantom is
 * detected in that part and nowhere else.
 */
class SeenRange {
  low: ByteString;
  high: ByteString;
  readonly #bounds: Bounds;
  readonly #reverse: boolean;

  constructor(bounds: Bounds, reverse: boolean) {
    this.#bounds = bounds;
    this.#reverse = reverse;
    this.low = reverse ? bounds.high : bounds.low;
    this.high = reverse ? bounds.high : bounds.low;
  }

  /** All up to and including this key has been seen. */
  through(key: ByteString): void {
    if (this.#reverse) this.low = key;
    else this.high = successor(key);
  }

  /** The whole range has been seen. */
  toEnd(): void {
    this.low = this.#bounds.low;
    this.high = this.#bounds.high;
  }
}

/** The keys and ranges that a transaction read, on which its decisions rest. */
export class ReadSet {
  readonly keys = new Set<ByteString>();
  readonly ranges: SeenRange[] = [];

  addRange(bounds: Bounds, reverse: boolean): SeenRange {
    const range = new SeenRange(bounds, reverse);
    this.ranges.push(range);
    return range;
  }

  /** Whether any of these changes touches a key or range that was read. */
  isTouchedBy(changes: WriteSet): boolean {
    if (changes.size === 0) return false;
    if (changes.size < this.keys.size) {
      for (const key of changes.writes.keys()) if (this.keys.has(key)) return true;
    } else {
      for (const key of this.keys) if (changes.has(key)) return true;
    }
    if (this.ranges.length === 0) return false;
    for (const key of changes.writes.keys())
      for (const range of this.ranges) if (key >= range.low && key < range.high) return true;
    return false;
  }
}
