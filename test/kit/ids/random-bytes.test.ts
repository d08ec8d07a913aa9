import { expect, test } from "vitest";

import { drawRandomBytes } from "../../../services/kit/ids/random-bytes.ts";

test("random bytes are as many as were asked for, and never the same", () => {
  const counts = Array.from({ length: 3_000 }, (_none, index) => 12 + (index % 21));
  const drawn = counts.map((count) => drawRandomBytes(count));
  expect(drawn.map(({ length }) => length)).toEqual(counts);
  expect(new Set(drawn.map((bytes) => bytes.toString("hex"))).size).toBe(3_000);
  expect(drawRandomBytes(10_000)).toHaveLength(10_000);
});

test("random bytes stay the caller's own", () => {
  const first = drawRandomBytes(16);
  const known = first.toString("hex");
  for (let drawn = 0; drawn < 1_000; drawn += 1) drawRandomBytes(16);
  expect(first.toString("hex")).toBe(known);
});

test("each value of a byte is about equally frequent", () => {
  const counts = new Uint32Array(256);
  for (let drawn = 0; drawn < 4_000; drawn += 1) for (const byte of drawRandomBytes(64)) counts[byte]! += 1;
  // 1,000 are expected, with a standard deviation of 32.
  expect(Math.min(...counts)).toBeGreaterThan(750);
  expect(Math.max(...counts)).toBeLessThan(1_250);
});
