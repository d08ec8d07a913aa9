import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { describe, expect, test } from "vitest";

import { flattenText } from "../../../services/event-bus/pattern/flatten.ts";
import { Matcher } from "../../../services/event-bus/pattern/matcher.ts";
import { parsePattern } from "../../../services/event-bus/pattern/parse.ts";
import type { PatternEntry } from "../../../services/event-bus/pattern/segment.ts";
import { Segment } from "../../../services/event-bus/pattern/segment.ts";
import type { Steps } from "../../../services/event-bus/pattern/steps.ts";
import { runAtOnce } from "../../../services/event-bus/pattern/steps.ts";
import { walkTree } from "../../../services/event-bus/pattern/walk.ts";

const entryOf = (pattern: string, name = "rule"): PatternEntry<string> => ({
  name,
  pattern: parsePattern(pattern),
  item: name,
});

const countSteps = (steps: Steps<void>): number => {
  let count = 0;
  while (steps.next().done !== true) count += 1;
  return count;
};

/** The steps of finding a pattern in an event. */
const stepsOf = (pattern: string, event: string): number => {
  const { tree } = runAtOnce(Segment.compile([entryOf(pattern)]));
  const flat = flattenText(event, (path) => tree.hasPrefix(path));
  return countSteps(walkTree(tree, flat, () => {}));
};

const repeat = (element: string, count: number): string => Array.from({ length: count }, () => element).join();

describe("an event with four times as many elements takes four times as many steps", () => {
  const both = '{"x":1,"y":0}';

  // what it is, pattern, event with so many elements
  test.each<[string, string, (count: number) => string]>([
    ["one array", '{"a":{"x":[1],"y":[2,3]}}', (count) => `{"a":[${repeat(both, count)}]}`],
    [
      "three arrays",
      '{"a":{"x":[1],"y":[2,3]},"b":{"x":[1],"y":[2,3]},"c":{"x":[1],"y":[2,3]}}',
      (count) => `{"a":[${repeat(both, count)}],"b":[${repeat(both, count)}],"c":[${repeat(both, count)}]}`,
    ],
    [
      "an array in each element",
      '{"a":{"b":{"x":[1],"y":[2,3]}}}',
      (count) => `{"a":[${repeat(`{"b":[${both}]}`, count)}]}`,
    ],
    [
      "two arrays in each element",
      '{"a":{"b":{"x":[1],"y":[2,3]},"c":{"x":[1],"y":[2,3]}}}',
      (count) => `{"a":[${repeat(`{"b":[${both},${both}],"c":[${both}]}`, count)}]}`,
    ],
    [
      "what may be absent",
      '{"a":{"x":[1],"y":[{"exists":false}]},"b":{"x":[1],"y":[{"exists":false}]}}',
      (count) => `{"a":[${repeat(both, count)}],"b":[${repeat(both, count)}]}`,
    ],
  ])("%s", (_what, pattern, eventOf) => {
    const few = stepsOf(pattern, eventOf(100));
    const many = stepsOf(pattern, eventOf(400));
    expect(few).toBeGreaterThan(20);
    expect(many / few).toBeLessThan(4.5);
  });
});

test("a rule that was found is not looked for in further elements", () => {
  const steps = (last: number) =>
    stepsOf(
      '{"a":{"x":[1],"y":[2,3]}}',
      `{"a":[${repeat('{"x":1,"y":0}', last)},${repeat('{"x":1,"y":2}', 400 - last)}]}`,
    );
  expect(steps(399) - steps(0)).toBeGreaterThan(150);
});

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

test("what is remembered of elements that many rules look at is little", () => {
  const rules = Array.from({ length: 100 }, (_none, rule) =>
    entryOf(`{"a":{"x":[{"numeric":[">",${-rule}]}],"y":[{"prefix":"z"}]}}`, `rule-${rule}`),
  );
  const { tree } = runAtOnce(Segment.compile(rules));
  const flat = flattenText(`{"a":[${repeat('{"x":1,"y":"a"}', 4_000)}]}`, (path) => tree.hasPrefix(path));
  const heapBytes = (): number => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const before = heapBytes();
  let [most, count] = [0, 0];
  for (const steps = walkTree(tree, flat, () => {}); steps.next().done !== true; count += 1)
    if (count % 20_000 === 999) most = Math.max(most, heapBytes() - before);
  expect(count).toBeGreaterThan(100_000);
  // The 400,000 pairs of an element and a rule have about 8 bytes each, with room for more.
  expect(most / 400_000).toBeLessThan(30);
});

test("elements in a thousand arrays are found as quickly as in one", () => {
  const element = '{"x":1,"y":0},';
  const event = `{"a":${"[".repeat(1_000)}${element.repeat(14_000)}{"x":1,"y":2}${"]".repeat(1_000)}}`;
  const matcher = new Matcher<string>().with([entryOf('{"a":{"x":[1],"y":[2,3]}}')]);
  expect(matcher.match(flattenText(event, matcher.wants))).toEqual(["rule"]);
});

test("literals directly in an array belong to all elements of it", () => {
  const matcher = new Matcher<string>().with([entryOf('{"a":{"x":[1]},"a":[2]}')]);
  const found = (event: string): string[] => matcher.match(flattenText(event, matcher.wants));
  const others = repeat('{"x":0}', 10);
  expect(found(`{"a":[${others},{"x":1},${repeat("3", 10)},2]}`)).toEqual(["rule"]);
  expect(found(`{"a":[${others},{"x":1},${repeat("[2]", 10)}]}`)).toEqual([]);
});

test("everything else runs while an event of many leaves is compared with many rules", async () => {
  const matcher = new Matcher<string>().with(
    Array.from({ length: 300 }, (_, rule) =>
      entryOf(`{"a":[{"numeric":[">",${-rule}]}],"b":[{"prefix":"z"}]}`, `rule-${rule}`),
    ),
  );
  const event = `{"a":[${repeat("1", 20_000)}]}`;
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  expect(await matcher.matchInTurns(flattenText(event, matcher.wants), { owner: "a" })).toEqual([]);
  isOver = true;
  expect(turns).toBeGreaterThan(3);
});
