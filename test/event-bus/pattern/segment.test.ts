import { expect, onTestFinished, test, vi } from "vitest";

import { flattenText } from "../../../services/event-bus/pattern/flatten.ts";
import { Matcher } from "../../../services/event-bus/pattern/matcher.ts";
import type { Pattern } from "../../../services/event-bus/pattern/parse.ts";
import { parsePattern } from "../../../services/event-bus/pattern/parse.ts";
import type { PatternEntry } from "../../../services/event-bus/pattern/segment.ts";
import { Segment } from "../../../services/event-bus/pattern/segment.ts";

/** Counts how often the entries of a set are looked at. */
const countingEntries = (count: number) => {
  let looks = 0;
  const entries = Array.from({ length: count }, (_none, n): PatternEntry<number> => {
    const counted = <T>(value: T): T => {
      looks += 1;
      return value;
    };
    return {
      get name(): string {
        return counted(`rule-${n}`);
      },
      get pattern(): Pattern {
        return counted(parsePattern(`{"source":["shop.${n}"],"detail":{"amount":[{"numeric":[">",${n % 100}]}]}}`));
      },
      item: n,
    };
  });
  return { entries, looks: () => looks };
};

const matched = (matcher: Matcher<number>, source: number): number[] =>
  matcher.match(flattenText(`{"source":"shop.${source}","detail":{"amount":1000}}`, matcher.wants));

test("no step of a compilation copies more than one table of many rows", () => {
  let copied = 0;
  const original = Int32Array;
  class CountedArray extends original<ArrayBuffer> {
    static get [Symbol.species]() {
      return original;
    }

    constructor(length: number) {
      super(new ArrayBuffer(length * 4));
      if (length > 10_000) copied += 1;
    }
  }
  vi.stubGlobal("Int32Array", CountedArray);
  onTestFinished(() => void vi.unstubAllGlobals());
  const { entries } = countingEntries(20_000);
  const steps = Segment.compile(entries);
  const counts = new Set<number>();
  for (let isDone = false; !isDone;) {
    const before = copied;
    isDone = steps.next().done === true;
    counts.add(copied - before);
  }
  expect([...counts].toSorted((a, b) => a - b)).toEqual([0, 1]);
});

test("no step of a compilation looks at more than a few entries", () => {
  const { entries, looks } = countingEntries(10_000);
  const steps = Segment.compile(entries);
  let most = 0;
  for (let isDone = false; !isDone;) {
    const before = looks();
    isDone = steps.next().done === true;
    most = Math.max(most, looks() - before);
  }
  // Four, and one more for another name of the same hash, which differs in each process.
  expect(most).toBeLessThanOrEqual(6);
});

test("a change of a large set looks at few entries, however many have been removed", () => {
  const { entries, looks } = countingEntries(10_000);
  let matcher = new Matcher<number>().with(entries);
  matcher = matcher.with(
    [],
    Array.from({ length: 4_000 }, (_none, n) => `rule-${n}`),
  );
  const before = looks();
  for (let n = 4_000; n < 4_100; n += 1) matcher = matcher.with([], [`rule-${n}`]);
  // The name of each is compared once, and another one of the same hash, which differs in each process.
  expect(looks() - before).toBeGreaterThanOrEqual(100);
  expect(looks() - before).toBeLessThanOrEqual(102);
  expect(matcher.size).toBe(5_900);
  expect([matched(matcher, 4_099), matched(matcher, 4_100)]).toEqual([[], [4_100]]);
});

test("sets that were made of one set are independent of one another", () => {
  const { entries } = countingEntries(200);
  const all = new Matcher<number>().with(entries);
  const first = all.with([], ["rule-1"]);
  const second = all.with([], ["rule-2", "rule-3"]);
  const found = [all, first, second, first.with([], ["rule-4"])].map((matcher) => [
    matcher.size,
    ...[1, 2, 3, 4].flatMap((n) => matched(matcher, n)),
  ]);
  expect(found).toEqual([
    [200, 1, 2, 3, 4],
    [199, 2, 3, 4],
    [198, 1, 4],
    [198, 2, 3],
  ]);
});

test("a set is about as large as its patterns need, not as objects would be", () => {
  const { entries } = countingEntries(10_000);
  expect(new Matcher<number>().with(entries).bytes).toBeLessThan(10_000 * 400);
});

const fieldsOf = (prefix: string, count: number): string =>
  Array.from({ length: count }, (_none, index) => `"${prefix}${index}":[1]`).join();
const orOf = (alternatives: readonly string[]): string => `{"$or":[${alternatives.map((each) => `{${each}}`).join()}]}`;

// what the pattern has besides two $or of ten branches
test.for([
  ["98 fields", `{${fieldsOf("f", 98)}}`],
  ["an $or of two branches with 40 fields each", orOf([fieldsOf("f", 40), fieldsOf("g", 40)])],
] as const)("the branches of a pattern share the conditions of %s", ([, shared]) => {
  const ten = orOf(Array.from({ length: 10 }, (_none, index) => `"x${index}":["y"]`));
  // Whether its name comes before theirs or after them. Each branch for itself has more than 800,000 bytes.
  for (const name of ["a", "z"]) {
    const pattern = parsePattern(`{"m":${ten},"n":${ten},"${name}":${shared}}`);
    expect(new Matcher<true>().with([{ name: "it", pattern, item: true }]).bytes).toBeLessThan(60_000);
  }
});
