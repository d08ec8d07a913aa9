import { expect, test } from "vitest";

import { KeyFilter } from "../../../services/kit/store/key-filter.ts";

/** A key of 16 bytes, as an index has them. */
const key = (number: number): string => `\u0000\u0011${String(number).padStart(14, "\u00ff")}`;
const numbers = (first: number, count: number): number[] => Array.from({ length: count }, (_none, at) => first + at);

test("a filter may have each key that was added, and hardly any other, however many there are", () => {
  const filter = new KeyFilter();
  for (const [from, to] of [
    [0, 1_000],
    [1_000, 80_000],
    [80_000, 300_000],
  ] as const) {
    for (const number of numbers(from, to - from)) filter.add(key(number));
    expect(numbers(0, to).filter((number) => !filter.mayHave(key(number)))).toEqual([]);
    const others = numbers(1_000_000, 10_000);
    expect(others.filter((number) => filter.mayHave(key(number))).length).toBeLessThan(200);
  }
});

test("a filter may have any key when it was given more than it has memory for", () => {
  const filter = new KeyFilter(2 ** 20);
  for (const number of numbers(0, 80_000)) filter.add(key(number));
  expect(filter.mayHave(key(1_000_000))).toBe(false);
  for (const number of numbers(80_000, 20_000)) filter.add(key(number));
  expect(numbers(0, 10_000).every((number) => filter.mayHave(key(number)))).toBe(true);
  expect(filter.mayHave(key(1_000_000))).toBe(true);
});

test("a key that is added again and again takes no room", () => {
  const filter = new KeyFilter(2 ** 20);
  for (let round = 0; round < 200_000; round += 1) filter.add(key(round % 10));
  expect(filter.mayHave(key(1_000_000))).toBe(false);
});
