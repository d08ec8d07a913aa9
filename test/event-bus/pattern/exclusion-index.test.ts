import { describe, expect, test } from "vitest";

import { ExclusionIndex } from "../../../services/event-bus/pattern/exclusion-index.ts";
import { runAtOnce } from "../../../services/event-bus/pattern/steps.ts";

/** Conditions by their names, with the texts that they exclude. */
const indexOf = (conditions: Readonly<Record<string, readonly string[]>>) => {
  const index = new ExclusionIndex();
  const names = Object.keys(conditions);
  for (const [item, texts] of Object.values(conditions).entries()) index.add(texts, item);
  runAtOnce(index.seal());
  return { index, names };
};

type Found = (item: number) => void;

const found = (names: readonly string[], find: (found: Found) => void) => {
  const items: number[] = [];
  find((item) => items.push(item));
  return { names: items.map((item) => names[item] ?? "").toSorted(), calls: items.length };
};

describe("an index of exclusions", () => {
  const { index, names: all } = indexOf({ a: ["sale"], b: ["sale", "gift"], c: ["sale", "sale"], d: ["gift"], e: [] });

  // text | the conditions that it meets
  test.each([
    ["sale", ["d", "e"]],
    ["gift", ["a", "c", "e"]],
    ["loan", ["a", "b", "c", "d", "e"]],
    ["", ["a", "b", "c", "d", "e"]],
  ])("finds what %s meets, each once", (text, names) => {
    expect(found(all, (each) => index.findText(text, each))).toEqual({ names, calls: names.length });
  });

  test("finds all for a leaf that is no text", () => {
    const { names } = found(all, (each) => index.findAll(each));
    expect(names).toEqual(["a", "b", "c", "d", "e"]);
  });

  test("visits only what a text meets, however many conditions exclude it", () => {
    const { index: many } = indexOf(
      Object.fromEntries(Array.from({ length: 10_000 }, (_none, n) => [`rule-${n}`, n === 7 ? ["gift"] : ["sale"]])),
    );
    let tests = 0;
    const beginMs = process.cpuUsage();
    for (let n = 0; n < 100_000; n += 1) many.findText("sale", () => (tests += 1));
    const { user } = process.cpuUsage(beginMs);
    expect(tests).toBe(100_000);
    // One by one, these would be 1,000,000,000 tests.
    expect(user / 1_000).toBeLessThan(2_000);
  });
});
