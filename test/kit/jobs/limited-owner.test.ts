import { expect, it, onTestFinished } from "vitest";

import { defaultLimits, storeOver } from "../../../services/kit/store/store.ts";
import { countingEngine } from "../store/counting-engine.ts";
import { jobHarness, payload, started } from "./job-harness.ts";

const startLimited = async () => {
  const { engine, scanned } = countingEngine();
  const store = storeOver(engine, defaultLimits);
  onTestFinished(() => store.close());
  const harness = await jobHarness({ store, concurrency: 128, concurrencyPerOwner: 4 });
  return { ...harness, scanned };
};

it("reads a few of the jobs of an owner at its limit, however many it has", async () => {
  const { jobs, held, enqueue, scanned } = await startLimited();
  await enqueue(...Array.from({ length: 500 }, () => ({ kind: "held", owner: "alice", payload })));
  jobs.start();
  await started(held, 4);
  const before = scanned();
  held[0]?.end({ done: true });
  await started(held, 5);
  expect(scanned() - before).toBeLessThan(20);
});

it("finds the owners after one at its limit", async () => {
  const { jobs, held, enqueue } = await startLimited();
  await enqueue(...Array.from({ length: 500 }, () => ({ kind: "held", owner: "alice", payload })));
  for (const owner of ["bob", "carol"])
    await enqueue(...Array.from({ length: 5 }, () => ({ kind: "held", owner, payload })));
  jobs.start();
  await started(held, 12);
  held[0]?.end({ done: true });
  await started(held, 13);
  expect(Object.groupBy(held, ({ job }) => job.owner)).toMatchObject({
    alice: { length: 5 },
    bob: { length: 4 },
    carol: { length: 4 },
  });
});

it("begins the next jobs of an owner while the ends of a few are being written, and no more", async () => {
  const pools = { only: { concurrency: 128, concurrencyPerOwner: 1, endingPerOwner: 2 } };
  const { jobs, held, enqueue } = await jobHarness({ pools, placeOf: (group) => ({ pool: "only", group }) });
  await enqueue(...Array.from({ length: 6 }, () => ({ kind: "held", owner: "alice", payload })));
  jobs.start();
  const disk = Promise.withResolvers<void>();
  for (const count of [1, 2, 3]) {
    await started(held, count);
    held[count - 1]?.end({ done: true, apply: () => disk.promise });
  }
  await enqueue({ kind: "held", owner: "bob", payload });
  await started(held, 4);
  expect(held.map(({ job }) => job.owner)).toEqual(["alice", "alice", "alice", "bob"]);
  disk.resolve();
  await started(held, 5);
});
