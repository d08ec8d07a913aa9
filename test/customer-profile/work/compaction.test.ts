import { expect, test } from "vitest";

import { createCompaction } from "../../../services/customer-profile/work/compaction.ts";
import type { Store } from "../../../services/kit/store/store.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { silentLogger } from "../../support/silent-logger.ts";

const bytes = (text: string) => new Uint8Array(Buffer.from(text, "hex"));

/** A store in which keys wait for their compaction: `domain/profile`, or `domain/` for a domain's own. */
const storeWithErased = (erased: readonly string[], failures = 0) => {
  const done: string[] = [];
  const waiting = erased.map((key) => ({ key: key.split("/").map(bytes), value: {} }));
  let fails = failures;
  const transaction = { delete: () => waiting.shift() };
  const range = async function* (_table: unknown, { limit }: { limit: number }) {
    yield* await Promise.resolve(waiting.slice(0, limit));
  };
  const store = {
    read: async (run: (reader: unknown) => unknown) => run({ range }),
    transact: async (run: (transaction: unknown) => unknown) => run(transaction),
    compact: async (table: { name: string }, { prefix }: { prefix: readonly Uint8Array[] }) => {
      if (fails-- > 0) throw new Error("the disk is full");
      done.push([table.name, ...prefix.map((part) => Buffer.from(part).toString("hex"))].join("/"));
    },
  } as unknown as Store;
  return { store, done };
};

test("many requests within a minute are one compaction, after which nothing waits", async () => {
  const clock = new FakeClock();
  const { store, done } = storeWithErased(["07/09"]);
  const compaction = createCompaction(store, clock, silentLogger);
  compaction.request();
  compaction.request();
  clock.advance(59_999);
  expect(done).toEqual([]);
  clock.advance(1);
  await compaction.stop();
  expect(done).toEqual(["profile_seeds/07/09"]);
  await compaction.run();
  expect(done).toHaveLength(1);
});

test("few keys are compacted one by one, many with all of their domain, a domain's own in its range", async () => {
  const many = Array.from({ length: 17 }, (_, index) => `08/${index.toString(16).padStart(2, "0")}`);
  const { store, done } = storeWithErased(["07/", "07/09", "07/0a", ...many]);
  await createCompaction(store, new FakeClock(), silentLogger).run();
  expect(done).toEqual(["domain_keys/07", "profile_seeds/07/09", "profile_seeds/07/0a", "profile_seeds/08"]);
});

test("stopping begins nothing", async () => {
  const clock = new FakeClock();
  const { store, done } = storeWithErased(["07/09"]);
  const compaction = createCompaction(store, clock, silentLogger);
  compaction.request();
  await compaction.stop();
  clock.advance(60_000);
  expect(done).toEqual([]);
});

test("stopping waits for the batch that is being compacted, and leaves the others to the next start", async () => {
  const many = Array.from({ length: 2_500 }, (_, index) => `07/${index.toString(16).padStart(4, "0")}`);
  const { store, done } = storeWithErased(many);
  const compaction = createCompaction(store, new FakeClock(), silentLogger);
  const running = compaction.run();
  await compaction.stop();
  await running;
  expect(done).toEqual(["profile_seeds/07"]);
  compaction.request();
  await createCompaction(store, new FakeClock(), silentLogger).run();
  expect(done).toHaveLength(3);
});

test("a compaction that fails is tried again after a minute", async () => {
  const clock = new FakeClock();
  const { store, done } = storeWithErased(["07/09"], 1);
  const compaction = createCompaction(store, clock, silentLogger);
  compaction.request();
  clock.advance(60_000);
  await new Promise(setImmediate);
  expect(done).toEqual([]);
  clock.advance(60_000);
  await compaction.stop();
  expect(done).toEqual(["profile_seeds/07/09"]);
});

test("a compaction that fails stops stops neither the service nor the next one", async () => {
  const clock = new FakeClock();
  const compaction = createCompaction(storeWithErased(["07/09"], 2).store, clock, silentLogger);
  compaction.request();
  clock.advance(60_000);
  await expect(compaction.stop()).resolves.toBeUndefined();
  await expect(compaction.run()).rejects.toThrow("the disk is full");
});
