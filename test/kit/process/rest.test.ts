import { expect, test } from "vitest";

import { collectAtRest, collectGarbage } from "../../../services/kit/process/rest.ts";
import { FakeClock } from "../../support/fake-clock.ts";

/** An amount of something that happens, in how many intervals of two seconds, and the collections after them. */
type Row = readonly [amount: number, intervals: number, collections: number];

/** Lets the intervals of all rows pass; returns the rows with the collections that there were. */
const passed = (
  rows: readonly Row[],
  {
    clock,
    happens,
    collections,
  }: { clock: FakeClock; happens: (amount: number, interval: number) => void; collections: () => number },
): Row[] =>
  rows.map(([amount, intervals]) => {
    for (let interval = 0; interval < intervals; interval += 1) {
      happens(amount, interval);
      clock.advance(2_000);
    }
    return [amount, intervals, collections()];
  });

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
  // Milliseconds of processor time in each interval.
  const rows: readonly Row[] = [
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
  ];
  const happens = (ms: number): void => void (usedMs += ms);
  expect(passed(rows, { clock, happens, collections: () => collections })).toEqual(rows);
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
  // Mebibytes by which the heap grows in the first interval.
  const rows: readonly Row[] = [
    [0, 5, 1],
    [3.9, 60, 1],
    [0.1, 1, 2],
    [0, 1, 2],
    [4, 28, 2],
    [0, 1, 3],
    [0, 60, 3],
  ];
  const happens = (mebibytes: number, interval: number): void => {
    if (interval === 0) heap += mebibytes * mebibyte;
  };
  expect(passed(rows, { clock, happens, collections: () => collections })).toEqual(rows);
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
