import { expect, test } from "vitest";

import { collectAtRest, collectGarbage } from "../../../services/kit/process/rest.ts";
import { FakeClock } from "../../support/fake-clock.ts";

test("a process that rests after its start or after work gives memory back, once each time", () => {
  const clock = new FakeClock();
  let [usedMs, collections] = [0, 0];
  const end = collectAtRest({
    clock,
    usedMs: () => usedMs,
    heapBytes: () => 0,
    collect: () => {
      collections += 1;
      usedMs += 120;
    },
  });
  const counts: Array<readonly [number, number, number]> = [];
  // Processor time in intervals of two seconds, and how many of them follow each other.
  for (const [ms, intervals] of [
    [500, 1],
    [39, 3],
    [40, 1],
    [39, 3],
    [0, 1],
    [60, 1],
    [0, 40],
    [100, 1],
    [0, 29],
    [60, 1],
    [0, 29],
    [39, 1],
    [0, 40],
  ] as const) {
    for (let interval = 0; interval < intervals; interval += 1) {
      usedMs += ms;
      clock.advance(2_000);
    }
    counts.push([ms, intervals, collections]);
  }
  expect(counts).toEqual([
    [500, 1, 0],
    [39, 3, 0],
    [40, 1, 0],
    [39, 3, 0],
    [0, 1, 1],
    [60, 1, 1],
    [0, 40, 1],
    [100, 1, 1],
    [0, 29, 1],
    [60, 1, 1],
    [0, 29, 1],
    [39, 1, 2],
    [0, 40, 2],
  ]);
  end();
  expect(clock.pending()).toEqual([]);
});

test("a process that works from its start on gives memory back a minute after it ends", () => {
  const clock = new FakeClock();
  let [usedMs, collections] = [0, 0];
  const end = collectAtRest({ clock, usedMs: () => usedMs, heapBytes: () => 0, collect: () => (collections += 1) });
  for (let interval = 0; interval < 6; interval += 1) {
    usedMs += 100;
    clock.advance(2_000);
  }
  for (let interval = 0; interval < 29; interval += 1) clock.advance(2_000);
  expect(collections).toBe(0);
  clock.advance(2_000);
  expect(collections).toBe(1);
  end();
});

test("a process that never works much gives memory back when its heap has grown by 4 MiB, once a minute at most", () => {
  const clock = new FakeClock();
  const mebibyte = 1024 * 1024;
  let [heap, collections] = [9 * mebibyte, 0];
  const end = collectAtRest({
    clock,
    usedMs: () => 0,
    heapBytes: () => heap,
    collect: () => {
      collections += 1;
      heap = 6 * mebibyte;
    },
  });
  const counts: Array<readonly [mebibytes: number, intervals: number, collections: number]> = [];
  for (const [mebibytes, intervals] of [
    [0, 5],
    [3.9, 60],
    [0.1, 1],
    [0, 1],
    [4, 28],
    [0, 1],
    [0, 60],
  ] as const) {
    for (let interval = 0; interval < intervals; interval += 1) {
      if (interval === 0) heap += mebibytes * mebibyte;
      clock.advance(2_000);
    }
    counts.push([mebibytes, intervals, collections]);
  }
  expect(counts).toEqual([
    [0, 5, 1],
    [3.9, 60, 1],
    [0.1, 1, 2],
    [0, 1, 2],
    [4, 28, 2],
    [0, 1, 3],
    [0, 60, 3],
  ]);
  end();
});

test("a collection returns what V8 reserved for objects that are garbage", () => {
  let kept: object[] | undefined = Array.from({ length: 500_000 }, (_, index) => ({ index }));
  const before = process.memoryUsage().heapTotal;
  expect(kept.length).toBe(500_000);
  kept = undefined;
  collectGarbage();
  expect(before - process.memoryUsage().heapTotal).toBeGreaterThan(10 * 1024 * 1024);
});
