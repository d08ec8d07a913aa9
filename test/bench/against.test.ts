import { expect, test } from "vitest";

import { compareRows } from "./against.ts";
import type { BenchRow } from "./bench.ts";

const row = (what: string, value: number, bare: number): BenchRow => ({
  what,
  value,
  unit: "µs",
  baseline: { what: "µs of a bare answer", value: bare },
  ratio: bare / value,
});

// A GET that became cheaper, in rounds in which the other clone's bare server was slow.
const before = [row("GET", 100, 20), row("HEAD", 80, 10)];
const after = [row("GET", 80, 10), row("PUT", 120, 10)];

test("costs of the same rounds are compared themselves, whatever a bare figure beside them was", () => {
  expect(compareRows({ before, after }, "costs")).toEqual([
    { before: before[0], after: after[0], gain: 1.25, of: "costs" },
  ]);
});

test("costs of different rounds are compared by their ratios", () => {
  expect(compareRows({ before, after }, "ratios")).toEqual([
    { before: before[0], after: after[0], gain: 0.625, of: "ratios" },
  ]);
});
