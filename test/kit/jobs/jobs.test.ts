import { describe, expect, it } from "vitest";

import { randomIds } from "../../../services/kit/ids/ids.ts";
import type { JobPolicy } from "../../../services/kit/jobs/jobs.ts";
import { createJobs, exponentialBackoff } from "../../../services/kit/jobs/jobs.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { fixedIds } from "../../support/fixed-ids.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { counters } from "../store/tables.ts";
import { jobHarness, leftovers, openJobStore, patient, payload, started, tables } from "./job-harness.ts";

describe("enqueue", () => {
  it("runs the job with its payload, once, and leaves no records", async () => {
    const { store, jobs, held, enqueue } = await jobHarness();
    jobs.start();
    await enqueue({ kind: "held", owner: "alice", payload, id: "a" });
    const [run] = await started(held, 1);
    expect(run?.job).toMatchObject({ id: "a", kind: "held", owner: "alice", payload, lastReason: "" });
    expect(run?.context.attempt).toBe(1);
    expect(await leftovers(store)).toEqual({ job_states: 1, jobs_ready: 1 });
    run?.end({ done: true });
    await jobs.idle();
    expect(await leftovers(store)).toEqual({});
    expect(held).toHaveLength(1);
  });

  it("gives the id, a new one when none is asked for", async () => {
    const { store, jobs } = await jobHarness();
    const ids = await store.transact((tx) => [
      jobs.enqueue(tx, { kind: "note", owner: "alice", payload, id: "mine" }),
      jobs.enqueue(tx, { kind: "note", owner: "alice", payload }),
    ]);
    expect(ids).toEqual(["mine", "00000000-0000-4000-8000-000000000002"]);
  });

  it("gives ids that sort by the instants of their jobs, whose records are next to each other", async () => {
    const { store, clock, jobs } = await jobHarness({ ids: randomIds });
    const ids: string[] = [];
    for (let n = 0; n < 20; n += 1) {
      ids.push(await store.transact((tx) => jobs.enqueue(tx, { kind: "note", owner: "alice", payload })));
      clock.advance(1);
    }
    expect(ids.toSorted()).toEqual(ids);
  });

  it("does nothing when the transaction is refused", async () => {
    const { store, jobs } = await jobHarness();
    jobs.start();
    const attempt = store.transact((tx) => {
      jobs.enqueue(tx, { kind: "note", owner: "alice", payload });
      throw new Error("refused");
    });
    await expect(attempt).rejects.toThrow("refused");
    expect(await leftovers(store)).toEqual({});
  });

  it("keeps jobs until the start", async () => {
    const { jobs, noted, enqueue } = await jobHarness();
    await enqueue({ kind: "note", owner: "alice", payload, id: "a" });
    expect(noted).toEqual([]);
    jobs.start();
    await jobs.idle();
    expect(noted).toEqual(["a 1"]);
  });

  it("runs a job not before it is due, and wakes up for it", async () => {
    const { clock, jobs, noted, enqueue } = await jobHarness();
    jobs.start();
    await enqueue({ kind: "note", owner: "alice", payload, id: "later", dueMs: clock.now() + 60_000 });
    await jobs.idle();
    clock.advance(59_999);
    await jobs.idle();
    expect(noted).toEqual([]);
    clock.advance(1);
    await eventually(() => noted.length === 1, "the job has run");
    expect(noted).toEqual(["later 1"]);
  });

  it("wakes up earlier when an earlier job comes", async () => {
    const { clock, jobs, noted, enqueue } = await jobHarness();
    jobs.start();
    await enqueue({ kind: "note", owner: "alice", payload, id: "late", dueMs: clock.now() + 60_000 });
    await enqueue({ kind: "note", owner: "alice", payload, id: "soon", dueMs: clock.now() + 1_000 });
    await jobs.idle();
    clock.advance(1_000);
    await eventually(() => noted.length === 1, "the job has run");
    expect(noted).toEqual(["soon 1"]);
  });

  it("replaces the job of the same id", async () => {
    const { store, clock, jobs, noted, enqueue } = await jobHarness();
    await enqueue({ kind: "note", owner: "alice", payload, id: "a", dueMs: clock.now() + 60_000 });
    await enqueue({ kind: "note", owner: "bob", payload, id: "a" });
    jobs.start();
    await jobs.idle();
    clock.advance(60_000);
    await jobs.idle();
    expect(noted).toEqual(["a 1"]);
    await eventually(async () => Object.keys(await leftovers(store)).length === 0, "the old entry is dropped");
  });
});

describe("an entry that a replaced job has left", () => {
  it("does not run the job that took its place a second time", async () => {
    const { store, clock, jobs, held, enqueue } = await jobHarness({ leaseMs: 10_000_000 });
    jobs.start();
    await enqueue({ kind: "held", owner: "alice", payload, id: "a", dueMs: clock.now() + 60_000 });
    await enqueue({ kind: "held", owner: "bob", payload, id: "a" });
    const [run] = await started(held, 1);
    clock.advance(60_000);
    await eventually(async () => (await leftovers(store))["jobs_scheduled"] === undefined, "the old entry is dropped");
    expect(await leftovers(store)).toEqual({ job_states: 1, jobs_ready: 1 });
    run?.end({ done: true });
    await jobs.idle();
    expect(held).toHaveLength(1);
  });
});

describe("a run whose job was replaced", () => {
  it("does not end the job that took its place", async () => {
    const { clock, jobs, held, enqueue } = await jobHarness();
    jobs.start();
    await enqueue({ kind: "held", owner: "alice", payload, id: "a" });
    await started(held, 1);
    await enqueue({ kind: "held", owner: "alice", payload, id: "a" });
    await started(held, 2);
    held[0]?.end({ done: true });
    await eventually(() => jobs.stats().running === 1, "the first run has ended");
    held[1]?.end({ retry: true, reason: "refused" });
    await jobs.idle();
    clock.advance(1_000);
    await started(held, 3);
    expect(held[2]?.job.lastReason).toBe("refused");
  });
});

describe("retry", () => {
  it("waits for the back-off, passes the attempt and the last reason, and gives up after the last attempt", async () => {
    const exhausted: string[] = [];
    const policy: JobPolicy = {
      ...patient,
      onExhausted: (tx, job, reason) => {
        tx.put(counters, [job.id], { value: 1n });
        exhausted.push(`${job.id}: ${reason}`);
      },
    };
    const { store, clock, jobs, held, enqueue } = await jobHarness({ policy: { held: policy } });
    jobs.start();
    await enqueue({ kind: "held", owner: "alice", payload, id: "a" });
    (await started(held, 1))[0]?.end({ retry: true, reason: "refused" });
    await jobs.idle();
    clock.advance(999);
    await jobs.idle();
    expect(held).toHaveLength(1);
    clock.advance(1);
    await started(held, 2);
    expect(held[1]?.context.attempt).toBe(2);
    expect(held[1]?.job).toMatchObject({ lastReason: "refused", payload });
    held[1]?.fail(new Error("no route to host"));
    await jobs.idle();
    clock.advance(10_000);
    await started(held, 3);
    expect(held[2]?.context.attempt).toBe(3);
    expect(held[2]?.job.lastReason).toBe("no route to host");
    held[2]?.end({ retry: true, reason: "refused again" });
    await jobs.idle();
    expect(exhausted).toEqual(["a: refused again"]);
    expect((await store.read((reader) => reader.get(counters, ["a"])))?.value).toBe(1n);
    expect(await leftovers(store)).toEqual({});
    expect(jobs.stats()).toMatchObject({ done: 0, retried: 2, exhausted: 1, running: 0 });
  });

  it("waits at least until the instant that the handler names", async () => {
    const { clock, jobs, held, enqueue } = await jobHarness();
    jobs.start();
    await enqueue({ kind: "held", owner: "alice", payload });
    (await started(held, 1))[0]?.end({ retry: true, reason: "busy", notBeforeMs: clock.now() + 30_000 });
    await jobs.idle();
    clock.advance(29_999);
    await jobs.idle();
    expect(held).toHaveLength(1);
    clock.advance(1);
    await started(held, 2);
  });

  it.each([
    // age at the end of the run, asked not before, runs after an hour
    ["is made at the end of its age at the latest", 3_599_500, undefined, 2],
    ["is not made when the job is too old", 3_600_000, undefined, 1],
    ["is not made when the instant asked for is after the end of its age", 0, 3_600_001, 1],
  ])("%s", async (_rule, ageMs, notBeforeMs, runs) => {
    const { clock, jobs, held, enqueue } = await jobHarness({ leaseMs: 10_000_000 });
    const startMs = clock.now();
    jobs.start();
    await enqueue({ kind: "held", owner: "alice", payload });
    const [run] = await started(held, 1);
    clock.advance(ageMs);
    run?.end({
      retry: true,
      reason: "busy",
      ...(notBeforeMs === undefined ? {} : { notBeforeMs: startMs + notBeforeMs }),
    });
    await jobs.idle();
    clock.set(startMs + 3_600_000);
    await eventually(() => jobs.stats().running === runs - 1, "the next run has begun or none is made");
    expect(held).toHaveLength(runs);
  });

  it("is not made when the handler says that the job failed", async () => {
    const reasons: string[] = [];
    const policy: JobPolicy = { ...patient, onExhausted: (_tx, _job, reason) => void reasons.push(reason) };
    const { store, jobs, held, enqueue } = await jobHarness({ policy: { held: policy } });
    jobs.start();
    await enqueue({ kind: "held", owner: "alice", payload });
    (await started(held, 1))[0]?.end({ failed: true, reason: "no such target" });
    await jobs.idle();
    expect(reasons).toEqual(["no such target"]);
    expect(await leftovers(store)).toEqual({});
  });

  it("is made when the end of a job cannot be written", async () => {
    let attempts = 0;
    const policy: JobPolicy = {
      ...patient,
      onExhausted: () => {
        attempts += 1;
        if (attempts === 1) throw new Error("no dead letter queue");
      },
    };
    const { clock, jobs, held, enqueue } = await jobHarness({ policy: { held: policy } });
    jobs.start();
    await enqueue({ kind: "held", owner: "alice", payload });
    (await started(held, 1))[0]?.end({ failed: true, reason: "no such target" });
    await jobs.idle();
    clock.advance(1_000);
    await started(held, 2);
    expect(held[1]?.job.lastReason).toBe("no dead letter queue");
    held[1]?.end({ failed: true, reason: "no such target" });
    await jobs.idle();
    expect(attempts).toBe(2);
    expect(jobs.stats()).toMatchObject({ done: 0, retried: 1, exhausted: 1, running: 0 });
  });

  it("puts off a job whose kind nobody knows, and does not count it as run", async () => {
    const store = await openJobStore();
    const clock = new FakeClock();
    const first = await jobHarness({
      store,
      clock,
      handlers: { future: async () => ({ done: true }) },
      policy: { future: patient },
    });
    await first.enqueue({ kind: "future", owner: "alice", payload, id: "f" });
    const second = await jobHarness({ store, clock });
    second.jobs.start();
    await second.jobs.idle();
    expect(await leftovers(store)).toEqual({ job_states: 1, jobs_scheduled: 1 });
    const attempts: number[] = [];
    await second.jobs.stop();
    const third = await jobHarness({
      store,
      clock,
      handlers: { future: async (_job, { attempt }) => (attempts.push(attempt), { done: true }) },
      policy: { future: patient },
    });
    third.jobs.start();
    clock.advance(60_000);
    await eventually(() => attempts.length === 1, "the job has run");
    expect(attempts).toEqual([1]);
  });
});

describe("done", () => {
  it("writes what the handler asks for in the transaction that removes the job", async () => {
    const { store, jobs, held, enqueue } = await jobHarness();
    jobs.start();
    await enqueue({ kind: "held", owner: "alice", payload });
    (await started(held, 1))[0]?.end({ done: true, apply: (tx) => tx.put(counters, ["sent"], { value: 1n }) });
    await jobs.idle();
    expect((await store.read((reader) => reader.get(counters, ["sent"])))?.value).toBe(1n);
    expect(await leftovers(store)).toEqual({});
  });
});

describe("cancel", () => {
  it("removes a job that waits", async () => {
    const { store, clock, jobs, enqueue } = await jobHarness();
    await enqueue({ kind: "note", owner: "alice", payload, id: "a", dueMs: clock.now() + 1 });
    await enqueue({ kind: "note", owner: "alice", payload, id: "b" });
    expect(await store.transact((tx) => jobs.cancel(tx, "a"))).toBe(true);
    expect(await store.transact((tx) => jobs.cancel(tx, "b"))).toBe(true);
    expect(await store.transact((tx) => jobs.cancel(tx, "b"))).toBe(false);
    expect(await leftovers(store)).toEqual({});
  });

  it("aborts a job that runs and ignores how it ends", async () => {
    const { store, jobs, held, enqueue } = await jobHarness();
    jobs.start();
    await enqueue({ kind: "held", owner: "alice", payload, id: "a" });
    const [run] = await started(held, 1);
    await store.transact((tx) => jobs.cancel(tx, "a"));
    expect(run?.context.signal.aborted).toBe(true);
    run?.end({ retry: true, reason: "cancelled" });
    await jobs.idle();
    expect(await leftovers(store)).toEqual({});
  });

  it("does not look for the lease of a run that goes on all the same", async () => {
    const { store, clock, jobs, held, enqueue } = await jobHarness({ leaseMs: 60_000, isShared: true });
    jobs.start();
    await enqueue({ kind: "held", owner: "alice", payload, id: "a" });
    await started(held, 1);
    await store.transact((tx) => jobs.cancel(tx, "a"));
    clock.advance(31_000);
    await eventually(() => jobs.stats().cycles >= 2, "the lease was looked for");
    const { cycles } = jobs.stats();
    for (let turn = 0; turn < 50; turn += 1) {
      clock.advance(1);
      await jobs.countDue(1);
    }
    expect(jobs.stats().cycles - cycles).toBeLessThan(5);
  });
});

describe("a lease that would be renewed", () => {
  it("is forgotten when its run has ended", async () => {
    const { clock, jobs, noted, enqueue } = await jobHarness({ leaseMs: 60_000, isShared: true });
    jobs.start();
    await enqueue({ kind: "note", owner: "alice", payload });
    await eventually(() => noted.length === 1, "the job has run");
    await jobs.idle();
    clock.advance(31_000);
    const { cycles } = jobs.stats();
    for (let turn = 0; turn < 50; turn += 1) {
      clock.advance(1);
      await jobs.countDue(1);
    }
    expect(jobs.stats().cycles - cycles).toBeLessThan(5);
  });
});

describe("declaring kinds", () => {
  it("refuses a handler without a policy and a policy without a handler", async () => {
    const store = await openJobStore();
    const rest = { store, tables, clock: new FakeClock(), ids: fixedIds(), log: silentLogger };
    const handlers = { send: async () => ({ done: true }) as const };
    expect(() => createJobs({ ...rest, handlers, policy: {} })).toThrow("job kind send needs a handler and a policy");
    expect(() => createJobs({ ...rest, handlers: {}, policy: { send: patient } })).toThrow(
      "job kind send needs a handler and a policy",
    );
  });
});

describe("exponential back-off", () => {
  it.each([
    // attempt, random, milliseconds
    [1, 0, 500],
    [1, 0.999_999, 1_000],
    [2, 0, 1_000],
    [3, 0.5, 3_000],
    [11, 0, 30_000],
    [5_000, 0.999_999, 60_000],
  ])("after attempt %i with chance %d is %i ms", (attempt, random, expected) => {
    expect(exponentialBackoff({ firstMs: 1_000, maxMs: 60_000 })(attempt, () => random)).toBe(expected);
  });
});
