import { describe, expect, test } from "vitest";

import { PassingMap } from "../../../services/kit/collections/passing-map.ts";
import { collector } from "../../../services/kit/process/collector.ts";

/** Sets so many keys of 8 KB each; sixteen are in the map at a time. */
const passThrough = (map: PassingMap<object, true>, waiting: object[], count: number): void => {
  for (let passed = 0; passed < count; passed += 1) {
    const key = Array.from({ length: 1_000 }, () => passed);
    map.set(key, true);
    waiting.push(key);
    if (waiting.length > 16) map.delete(waiting.shift()!);
  }
};

describe("a map of entries that come and go", () => {
  test("has the entries that were set and not deleted, in their order, after any number of others", () => {
    const map = new PassingMap<number, string>();
    map.set(-2, "first");
    map.set(-1, "second");
    for (let key = 0; key < 5_000; key += 1) {
      map.set(key, "passing");
      expect(map.delete(key)).toBe(true);
    }
    map.set(-2, "changed");
    expect([...map.keys()]).toEqual([-2, -1]);
    expect([...map.values()]).toEqual(["changed", "second"]);
    expect([map.size, map.get(-1), map.has(-1), map.get(7), map.has(7), map.delete(7)]).toEqual([
      2,
      "second",
      true,
      undefined,
      false,
      false,
    ]);
  });

  test("leaves what was in it to the quick collections of new objects", () => {
    const collect = collector();
    const map = new PassingMap<object, true>();
    const waiting: object[] = [];
    passThrough(map, waiting, 100);
    // The table that the map has now is in the old generation, where only this collection looks.
    collect({ type: "major", execution: "sync" });
    const before = process.memoryUsage().heapUsed;
    for (let round = 0; round < 20; round += 1) {
      passThrough(map, waiting, 500);
      collect({ type: "minor", execution: "sync" });
    }
    // 80 MB passed through; a Map holds 40 of them.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(20_000_000);
  });
});
