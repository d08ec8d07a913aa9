import { expect, test } from "vitest";

import { ConflictLog } from "../../../services/kit/store/conflict-log.ts";
import { ReadSet } from "../../../services/kit/store/read-set.ts";
import { WriteSet } from "../../../services/kit/store/write-set.ts";

const writing = (...keys: string[]): WriteSet => {
  const changes = new WriteSet();
  for (const key of keys) changes.set(key, new Uint8Array());
  return changes;
};

/** A reader of all keys from `low` to before `high`. */
const scanning = (low: string, high: string): ReadSet => {
  const reads = new ReadSet();
  reads.addRange({ low, high }, false).toEnd();
  return reads;
};

test("what was written before a reader began is no conflict, even while an older reader needs it", () => {
  const log = new ConflictLog(100);
  const older = log.watch();
  log.append(writing("b"));
  const newer = log.watch();
  expect(log.hasConflict(older.version, scanning("a", "c"))).toBe(true);
  expect(log.hasConflict(newer.version, scanning("a", "c"))).toBe(false);
  log.append(writing("bb", "d"));
  // version, range, whether something in it was written since
  const outcomes = [
    [newer.version, "a", "c"],
    [newer.version, "a", "bb"],
    [newer.version, "c", "d"],
    [log.version, "a", "z"],
  ].map(([version, low, high]) => log.hasConflict(version as number, scanning(low as string, high as string)));
  expect(outcomes).toEqual([true, false, false, false]);
});

test("keys are forgotten when no reader needs them, and one that is older than what was forgotten counts as lost", () => {
  const log = new ConflictLog(2);
  const reader = log.watch();
  log.append(writing("a", "b"));
  expect(log.keyCount).toBe(2);
  log.append(writing("c"));
  expect(log.keyCount).toBe(1);
  expect(log.hasConflict(reader.version, scanning("x", "y"))).toBe(true);
  log.unwatch(reader);
  log.append(writing("d"));
  expect(log.keyCount).toBe(0);
});
