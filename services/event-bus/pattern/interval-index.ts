import type { NumberRange } from "./condition.ts";
import { isWithin } from "./condition.ts";

/** A range and its item. */
export interface Interval<T> {
  readonly range: NumberRange;
  readonly item: T;
}

/**
 * Finds the ranges that contain a number, in time that grows with the logarithm of their number and with the number of
 * results. The ranges are a balanced tree in an array, sorted by bottom; each node has the greatest top of its subtree.
 */
export class IntervalIndex<T> {
  readonly #intervals: readonly Interval<T>[];
  readonly #greatestTop: Float64Array;

  constructor(intervals: readonly Interval<T>[]) {
    this.#intervals = intervals.toSorted((a, b) => a.range.bottom - b.range.bottom || a.range.top - b.range.top);
    this.#greatestTop = new Float64Array(intervals.length);
    this.#prepare(0, intervals.length);
  }

  /** Calls `found` with the item of every range that contains the value. */
  find(value: number, found: (item: T) => void): void {
    this.#search(0, this.#intervals.length, value, found);
  }

  #prepare(from: number, to: number): number {
    if (from >= to) return -Infinity;
    const middle = (from + to) >>> 1;
    const own = this.#at(middle).range.top;
    const top = Math.max(own, this.#prepare(from, middle), this.#prepare(middle + 1, to));
    this.#greatestTop[middle] = top;
    return top;
  }

  #search(from: number, to: number, value: number, found: (item: T) => void): void {
    if (from >= to) return;
    const middle = (from + to) >>> 1;
    if ((this.#greatestTop[middle] ?? -Infinity) < value) return;
    this.#search(from, middle, value, found);
    const { range, item } = this.#at(middle);
    if (range.bottom > value) return;
    if (isWithin(range, value)) found(item);
    this.#search(middle + 1, to, value, found);
  }

  #at(index: number): Interval<T> {
    return this.#intervals[index] as Interval<T>;
  }
}
