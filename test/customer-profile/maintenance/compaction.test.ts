import { expect, test } from "vitest";

import { createCompaction } from "../../../services/customer-profile/maintenance/compaction.ts";
import type { Store } from "../../../services/kit/store/store.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { silentLogger } from "../../support/silent-logger.ts";

/** Twice, because what was written and deleted at once reaches the files together and goes only with the second. */
const wholeCompaction = ["profile_keys", "domain_keys", "fences", "profile_keys", "domain_keys"];

const countingStore = (fails = false) => {
  const compacted: string[] = [];
  const store = {
    compact: async (table: { name: string }) => {
      if (fails) throw new Error("the disk is full");
      compacted.push(table.name);
    },
    transact: async () => {
      compacted.push("fences");
    },
  } as unknown as Store;
  return { store, compacted };
};

test("many requests within a minute are one compaction of the two key ranges", async () => {
  const clock = new FakeClock();
  const { store, compacted } = countingStore();
  const compaction = createCompaction(store, clock, silentLogger);
  compaction.request();
  compaction.request();
  clock.advance(59_999);
  expect(compacted).toEqual([]);
  clock.advance(1);
  await compaction.stop();
  expect(compacted).toEqual(wholeCompaction);
});

test("stopping does what was asked for", async () => {
  const { store, compacted } = countingStore();
  const compaction = createCompaction(store, new FakeClock(), silentLogger);
  compaction.request();
  await compaction.stop();
  expect(compacted).toEqual(wholeCompaction);
});

test("a compaction that fails does not stop the service", async () => {
  const compaction = createCompaction(countingStore(true).store, new FakeClock(), silentLogger);
  compaction.request();
  await expect(compaction.stop()).resolves.toBeUndefined();
});
