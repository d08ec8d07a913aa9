import { describe, expect, test } from "vitest";

import { randomIds } from "../../../services/kit/ids/ids.ts";

describe("random ids", () => {
  test("have the form that is asked for", () => {
    expect(randomIds.uuid()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(randomIds.hex(17)).toMatch(/^[0-9a-f]{17}$/);
    expect(randomIds.token(10)).toMatch(/^[0-9A-Za-z]{10}$/);
    expect(randomIds.token(12, "ab")).toMatch(/^[ab]{12}$/);
    expect(randomIds.token(0)).toBe("");
  });

  test("of an instant begin with it, so that they sort by it, and are random otherwise", () => {
    const form = /^0155cb9e-5c41-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    const ids = Array.from({ length: 1_000 }, () => randomIds.uuidAt(1_468_000_001_089.9));
    expect(ids.filter((id) => !form.test(id))).toEqual([]);
    expect(new Set(ids.map((id) => id.slice(14))).size).toBe(1_000);
    const inOrder = [0, 1, 255, 256, 1_468_000_001_090, 2 ** 48 - 1].map((ms) => randomIds.uuidAt(ms));
    expect(inOrder.toSorted()).toEqual(inOrder);
  });

  test("never repeat, however many are asked for and however long they are", () => {
    const ids = Array.from({ length: 5_000 }, (_none, index) => randomIds.hex(16 + (index % 3)));
    expect(new Set(ids).size).toBe(5_000);
    expect(randomIds.hex(20_000)).toMatch(/^[0-9a-f]{20000}$/);
  });

  test("use every letter of the alphabet about equally often", () => {
    const counts = new Map<string, number>();
    for (const letter of randomIds.token(60_000, "abc")) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    const shares = [...counts.values()].map((count) => count / 60_000);
    expect(shares).toHaveLength(3);
    expect(Math.min(...shares)).toBeGreaterThan(0.31);
    expect(Math.max(...shares)).toBeLessThan(0.36);
  });
});
