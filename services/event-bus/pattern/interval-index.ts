import type { NumberRange } from "./condition.ts";
import { isWithin } from "./condition.ts";
import type { Steps } from "./steps.ts";

/** A range and its item. */
export interface Interval<T> {
  readonly range: NumberRange;
  readonly item: T;
}

/** Intervals that are sorted or merged in one step. */
const stepMax = 1_024;

const compare = (a: Interval<unknown>, b: Interval<unknown>): number =>
  a.range.bottom - b.range.bottom || a.range.top - b.range.top;

/** Sorts intervals by bottom, then by top. */
export function* sortIntervals<T>(intervals: readonly Interval<T>[]): Steps<readonly Interval<T>[]> {
  let runs: (readonly Interval<T>[])[] = [];
  for (let begin = 0; begin < intervals.length; begin += stepMax) {
    runs.push(intervals.slice(begin, begin + stepMax).toSorted(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: (readonly Interval<T>[])[] = [];
    for (let pair = 0; pair < runs.length; pair += 2)
      merged.push(yield* merge(runs[pair] as readonly Interval<T>[], runs[pair + 1] ?? []));
    runs = merged;
  }
  return runs[0] ?? [];
}

function* merge<T>(left: readonly Interval<T>[], right: readonly Interval<T>[]): Steps<readonly Interval<T>[]> {
  const merged: Interval<T>[] = [];
  let l = 0;
  let r = 0;
  while (l < left.length || r < right.length) {
    const [ours, theirs] = [left[l], right[r]];
    const isLeft = theirs === undefined || (ours !== undefined && compare(ours, theirs) <= 0);
    merged.push((isLeft ? ours : theirs) as Interval<T>);
    if (isLeft) l += 1;
    else r += 1;
    if (merged.length % stepMax === 0) yield;
  }
  return merged;
}

/**
 * Finds the ranges that contain a number, in time that grows with the logarithm of their number and with the number of
 * results. The ranges are a balanced tree in an array, sorted by bottom; each node has the greatest top of its subtree.
 */
export class IntervalIndex<T> {
  readonly #intervals: readonly Interval<T>[];
  readonly #greatestTop: Float64Array;

  /** The intervals are sorted. */
  constructor(intervals: readonly Interval<T>[]) {
    this.#intervals = intervals;
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
