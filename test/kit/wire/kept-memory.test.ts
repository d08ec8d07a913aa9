import { expect, test } from "vitest";

import { KeptMemory } from "../../../services/kit/wire/kept-memory.ts";

test("memory that was given back is taken again, if it is large enough", () => {
  const memory = new KeptMemory();
  const first = memory.take(1_000);
  memory.giveBack(first);
  expect(memory.take(1_000)).toBe(first);
  memory.giveBack(first);
  expect(memory.take(1_001)).not.toBe(first);
});

test("one user has it at a time", () => {
  const memory = new KeptMemory();
  memory.giveBack(memory.take(1_000));
  expect(memory.take(10)).not.toBe(memory.take(10));
});

test("the larger of two is kept", () => {
  const memory = new KeptMemory();
  const [small, large] = [memory.take(1_000), memory.take(2_000)];
  memory.giveBack(large);
  memory.giveBack(small);
  expect(memory.take(10)).toBe(large);
});

test("more than a MiB is not kept", () => {
  const memory = new KeptMemory();
  const [large, tooLarge] = [memory.take(1_048_576), memory.take(1_048_577)];
  memory.giveBack(tooLarge);
  expect(memory.take(10)).not.toBe(tooLarge);
  memory.giveBack(large);
  expect(memory.take(10)).toBe(large);
});
