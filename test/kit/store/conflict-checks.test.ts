import { Int64ValueSchema } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";

import { AddedUp, addTo } from "../../../services/kit/store/additions.ts";
import type { Addition } from "../../../services/kit/store/additions.ts";
import { ConflictLog } from "../../../services/kit/store/conflict-log.ts";
import { ReadSet } from "../../../services/kit/store/read-set.ts";
import { WriteSet } from "../../../services/kit/store/write-set.ts";
import { seededRandom } from "./seeded-random.ts";

const nothing = new Uint8Array();

/** Runs a function and returns its result with the milliseconds of processor time that it took. */
const timed = <T>(run: () => T): { readonly result: T; readonly cpuMs: number } => {
  const begin = process.cpuUsage();
  const result = run();
  const { user, system } = process.cpuUsage(begin);
  return { result, cpuMs: (user + system) / 1_000 };
};

const keyOf = (index: number): string => index.toString(16).padStart(8, "0");

/** Reads as many ranges apart, each between two keys that the changes have. */
const manyRanges = (count: number): ReadSet => {
  const reads = new ReadSet();
  for (let index = 0; index < count; index += 1)
    reads.addRange({ low: `${keyOf(index)}a`, high: `${keyOf(index)}b` }, false).toEnd();
  return reads;
};

const changesOf = (keys: readonly string[]): WriteSet => {
  const changes = new WriteSet();
  for (const key of keys) changes.set(key, nothing);
  return changes;
};

const indexes = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

// Searching each key in each range took 2,700 ms for the first, and 180 ms for the second.
test("4,000 ranges are compared with a group of 60,000 keys without a pause", () => {
  const changes = changesOf(indexes(60_000).map((index) => `${keyOf(index)}c`));
  const { result, cpuMs } = timed(() => manyRanges(4_000).isTouchedBy(changes));
  expect(result).toBe(false);
  expect(cpuMs).toBeLessThan(400);
});

test("16,000 ranges are compared with 100,000 keys of 1,000 groups without a pause", () => {
  const log = new ConflictLog(100_000);
  log.watch();
  for (const group of indexes(1_000))
    log.append(changesOf(indexes(100).map((index) => `${keyOf(index * 7)}c${group}`)));
  const { result, cpuMs } = timed(() => log.hasConflict(0, manyRanges(16_000)));
  expect(result).toBe(false);
  expect(cpuMs).toBeLessThan(400);
});

// A group of 1,000 transactions, each of which read a range and changes 60 keys.
test("a group is compared with each transaction that joins it without being sorted again", () => {
  const group = new WriteSet();
  const reads = manyRanges(1);
  const members = indexes(1_000).map((member) =>
    changesOf(indexes(60).map((index) => `${keyOf(index + 1)}c${member}`)),
  );
  const { result, cpuMs } = timed(() =>
    members.some((changes) => {
      group.setAll(changes);
      return reads.isTouchedBy(group);
    }),
  );
  expect(result).toBe(false);
  expect(cpuMs).toBeLessThan(400);
});

test("a transaction that lists after each of 20,000 changes does not sort them again", () => {
  const changes = new WriteSet();
  const { result, cpuMs } = timed(() => {
    let found = 0;
    for (let index = 0; index < 20_000; index += 1) {
      const key = keyOf((index * 7_919) % 20_000);
      changes.set(key, undefined);
      found += changes.within({ low: key, high: `${key}\u0000` }).length;
    }
    return found;
  });
  expect(result).toBe(20_000);
  expect(cpuMs).toBeLessThan(2_000);
});

test("random ranges are touched exactly by the keys that lie in them", () => {
  const random = seededRandom(7);
  const word = (): string => [0, 0, 0].map(() => random.pick(["a", "b", "c"])).join("");
  for (let round = 0; round < 2_000; round += 1) {
    const bounds = indexes(1 + random.below(5)).map(() => ({ low: word(), high: word() }));
    const reads = new ReadSet();
    for (const each of bounds) if (each.low < each.high) reads.addRange(each, random.below(2) === 0).toEnd();
    const changes = new WriteSet();
    const log = new ConflictLog(1_000);
    log.watch();
    const keys: string[] = [];
    let isTouched = false;
    for (let step = 0; step < 4; step += 1) {
      const added = indexes(1 + random.below(2)).map(word);
      keys.push(...added);
      isTouched ||= added.some((key) => bounds.some(({ low, high }) => key >= low && key < high));
      const own = changesOf(added);
      changes.setAll(own);
      log.append(own);
      for (const { low, high } of bounds) {
        const within = [...new Set(keys)].filter((key) => key >= low && key < high).toSorted();
        expect([keys, low, high, changes.within({ low, high }).map(({ key }) => key)]).toEqual([
          keys,
          low,
          high,
          within,
        ]);
      }
      expect([keys, bounds, reads.isTouchedBy(changes)]).toEqual([keys, bounds, isTouched]);
      expect([keys, bounds, log.hasConflict(0, reads)]).toEqual([keys, bounds, isTouched]);
    }
  }
});

// Looking for each sum in the changes of each member took 940 ms.
test("10,000 transactions that each count something of their own are added up without a pause", () => {
  const members = indexes(10_000).map((member) => {
    const additions = new Map<string, Addition>();
    addTo(additions, `count-${member}`, Int64ValueSchema, { value: 1 });
    return { additions, changes: changesOf(indexes(10).map((index) => `${keyOf(index)}d${member}`)) };
  });
  const addedUp = new AddedUp();
  const { cpuMs } = timed(() => {
    for (const { changes, additions } of members) addedUp.append(changes, additions);
  });
  expect(addedUp.sums.size).toBe(10_000);
  expect(cpuMs).toBeLessThan(400);
});
