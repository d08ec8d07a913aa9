import { describe, expect, test } from "vitest";

import { mutantsOf } from "./mutants.ts";
import type { Judged } from "./verdicts.ts";
import { summaryOf } from "./verdicts.ts";

const changesIn = (source: string): string[] =>
  mutantsOf("a.ts", source).map(({ kind, line, before, after }) => `${line} ${kind}: ${before} => ${after}`);

describe("the mutants of a source", () => {
  test.each([
    // what, source, changes
    ["a guard that throws", "if (size > max) throw tooLarge();", [
      "1 guard removed: size > max => false",
      "1 guard negated: size > max => !(size > max)",
      "1 comparison moved: size > max => size >= max",
    ]],
    ["a guard that returns nothing, after another step", "const f = () => { if (isClosed) { log(); return; } };", [
      "1 guard removed: isClosed => false",
      "1 guard negated: isClosed => !(isClosed)",
    ]],
    ["a predicate", "const isGood = (a: number) => a <= 3 && a >= low;", [
      "1 and for or: a <= 3 && a >= low => (a <= 3) || (a >= low)",
      "1 comparison moved: a <= 3 => a < 3",
      "1 bound moved: 3 => 3 + 1",
      "1 comparison moved: a >= low => a > low",
    ]],
    ["a comparison with parentheses", "const isLate = (a: number) => (a + 1) < (b ? 1 : 2);", [
      "1 comparison moved: (a + 1) < (b ? 1 : 2) => (a + 1) <= (b ? 1 : 2)",
    ]],
    ["a throw that is not a guard's", "switch (kind) {\n  default:\n    throw new Error();\n}", [
      "3 throw dropped: throw new Error(); => ;",
    ]],
    ["calls that hold something", "await handle.datasync();\nverify(head);\nsend(head);", [
      "1 call dropped: await handle.datasync(); => ;",
      "2 call dropped: verify(head); => ;",
    ]],
    ["what decides nothing", "const larger = a < b ? b : a;\nif (a) b();\nfor (let i = 0; i < 3; i += 1) c();", []],
  ] as const)("%s", (_what, source, changes) => {
    expect(changesIn(source)).toEqual(changes);
  }); // prettier-ignore
});

test("the share is that of the mutants that compile and differ, and survivors without a reason are named", () => {
  const judged = (id: string, verdict: Judged["verdict"]): Judged => ({ id, line: 1, verdict, by: "", seconds: 1 });
  const summary = summaryOf(
    [
      judged("a", "caught"),
      judged("b", "timeout"),
      judged("c", "type error"),
      judged("d", "survived"),
      judged("e", "survived"),
      judged("f", "no test"),
    ],
    [
      { id: "d", isEquivalent: true, reason: "the next line decides the same" },
      { id: "e", isEquivalent: false, reason: "only a clock could show it" },
    ],
  );
  expect(summary.run).toBe(5);
  expect(summary.counts).toEqual({ caught: 1, timeout: 1, "type error": 1, survived: 2, "no test": 1 });
  expect(summary.sharePercent).toBe(50);
  expect(summary.unknown.map(({ id }) => id)).toEqual(["f"]);
});
