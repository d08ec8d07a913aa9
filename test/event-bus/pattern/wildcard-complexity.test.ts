import { expect, test } from "vitest";

import { wildcardComplexity } from "../../../services/event-bus/pattern/wildcard-complexity.ts";
import { parseWildcard } from "../../../services/event-bus/pattern/wildcard.ts";

// wildcard | score
test.each([
  ["*", 1],
  ["a*", 2],
  ["*a*", 3],
  ["*a*a*", 5],
  ["*abc*def*ghi*", 5],
  ["*aa*aa*", 7],
  ["*a*a*a*a*", 9],
  ["*a*a*a*a*a*", 11],
  ["*aaaa*aaaa*", 11],
])("%s scores %i", (wildcard, score) => {
  expect(wildcardComplexity([[parseWildcard(wildcard)]], 100)).toBe(score);
});

test("wildcards of one field add up where one text keeps all alive", () => {
  const wildcards = ["*x1", "*x2", "*x3"].map(parseWildcard);
  expect(
    wildcardComplexity(
      wildcards.map((each) => [each]),
      100,
    ),
  ).toBe(6);
  expect(wildcardComplexity([wildcards], 100)).toBe(2);
});

// wildcards of one list, such as those that anything-but excludes | score
test.each([
  [["*a*a*a*a*a*"], 11],
  [["a*", "b*"], 2],
  [["*a*a*", "*a*a*"], 5],
  [["*b", "*a"], 2],
  [["*caa*a", "*aaab*aab*"], 10],
])("%j as one list scores %i", (wildcards, score) => {
  expect(wildcardComplexity([wildcards.map(parseWildcard)], 100)).toBe(score);
});

test("a long wildcard of different characters is scored at once", () => {
  const letters = Array.from({ length: 4000 }, (_, index) => String.fromCodePoint(0x4e00 + index)).join("");
  expect(wildcardComplexity([[parseWildcard(`*${letters}*`)]])).toBe(3);
});

test("a long wildcard made to be slow is scored as too complex", () => {
  expect(wildcardComplexity([[parseWildcard("*ab".repeat(1300))]])).toBe(11);
});

// wildcards of one list | limit | score
const many = (wildcard: (index: number) => string) => Array.from({ length: 600 }, (_, index) => wildcard(index));
test.each([
  ["different ends", many((at) => `*${String.fromCodePoint(0x4e00 + at, 0x5e00 + ((at * 7) % 500))}`), 10, 2],
  ["numbers", many((at) => `*${at}x`), 10, 4],
  ["numbers anywhere", many((at) => `*${at}x*`), 100, 101],
] as const)(
  "many wildcards of one list, %s, are scored at once",
  (_name, wildcards, limit, score) => {
    expect(wildcardComplexity([wildcards.map(parseWildcard)], limit)).toBe(score);
  },
  5_000,
);
