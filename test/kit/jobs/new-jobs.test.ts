import { describe, expect, it, onTestFinished } from "vitest";

import { defaultLimits, storeOver } from "../../../services/kit/store/store.ts";
import { eventually } from "../../support/eventually.ts";
import { memoryEngine } from "../store/memory-engine.ts";
import { jobHarness, leftovers, openJobStore, payload, started } from "./job-harness.ts";

const jobOf = (owner: string, kind = "held") => ({ kind, owner, payload });

const startedHarness = async (options: Parameters<typeof jobHarness>[0] = {}) => {
  const harness = await jobHarness(options);
  harness.jobs.start();
  await harness.jobs.idle();
  return harness;
};

describe("a job that starts from memory", () => {
  it("is one record, which its end deletes", async () => {
    const { store, clock, jobs, held, enqueue } = await startedHarness();
    await enqueue({ ...jobOf("alice"), expiresMs: clock.now() + 60_000 });
    await started(held, 1);
    expect(await leftovers(store)).toEqual({ jobs_new: 1 });
    const { writtenBytes } = store.stats();
    held[0]?.end({ done: true });
    await jobs.idle();
    expect(await leftovers(store)).toEqual({});
    expect(store.stats().writtenBytes - writtenBytes).toBeLessThan(64);
  });

  it("is one record with a payload of up to 64 KiB too, and two once it has failed", async () => {
    const { store, clock, jobs, held, enqueue } = await startedHarness();
    const large = new Uint8Array(65_536).fill(7);
    await enqueue({ ...jobOf("alice"), payload: large });
    await started(held, 1);
    expect(await leftovers(store)).toEqual({ jobs_new: 1 });
    held[0]?.end({ retry: true, reason: "busy" });
    await jobs.idle();
    expect(await leftovers(store)).toEqual({ job_bodies: 1, job_states: 1, jobs_scheduled: 1 });
    clock.advance(1_000);
    const [, again] = await started(held, 2);
    expect(again?.job.payload).toEqual(large);
    again?.end({ done: true });
    await jobs.idle();
    expect(await leftovers(store)).toEqual({});
  });

  it("is found and cancelled like any other", async () => {
    const { store, jobs, held, enqueue } = await startedHarness();
    await enqueue(jobOf("alice"));
    const [run] = await started(held, 1);
    const id = run?.job.id ?? "";
    expect(await store.read((reader) => jobs.find(reader, id))).toMatchObject({ isRunning: true, attempts: 0 });
    expect(await store.transact((tx) => jobs.cancel(tx, id))).toBe(true);
    expect(run?.context.signal.aborted).toBe(true);
    run?.end({ retry: true, reason: "aborted" });
    await jobs.idle();
    expect(await store.read((reader) => jobs.find(reader, id))).toBeUndefined();
    expect(await leftovers(store)).toEqual({});
  });

  it("is like all others from its first failure on, with its attempts and its age", async () => {
    const { store, clock, jobs, held, enqueue } = await startedHarness();
    await enqueue({ ...jobOf("alice"), expiresMs: clock.now() + 60_000 });
    const [run] = await started(held, 1);
    run?.end({ retry: true, reason: "busy" });
    await jobs.idle();
    expect(await leftovers(store)).toEqual({ job_states: 1, jobs_scheduled: 1, jobs_expiring: 1 });
    clock.advance(1_000);
    const [, again] = await started(held, 2);
    expect(again).toMatchObject({ job: { lastReason: "busy" }, context: { attempt: 2 } });
    again?.end({ done: true });
    await jobs.idle();
    expect(await leftovers(store)).toEqual({});
  });

  it("is there for the next process if its end was not yet written", async () => {
    const engine = memoryEngine();
    const store = storeOver(engine, defaultLimits);
    const { held, enqueue } = await startedHarness({ store });
    await enqueue(jobOf("alice"), jobOf("bob"));
    await started(held, 2);
    const release = engine.hold();
    onTestFinished(async () => {
      release();
      await store.close();
    });
    for (const run of held) run.end({ done: true, isBrief: true, apply: () => {} });
    await eventually(() => engine.writes === 2, "the ends are being written");

    const next = storeOver({ ...engine, write: async () => {} }, defaultLimits);
    onTestFinished(() => next.close());
    expect(await leftovers(next)).toEqual({ jobs_new: 2 });
  });

  it("waits in memory and in one record for its owner, and counts as due", async () => {
    const { store, jobs, held, enqueue } = await startedHarness({ concurrency: 64, concurrencyPerOwner: 2 });
    await enqueue(...Array.from({ length: 5 }, () => jobOf("alice")));
    await started(held, 2);
    expect(await leftovers(store)).toEqual({ jobs_new: 5 });
    expect(await jobs.countDue(100)).toBe(3);
    expect(await jobs.countDue(2)).toBe(2);
  });

  it("is moved to the others when there is no room for it, and all are run once", async () => {
    const { store, jobs, noted, held, enqueue } = await startedHarness({ concurrency: 64, concurrencyPerOwner: 1 });
    await enqueue(jobOf("alice"), ...Array.from({ length: 1_100 }, () => jobOf("alice", "note")));
    await started(held, 1);
    await eventually(async () => (await leftovers(store))["jobs_ready"] === 77, "those without room are moved");
    expect(await leftovers(store)).toEqual({ jobs_new: 1_024, job_states: 77, jobs_ready: 77 });
    expect(await jobs.countDue(2_000)).toBe(1_100);
    held[0]?.end({ done: true });
    await jobs.idle();
    expect(new Set(noted)).toHaveLength(1_100);
    expect(noted).toHaveLength(1_100);
    expect(await leftovers(store)).toEqual({});
  });
});

describe("jobs in memory at the end of a process", () => {
  it("are moved to the others by a stop, but for those that still run", async () => {
    const { store, jobs, held, enqueue } = await startedHarness({ concurrency: 64, concurrencyPerOwner: 1 });
    await enqueue(...Array.from({ length: 4 }, () => jobOf("alice")));
    await started(held, 1);
    await jobs.stop(0);
    expect(await leftovers(store)).toEqual({ jobs_new: 1, job_states: 3, jobs_ready: 3 });
  });

  it("are run by the next process, without an attempt more", async () => {
    const store = await openJobStore();
    const first = await startedHarness({ store });
    const expiresMs = first.clock.now() + 60_000;
    await first.enqueue(jobOf("alice"), { ...jobOf("bob"), expiresMs });
    await started(first.held, 2);
    await first.jobs.stop(0);
    expect(await leftovers(store)).toEqual({ jobs_new: 2 });

    const second = await jobHarness({ store, clock: first.clock, concurrencyPerOwner: 1 });
    second.jobs.start();
    await started(second.held, 2);
    expect(second.held.map(({ job, context }) => [job.owner, context.attempt])).toEqual([
      ["alice", 1],
      ["bob", 1],
    ]);
    expect(await leftovers(store)).toEqual({ job_states: 2, jobs_ready: 2, jobs_expiring: 1 });
  });

  it("expire in the next process if their age has ended", async () => {
    const store = await openJobStore();
    const first = await startedHarness({ store });
    await first.enqueue({ ...jobOf("bob"), expiresMs: first.clock.now() + 60_000 });
    await started(first.held, 1);
    await first.jobs.stop(0);
    first.clock.advance(62_000);
    const second = await startedHarness({ store, clock: first.clock });
    await eventually(() => second.jobs.stats().exhausted === 1, "the job is given up");
    expect(second.held).toEqual([]);
    expect(await leftovers(store)).toEqual({});
  });
});
