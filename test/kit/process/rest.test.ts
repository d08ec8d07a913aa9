import { expect, test } from "vitest";

import { collectAtRest, collectGarbage } from "../../../services/kit/process/rest.ts";
import { FakeClock } from "../../support/fake-clock.ts";

test("a process that comes to rest after its start or after work gives memory back, once each time", () => {
  const clock = new FakeClock();
  let [usedMs, collections] = [0, 0];
  const end = collectAtRest({
    clock,
    usedMs: () => usedMs,
    collect: () => {
      collections += 1;
      usedMs += 120;
    },
  });
  const counts: Array<readonly [number, number]> = [];
  // Processor time in intervals of two seconds.
  for (const ms of [500, 39, 39, 0, 40, 39, 39, 0, 0, 0, 60, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0]) {
    usedMs += ms;
    clock.advance(2_000);
    counts.push([ms, collections]);
  }
  expect(counts).toEqual([
    [500, 0],
    [39, 0],
    [39, 0],
    [0, 0],
    [40, 0],
    [39, 0],
    [39, 0],
    [0, 0],
    [0, 1],
    [0, 1],
    [60, 1],
    [0, 1],
    [0, 1],
    [0, 1],
    [0, 1],
    [100, 1],
    [0, 1],
    [0, 1],
    [0, 1],
    [0, 2],
    [0, 2],
  ]);
  end();
  expect(clock.pending()).toEqual([]);
});

test("a collection returns what V8 reserved for objects that are garbage", () => {
  let kept: object[] | undefined = Array.from({ length: 500_000 }, (_, index) => ({ index }));
  const before = process.memoryUsage().heapTotal;
  expect(kept.length).toBe(500_000);
  kept = undefined;
  collectGarbage();
  expect(before - process.memoryUsage().heapTotal).toBeGreaterThan(10 * 1024 * 1024);
});
