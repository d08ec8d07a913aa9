import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { describe, expect, it } from "vitest";

import { eventually } from "../../support/eventually.ts";
import { rounds } from "../../support/rounds.ts";
import { jobHarness, leftovers, patient } from "./job-harness.ts";

const mebibyte = 1024 * 1024;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/**
 * The bytes of live memory. V8 frees the buffers that a collection found dead on another thread and counts them until
 * that is done; the next collection waits for it, so only a second one leaves out everything dead.
 */
const liveBytes = (): number => {
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

describe("a backlog that is due all at once", () => {
  it("is run to its end, once each, in memory that does not depend on its length", async () => {
    const count = rounds(5_000, 100_000);
    const payload = new Uint8Array((100 * mebibyte) / count);
    const perTransaction = 250;
    let peakBytes = 0;
    const ran = new Uint8Array(count);
    const { store, clock, jobs } = await jobHarness({
      handlers: {
        counted: async (job) => {
          const number = Number(job.id);
          ran[number] = (ran[number] as number) + 1;
          if (number % Math.floor(count / 20) === 0) peakBytes = Math.max(peakBytes, liveBytes());
          return { done: true };
        },
      },
      policy: { counted: patient },
    });
    const emptyBytes = liveBytes();
    const dueMs = clock.now() + 1_000;
    for (let begun = 0; begun < count; begun += perTransaction)
      await store.transact((tx) => {
        for (let number = begun; number < begun + perTransaction; number += 1)
          jobs.enqueue(tx, { kind: "counted", owner: `${number % 9}`, payload, id: `${number}`, dueMs });
      });
    jobs.start();
    clock.advance(1_000);
    await eventually(() => jobs.stats().done === count, "all have run", 300_000);
    await jobs.idle();
    expect(ran.every((times) => times === 1)).toBe(true);
    expect(await leftovers(store)).toEqual({});
    // All payloads together have 100 MiB.
    expect(peakBytes - emptyBytes).toBeLessThan(10 * mebibyte);
  }, 300_000);
});
