import { describe, expect, it, onTestFinished } from "vitest";

import type { OwnerGate } from "../../../services/kit/jobs/jobs.ts";
import { defaultLimits, storeOver } from "../../../services/kit/store/store.ts";
import { eventually } from "../../support/eventually.ts";
import { fixedIds } from "../../support/fixed-ids.ts";
import { countingEngine } from "../store/counting-engine.ts";
import { jobHarness, leftovers, openJobStore, payload, started } from "./job-harness.ts";

const jobOf = (owner: string, kind = "held") => ({ kind, owner, payload });

const countingHarness = async (options: Parameters<typeof jobHarness>[0] = {}) => {
  const { engine, scanned } = countingEngine();
  const store = storeOver(engine, defaultLimits);
  onTestFinished(() => store.close());
  const harness = await jobHarness({ store, ...options });
  harness.jobs.start();
  await harness.jobs.idle();
  return { ...harness, scanned };
};

/** A gate that does not answer for some owners before it is released. */
const stuckGate = () => {
  const released = Promise.withResolvers<void>();
  const asked: string[] = [];
  const gate: OwnerGate = {
    roomOf: async (_reader, owner) => {
      asked.push(owner);
      if (owner.startsWith("stuck")) await released.promise;
      return { count: Infinity, againMs: Infinity };
    },
    begin: () => {},
  };
  return { gate, asked, release: released.resolve };
};

const bounds = { concurrency: 8, concurrencyPerOwner: 2 };

/** One run at a time of an owner whose jobs go to the store as long as `places.pool` is "slow". */
const slowHarness = async () => {
  const places = { pool: "slow" };
  const one = { concurrency: 8, concurrencyPerOwner: 1 };
  const harness = await countingHarness({
    pools: { fast: one, slow: { ...one, batchMax: 4 } },
    placeOf: (owner) => ({ pool: places.pool, group: owner }),
  });
  return { ...harness, places };
};

const numbered = (number: number) => ({ ...jobOf("alice"), payload: new Uint8Array([number]) });

describe("a job that was just enqueued", () => {
  it("starts without being read from the store", async () => {
    const { jobs, noted, enqueue, scanned } = await countingHarness();
    const before = scanned();
    for (let n = 0; n < 10; n += 1) {
      await enqueue(jobOf("alice", "note"));
      await jobs.idle();
    }
    expect(noted).toHaveLength(10);
    expect(scanned() - before).toBe(0);
  });

  it("starts while the jobs of another pool are being taken", async () => {
    const { gate, asked, release } = stuckGate();
    const { jobs, held, enqueue } = await jobHarness({
      gate,
      pools: { fast: bounds, slow: { ...bounds, batchMax: 4 } },
      placeOf: (owner) => ({ pool: owner.startsWith("stuck") ? "slow" : "fast", group: owner }),
    });
    jobs.start();
    await jobs.idle();
    await enqueue(jobOf("stuck"));
    await eventually(() => asked.includes("stuck"), "the taking has begun");
    await enqueue(jobOf("alice"), jobOf("bob"));
    await started(held, 2);
    expect(held.map(({ job }) => job.owner)).toEqual(["alice", "bob"]);
    release();
    await started(held, 3);
  });

  it("waits for a place of its owner, and is not read for it either", async () => {
    const { jobs, held, enqueue, scanned } = await countingHarness({ concurrency: 64, concurrencyPerOwner: 2 });
    const before = scanned();
    await enqueue(...Array.from({ length: 5 }, () => jobOf("alice")));
    await started(held, 2);
    expect(jobs.stats().running).toBe(2);
    for (let ended = 0; ended < 5; ended += 1) {
      await started(held, Math.min(5, ended + 2));
      held[ended]?.end({ done: true });
    }
    await jobs.idle();
    expect(held.map(({ context }) => context.attempt)).toEqual([1, 1, 1, 1, 1]);
    expect(scanned() - before).toBe(0);
  });

  it("takes its turn with all others once most places of its pool are taken", async () => {
    const { jobs, held, enqueue } = await countingHarness({ concurrency: 8, concurrencyPerOwner: 8 });
    await enqueue(...Array.from({ length: 20 }, () => jobOf("loud")));
    await started(held, 8);
    await enqueue(jobOf("alice"), jobOf("bob"));
    for (const run of held.slice(0, 4)) run.end({ done: true });
    await started(held, 12);
    expect(held.slice(8).map(({ job }) => job.owner)).toEqual(expect.arrayContaining(["alice", "bob"]));
    expect(jobs.stats().running).toBe(8);
  });

  it("waits in memory for a place of its pool as long as nobody waits in the store, and is not read", async () => {
    const { jobs, held, enqueue, scanned } = await countingHarness({ concurrency: 1 });
    const before = scanned();
    await enqueue(jobOf("alice"), jobOf("alice"), jobOf("alice"), jobOf("bob"));
    for (let ended = 0; ended < 4; ended += 1) {
      await started(held, ended + 1);
      expect(jobs.stats().running).toBe(1);
      held[ended]?.end({ done: true });
    }
    await jobs.idle();
    expect(held.map(({ job }) => job.owner)).toEqual(["alice", "bob", "alice", "alice"]);
    expect(scanned() - before).toBe(0);
  });

  it("waits in memory for the few jobs of its owner in the store, so that those of a busy one are read no more", async () => {
    const { held, enqueue, scanned, places } = await slowHarness();
    await enqueue(numbered(0), numbered(1));
    await started(held, 1);
    places.pool = "fast";
    let before = 0;
    for (let ended = 0; ended < 12; ended += 1) {
      await enqueue(numbered(ended + 2));
      if (ended === 3) before = scanned();
      held[ended]?.end({ done: true });
      await started(held, ended + 2);
    }
    expect(scanned() - before).toBe(0);
    expect(held.map(({ job }) => job.payload[0])).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  });

  it("waits in memory for those that were there before the start, once they have all begun", async () => {
    const { engine, scanned } = countingEngine();
    const store = storeOver(engine, defaultLimits);
    onTestFinished(() => store.close());
    const ids = fixedIds();
    const first = await jobHarness({ store, ids });
    await first.enqueue(numbered(0), numbered(1), numbered(2));
    const { clock, jobs, held, enqueue } = await jobHarness({ store, ids, concurrency: 8, concurrencyPerOwner: 1 });
    jobs.start();
    await started(held, 1);
    let before = 0;
    for (let ended = 0; ended < 16; ended += 1) {
      clock.advance(1);
      await enqueue(numbered(ended + 3));
      if (ended === 8) before = scanned();
      held[ended]?.end({ done: true });
      await started(held, ended + 2);
    }
    expect(scanned() - before).toBe(0);
    expect(held.map(({ job }) => job.payload[0])).toEqual(Array.from({ length: 17 }, (_, number) => number));
  });

  it("does not wait in memory for many jobs of its owner in the store", async () => {
    const { store, held, enqueue, places } = await slowHarness();
    await enqueue(...Array.from({ length: 1_030 }, () => numbered(0)));
    await started(held, 1);
    places.pool = "fast";
    await enqueue(numbered(1));
    expect(await leftovers(store)).toEqual({ job_states: 1_031, jobs_ready: 1_031 });
  });

  it("waits in memory no longer once its owner is in a pool whose jobs are taken in small steps", async () => {
    const { store, jobs, held, enqueue, places } = await slowHarness();
    await enqueue(numbered(0), numbered(1));
    await started(held, 1);
    places.pool = "fast";
    await enqueue(numbered(2));
    expect(await leftovers(store)).toEqual({ job_states: 2, jobs_ready: 2, jobs_new: 1 });
    places.pool = "slow";
    held[0]?.end({ done: true });
    await started(held, 2);
    await eventually(async () => (await leftovers(store))["jobs_new"] === undefined, "the job is with the others");
    held[1]?.end({ done: true });
    await started(held, 3);
    held[2]?.end({ done: true });
    await jobs.idle();
    expect(held.map(({ job }) => job.payload[0])).toEqual([0, 1, 2]);
    expect(await leftovers(store)).toEqual({});
  });

  it("is run once, however many come at a time", async () => {
    const { store, jobs, noted, enqueue } = await countingHarness({ concurrency: 16, concurrencyPerOwner: 4 });
    await Promise.all(
      Array.from({ length: 40 }, (_, n) => enqueue(...Array.from({ length: 10 }, () => jobOf(`${n % 7}`, "note")))),
    );
    await jobs.idle();
    expect(noted).toHaveLength(400);
    expect(new Set(noted)).toHaveLength(400);
    expect(await leftovers(store)).toEqual({});
  });

  it("does not start once it is cancelled", async () => {
    const { store, jobs, held, enqueue } = await countingHarness({ concurrency: 64, concurrencyPerOwner: 1 });
    await enqueue(jobOf("alice"));
    await started(held, 1);
    const id = await store.transact((tx) => jobs.enqueue(tx, jobOf("alice")));
    expect(await store.transact((tx) => jobs.cancel(tx, id))).toBe(true);
    held[0]?.end({ done: true });
    await jobs.idle();
    expect(held).toHaveLength(1);
    expect(await leftovers(store)).toEqual({});
  });

  it("does not start once its age has ended", async () => {
    const { store, clock, jobs, held, enqueue } = await countingHarness({
      concurrency: 64,
      concurrencyPerOwner: 1,
      leaseMs: 10_000_000,
    });
    await enqueue(jobOf("alice"), { ...jobOf("alice"), expiresMs: clock.now() + 60_000 });
    await started(held, 1);
    clock.advance(61_000);
    await eventually(() => jobs.stats().exhausted === 1, "the job is given up");
    held[0]?.end({ done: true });
    await jobs.idle();
    expect(held).toHaveLength(1);
    expect(await leftovers(store)).toEqual({});
  });

  it("waits in the store while its owner may not start one before an instant", async () => {
    const untilMs = Date.UTC(2027, 0, 1);
    const { clock, jobs, held, enqueue } = await countingHarness({
      gate: {
        roomOf: (_reader, _owner, _running, nowMs) => ({ count: nowMs < untilMs ? 0 : 4, againMs: untilMs }),
        begin: () => {},
      },
    });
    await enqueue(jobOf("alice"), jobOf("alice"));
    await jobs.idle();
    expect(jobs.stats()).toMatchObject({ running: 0, ownersWaiting: 1 });
    clock.set(untilMs);
    await started(held, 2);
    expect(jobs.stats()).toMatchObject({ running: 2, ownersWaiting: 0 });
  });

  it("is there after a restart if it has not started", async () => {
    const store = await openJobStore();
    const first = await jobHarness({ store, concurrency: 64, concurrencyPerOwner: 1 });
    first.jobs.start();
    await first.jobs.idle();
    await first.enqueue(...Array.from({ length: 4 }, () => jobOf("alice")));
    await started(first.held, 1);
    await first.jobs.stop(0);
    const second = await jobHarness({ store });
    second.jobs.start();
    await started(second.held, 4);
    expect(second.jobs.stats().running).toBe(4);
  });
});
