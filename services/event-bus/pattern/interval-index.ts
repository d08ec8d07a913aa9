import type { NumberRange } from "./condition.ts";
import { isWithin } from "./condition.ts";

/** One range and what it stands for. */
export interface Interval<T> {
  readonly range: NumberRange;
  readonly item: T;
}

/**
 * Finds the ranges that hold a number, in time that grows with the logarithm of their count and with the answer. The
 * ranges lie sorted by bottom as a balanced tree in an array; each place knows the greatest top below it.
 */
export class IntervalIndex<T> {
  readonly #intervals: readonly Interval<T>[];
  readonly #greatestTop: Float64Array;

  constructor(intervals: readonly Interval<T>[]) {
    this.#intervals = intervals.toSorted((a, b) => a.range.bottom - b.range.bottom || a.range.top - b.range.top);
    this.#greatestTop = new Float64Array(intervals.length);
    this.#prepare(0, intervals.length);
  }

  /** Tells every range that holds the value. */
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

  #at(place: number): Interval<T> {
    return this.#intervals[place] as Interval<T>;
  }
}
