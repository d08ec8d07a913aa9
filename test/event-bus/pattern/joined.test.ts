import { expect, test } from "vitest";

import { flattenText } from "../../../services/event-bus/pattern/flatten.ts";
import { Matcher } from "../../../services/event-bus/pattern/matcher.ts";
import { parsePattern } from "../../../services/event-bus/pattern/parse.ts";
import type { PatternEntry } from "../../../services/event-bus/pattern/segment.ts";

/** A rule that matches the source of a number. */
const entryOf = (n: number, source = n): PatternEntry<number> => ({
  name: `rule-${n}`,
  pattern: parsePattern(`{"source":["shop.${source}"]}`),
  item: n,
});

const matched = (matcher: Matcher<number>, source: number): number[] =>
  matcher.match(flattenText(`{"source":"shop.${source}"}`, matcher.wants));

test("parts that are joined while the set changes keep every change", async () => {
  let matcher = new Matcher<number>();
  const sources = new Map<number, number>();
  let joins = 0;
  for (let n = 0; n < 1_500; n += 1) {
    const joining = matcher.joined();
    const changed = n % 3 === 0 && n > 0 ? n - 2 : undefined;
    const removed = n % 5 === 0 && n > 0 ? n - 1 : undefined;
    const entries = [entryOf(n), ...(changed === undefined ? [] : [entryOf(changed, 10_000 + n)])];
    matcher = matcher.with(entries, removed === undefined ? [] : [`rule-${removed}`]);
    sources.set(n, n);
    if (removed !== undefined) sources.delete(removed);
    if (changed !== undefined) sources.set(changed, 10_000 + n);
    const join = await joining;
    if (join !== undefined) {
      joins += 1;
      matcher = join(matcher);
    }
  }
  expect(joins).toBeGreaterThan(0);
  expect(matcher.size).toBe(sources.size);
  for (const [n, source] of sources) expect(matched(matcher, source)).toEqual([n]);
  expect(matched(matcher, 4)).toEqual([]);
});
