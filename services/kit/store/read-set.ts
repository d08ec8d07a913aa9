import type { Bounds, ByteString } from "./byte-string.ts";
import { compareBytes, successor } from "./byte-string.ts";
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
    return this.ranges.some((range) => changes.hasWithin(range));
  }

  /** What the ranges cover, in ascending order: ranges that meet are one. */
  covered(): readonly Bounds[] {
    if (this.ranges.length < 2) return this.ranges;
    const covered: Bounds[] = [];
    for (const { low, high } of this.ranges.toSorted((left, right) => compareBytes(left.low, right.low))) {
      const last = covered.at(-1);
      if (last === undefined || low > last.high) covered.push({ low, high });
      else if (high > last.high) covered[covered.length - 1] = { low: last.low, high };
    }
    return covered;
  }
}
