import { parquetWriteBuffer } from "hyparquet-writer";
import { expect, onTestFinished, test } from "vitest";

import { ServiceError } from "../../../services/kit/faults/service-error.ts";
import type { ScanPoolOptions } from "../../../services/object-storage/select/worker/scan-pool.ts";
import { ScanPool } from "../../../services/object-storage/select/worker/scan-pool.ts";
import { eventually } from "../../support/eventually.ts";
import { parquetJob } from "./parquet-file.ts";

/** A file of one record, which processes read. */
const file = Buffer.from(parquetWriteBuffer({ columnData: [{ name: "a", data: ["one"], type: "STRING" }] }));
const job = parquetJob("SELECT * FROM S3Object", file);
const [alice, bob, carol] = ["111122223333", "444455556666", "777788889999"] as const;

let pool: ScanPool;

const startPool = (options: Partial<ScanPoolOptions> = {}): void => {
  pool = new ScanPool({ threads: 2, timeLimitMs: 900_000, waitingPerThread: 2, ...options });
  onTestFinished(() => pool.close());
};

/** A query that has its object only when it is released; `begun` says whether its process has asked for it. */
const query = (accountId: string) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const state = { begun: false };
  const object = {
    sizeBytes: file.length,
    pieces: async function* (from: number, to: number) {
      state.begun = true;
      await released;
      yield file.subarray(from, to);
    },
  };
  const scan = pool.run(accountId, job, object, new AbortController().signal);
  return { outcome: outcomeOf(scan), release, begins: () => eventually(() => state.begun, "it begins"), state };
};

/** What was found, or the reason of the refusal. */
const outcomeOf = async (scan: AsyncGenerator<{ readonly result: Uint8Array | undefined }>): Promise<string> => {
  let found = "";
  try {
    for await (const { result } of scan) if (result !== undefined) found += Buffer.from(result).toString();
    return found.trim();
  } catch (error) {
    if (error instanceof ServiceError) return error.facts.reason;
    throw error;
  }
};

test("an account whose queries hold all processes keeps no other one waiting", async () => {
  startPool();
  const [first, second, third] = [query(alice), query(alice), query(alice)];
  await Promise.all([first.begins(), second.begins()]);
  const other = query(bob);
  other.release();
  expect(await other.outcome).toBe("one");
  expect(third.state.begun).toBe(false);
  for (const each of [first, second, third]) each.release();
  expect(await Promise.all([first.outcome, second.outcome, third.outcome])).toEqual(["one", "one", "one"]);
});

test("the account with the fewest processes is next, and then the one whose turn was longest ago", async () => {
  startPool();
  const [first, second] = [query(alice), query(alice)];
  const other = query(bob);
  await Promise.all([first, second, other].map((each) => each.begins()));
  const order: string[] = [];
  const waiting = ([alice, bob, bob, carol] as const).map((accountId) => {
    const each = query(accountId);
    each.release();
    return each.outcome.then(() => order.push(accountId));
  });
  // One place becomes free, again and again; then those of alice do.
  other.release();
  await Promise.all(waiting.slice(1));
  first.release();
  second.release();
  await Promise.all(waiting);
  expect(order).toEqual([carol, bob, bob, alice]);
});

test("after a turn the oldest query of the account with most is busy, for an account that has no process", async () => {
  startPool({ turnMs: 1 });
  const held = [query(alice), query(alice), query(bob)];
  const own = query(alice);
  await Promise.all(held.map((each) => each.begins()));
  const other = query(carol);
  other.release();
  expect(await other.outcome).toBe("one");
  expect(own.state.begun).toBe(false);
  for (const each of [...held, own]) each.release();
  const outcomes = await Promise.all([...held, own].map(({ outcome }) => outcome));
  expect(outcomes).toEqual(["SELECT_BUSY", "one", "one", "one"]);
});

test("more queries of an account than may wait are refused, and another account's still wait", async () => {
  startPool();
  const held = [query(alice), query(alice), query(bob)];
  const waiting = Array.from({ length: 4 }, () => query(alice));
  expect(await query(alice).outcome).toBe("SELECT_BUSY");
  const other = query(carol);
  for (const each of [...held, ...waiting, other]) each.release();
  const outcomes = await Promise.all([...held, ...waiting, other].map(({ outcome }) => outcome));
  expect(outcomes).toEqual(outcomes.map(() => "one"));
});
