import type { NumberRange } from "./condition.ts";
import type { Growing } from "./integer-rows.ts";
import type { Steps } from "./steps.ts";

/** Numbers that are sorted or merged in one step. */
const stepMax = 1_024;

const isBottomOpen = 1;
const isTopOpen = 2;

const noBounds = new Float64Array(0);
const noOpenness = new Uint8Array(0);
const capacityMin = 4;

/** Ranges of numbers, without an object for each. */
export class Ranges implements Growing {
  #bounds = noBounds;
  #openness = noOpenness;
  #size = 0;

  /** The bytes of memory. */
  get bytes(): number {
    return this.#bounds.byteLength + this.#openness.byteLength;
  }

  /** Adds a range and returns its number. */
  add(range: NumberRange): number {
    if (this.#size === this.#openness.length) this.#grow();
    this.#bounds[this.#size * 2] = range.bottom;
    this.#bounds[this.#size * 2 + 1] = range.top;
    this.#openness[this.#size] = (range.isBottomOpen ? isBottomOpen : 0) | (range.isTopOpen ? isTopOpen : 0);
    return this.#size++;
  }

  bottomOf(range: number): number {
    return this.#bounds[range * 2] as number;
  }

  topOf(range: number): number {
    return this.#bounds[range * 2 + 1] as number;
  }

  /** Whether a value is within a range. */
  contains(range: number, value: number): boolean {
    const openness = this.#openness[range] as number;
    const [bottom, top] = [this.bottomOf(range), this.topOf(range)];
    return (
      ((openness & isBottomOpen) === 0 ? value >= bottom : value > bottom) &&
      ((openness & isTopOpen) === 0 ? value <= top : value < top)
    );
  }

  makeRoom(): boolean {
    if (this.#size + (this.#size >>> 3) <= this.#openness.length) return false;
    this.#grow();
    return true;
  }

  #grow(): void {
    const [bounds, openness] = [this.#bounds, this.#openness];
    const capacity = Math.max(openness.length * 2, capacityMin);
    this.#bounds = new Float64Array(capacity * 2);
    this.#bounds.set(bounds);
    this.#openness = new Uint8Array(capacity);
    this.#openness.set(openness);
  }
}

type Compare = (a: number, b: number) => number;

/** The integers below a number in the order of a comparison. */
function* sortInSteps(count: number, compare: Compare): Steps<Int32Array> {
  let sorted = Int32Array.from({ length: count }, (_none, position) => position);
  for (let begin = 0; begin < count; begin += stepMax) {
    sorted.subarray(begin, begin + stepMax).sort(compare);
    yield;
  }
  let merged = new Int32Array(count);
  for (let width = stepMax; width < count; width *= 2) {
    for (let begin = 0; begin < count; begin += 2 * width) yield* merge(sorted, merged, begin, width, compare);
    [sorted, merged] = [merged, sorted];
  }
  return sorted;
}

/** Merges two sorted parts of an array, which follow one another, into another array. */
function* merge(from: Int32Array, to: Int32Array, begin: number, width: number, compare: Compare): Steps<void> {
  const middle = Math.min(begin + width, from.length);
  const end = Math.min(begin + 2 * width, from.length);
  let [left, right] = [begin, middle];
  for (let at = begin; at < end; at += 1) {
    const isLeft = right === end || (left < middle && compare(from[left] as number, from[right] as number) <= 0);
    to[at] = from[isLeft ? left++ : right++] as number;
    if (at % stepMax === 0) yield;
  }
}

/**
 * Finds the ranges that contain a number, in time that grows with the logarithm of their number and with the number of
 * results. The ranges are a balanced tree in an array, sorted by bottom; each node has the greatest top of its subtree.
 */
export class IntervalIndex {
  readonly #ranges: Ranges;
  readonly #sorted: Int32Array;
  readonly #items: Int32Array;
  readonly #greatestTop: Float64Array;

  /** The ranges are sorted by bottom; `items` are theirs. */
  private constructor(ranges: Ranges, sorted: Int32Array, items: Int32Array) {
    this.#ranges = ranges;
    this.#sorted = sorted;
    this.#items = items;
    this.#greatestTop = new Float64Array(sorted.length);
    this.#prepare(0, sorted.length);
  }

  /** The index of some of the ranges, each with its item. */
  static *of(ranges: Ranges, members: Int32Array, items: Int32Array): Steps<IntervalIndex> {
    const compare = (a: number, b: number): number =>
      ranges.bottomOf(members[a] as number) - ranges.bottomOf(members[b] as number);
    const order = yield* sortInSteps(members.length, compare);
    const sorted = order.map((position) => members[position] as number);
    yield;
    return new IntervalIndex(
      ranges,
      sorted,
      order.map((position) => items[position] as number),
    );
  }

  /** The bytes of memory. */
  get bytes(): number {
    return this.#sorted.byteLength + this.#items.byteLength + this.#greatestTop.byteLength;
  }

  /** Calls `found` with the item of every range that contains the value. */
  find(value: number, found: (item: number) => void): void {
    this.#search(0, this.#sorted.length, value, found);
  }

  #prepare(from: number, to: number): number {
    if (from >= to) return -Infinity;
    const middle = (from + to) >>> 1;
    const own = this.#ranges.topOf(this.#sorted[middle] as number);
    const top = Math.max(own, this.#prepare(from, middle), this.#prepare(middle + 1, to));
    this.#greatestTop[middle] = top;
    return top;
  }

  #search(from: number, to: number, value: number, found: (item: number) => void): void {
    if (from >= to) return;
    const middle = (from + to) >>> 1;
    if ((this.#greatestTop[middle] ?? -Infinity) < value) return;
    this.#search(from, middle, value, found);
    const range = this.#sorted[middle] as number;
    if (this.#ranges.bottomOf(range) > value) return;
    if (this.#ranges.contains(range, value)) found(this.#items[middle] as number);
    this.#search(middle + 1, to, value, found);
  }
}
