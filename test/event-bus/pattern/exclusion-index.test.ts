import { describe, expect, test } from "vitest";

import { ExclusionIndex } from "../../../services/event-bus/pattern/exclusion-index.ts";
import { runAtOnce } from "../../../services/event-bus/pattern/steps.ts";

/** Conditions by their names, with the texts that they exclude. */
const indexOf = (conditions: Readonly<Record<string, readonly string[]>>) => {
  const index = new ExclusionIndex<string>();
  for (const [name, texts] of Object.entries(conditions)) index.add(texts, name);
  runAtOnce(index.seal());
  return index;
};

const found = (index: ExclusionIndex<string>, text: string): { readonly names: string[]; readonly calls: number } => {
  const names: string[] = [];
  index.findText(text, (name) => names.push(name));
  return { names: names.toSorted(), calls: names.length };
};

describe("an index of exclusions", () => {
  const index = indexOf({ a: ["sale"], b: ["sale", "gift"], c: ["sale", "sale"], d: ["gift"], e: [] });

  // text | the conditions that it meets
  test.each([
    ["sale", ["d", "e"]],
    ["gift", ["a", "c", "e"]],
    ["loan", ["a", "b", "c", "d", "e"]],
    ["", ["a", "b", "c", "d", "e"]],
  ])("finds what %s meets, each once", (text, names) => {
    expect(found(index, text)).toEqual({ names, calls: names.length });
  });

  test("finds all for a leaf that is no text", () => {
    const names: string[] = [];
    index.findAll((name) => names.push(name));
    expect(names.toSorted()).toEqual(["a", "b", "c", "d", "e"]);
  });

  test("visits only what a text meets, however many conditions exclude it", () => {
    const many = indexOf(
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
