import { describe, expect, it } from "vitest";

import type { JobPolicy } from "../../../services/kit/jobs/jobs.ts";
import { eventually } from "../../support/eventually.ts";
import type { Store } from "../../../services/kit/store/store.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { fixedIds } from "../../support/fixed-ids.ts";
import { counters } from "../store/tables.ts";
import { jobHarness, leftovers, openJobStore, patient, payload, started, tables } from "./job-harness.ts";

describe("timers", () => {
  it("are set only for an instant at which something is due, and none after the stop", async () => {
    const { jobs, clock, noted, enqueue } = await jobHarness();
    jobs.start();
    await enqueue({ kind: "note", owner: "alice", payload, id: "now" });
    await jobs.idle();
    expect(noted).toEqual(["now 1"]);
    clock.advance(1);
    await jobs.idle();
    expect(clock.pending()).toEqual([]);
    await enqueue({ kind: "note", owner: "alice", payload, id: "later", dueMs: clock.now() + 5_000 });
    await jobs.idle();
    expect(clock.pending()).toEqual([clock.now() + 5_000]);
    await jobs.stop();
    expect(clock.pending()).toEqual([]);
  });
});

describe("many jobs", () => {
  it("run at most as many at a time as allowed", async () => {
    const { jobs, held, enqueue } = await jobHarness({ concurrency: 3 });
    await enqueue(
      ...Array.from({ length: 10 }, (_, index) => ({ kind: "held", owner: "alice", payload, id: `${index}` })),
    );
    jobs.start();
    for (let ended = 0; ended < 10; ended += 1) {
      await started(held, Math.min(10, ended + 3));
      expect(jobs.stats().running).toBeLessThanOrEqual(3);
      held[ended]?.end({ done: true });
    }
    await jobs.idle();
    expect(new Set(held.map(({ job }) => job.id)).size).toBe(10);
  });

  it("of one owner run at most as many at a time as allowed", async () => {
    const { jobs, held, enqueue } = await jobHarness({ concurrency: 8, concurrencyPerOwner: 2 });
    await enqueue(
      ...Array.from({ length: 5 }, (_, index) => ({ kind: "held", owner: "alice", payload, id: `a${index}` })),
    );
    await enqueue(
      ...Array.from({ length: 5 }, (_, index) => ({ kind: "held", owner: "bob", payload, id: `b${index}` })),
    );
    jobs.start();
    await started(held, 4);
    expect(held.map(({ job }) => job.id).toSorted()).toEqual(["a0", "a1", "b0", "b1"]);
    held[0]?.end({ done: true });
    await started(held, 5);
    expect(jobs.stats().running).toBe(4);
  });

  it("take turns between owners, however many one of them has waiting", async () => {
    const { jobs, held, enqueue } = await jobHarness({ concurrency: 4 });
    await enqueue(
      ...Array.from({ length: 500 }, (_, index) => ({ kind: "held", owner: "alice", payload, id: `alice-${index}` })),
    );
    await enqueue(
      { kind: "held", owner: "bob", payload, id: "bob" },
      { kind: "held", owner: "carol", payload, id: "carol" },
    );
    jobs.start();
    await started(held, 4);
    expect(
      held
        .slice(0, 4)
        .map(({ job }) => job.owner)
        .toSorted(),
    ).toEqual(["alice", "alice", "bob", "carol"]);
  });

  it("let a newcomer in at the next free place", async () => {
    const { jobs, held, enqueue } = await jobHarness({ concurrency: 4 });
    await enqueue(
      ...Array.from({ length: 100 }, (_, index) => ({ kind: "held", owner: "alice", payload, id: `alice-${index}` })),
    );
    jobs.start();
    await started(held, 4);
    await enqueue({ kind: "held", owner: "zoe", payload, id: "zoe" });
    held[0]?.end({ done: true });
    await started(held, 5);
    expect(held[4]?.job.owner).toBe("zoe");
  });

  it("run once each, also if one ends while others are being taken", async () => {
    const reached = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const { jobs, held, enqueue } = await jobHarness({
      concurrencyPerOwner: 1,
      placeOf: () => ({ pool: "", group: "all" }),
      gate: {
        roomOf: async (reader, owner) => {
          if (owner === "bob") {
            // From here on the taking shows the state of before.
            await reader.get(tables.states, ["a1"]);
            reached.resolve();
            await release.promise;
          }
          return { count: Number.POSITIVE_INFINITY, againMs: Number.POSITIVE_INFINITY };
        },
        begin: () => {},
      },
    });
    jobs.start();
    await enqueue(
      { kind: "held", owner: "alice", payload, id: "a1" },
      { kind: "held", owner: "alice", payload, id: "a2" },
    );
    await started(held, 1);
    await enqueue({ kind: "held", owner: "bob", payload, id: "b1" });
    await reached.promise;
    held[0]?.end({ done: true });
    await eventually(() => jobs.stats().done === 1, "the first has ended");
    release.resolve();
    await started(held, 3);
    expect(held.map(({ job }) => job.id).toSorted((a, b) => a.localeCompare(b))).toEqual(["a1", "a2", "b1"]);
  });

  it("share transactions", async () => {
    const { jobs, noted, enqueue } = await jobHarness({ concurrency: 64 });
    await enqueue(
      ...Array.from({ length: 640 }, (_, index) => ({ kind: "note", owner: `${index % 7}`, payload, id: `${index}` })),
    );
    jobs.start();
    await jobs.idle();
    expect(new Set(noted).size).toBe(640);
    expect(jobs.stats().cycles).toBeLessThan(64);
  });
});

describe("a store that fails", () => {
  /** Jobs after a failure of the store, which works again. */
  const afterFailure = async () => {
    const store = await openJobStore();
    let isFailing = true;
    const failing: Store = {
      ...store,
      transact: async (run) => {
        if (isFailing) throw new Error("the store is overloaded");
        return store.transact(run);
      },
    };
    const harness = await jobHarness({ store: failing });
    await store.transact((tx) => harness.jobs.enqueue(tx, { kind: "held", owner: "alice", payload, id: "a" }));
    harness.jobs.start();
    await harness.jobs.idle();
    isFailing = false;
    return harness;
  };

  it("is tried again a second later", async () => {
    const { jobs, held, clock } = await afterFailure();
    clock.advance(999);
    await jobs.idle();
    expect(held).toEqual([]);
    clock.advance(1);
    expect(await started(held, 1)).toHaveLength(1);
  });

  it("is tried again within a second when the clock is set back a day", async () => {
    const { held, clock } = await afterFailure();
    clock.setBack(86_400_000);
    clock.advance(1_000);
    expect(await started(held, 1)).toHaveLength(1);
  });
});

describe("leases", () => {
  it("are prolonged while a job runs, however long", async () => {
    const { clock, jobs, held, enqueue } = await jobHarness({ leaseMs: 10_000, isShared: true });
    jobs.start();
    await enqueue({ kind: "held", owner: "alice", payload });
    const [run] = await started(held, 1);
    for (let step = 0; step < 10; step += 1) {
      const before = jobs.stats().cycles;
      clock.advance(5_000);
      await eventually(() => jobs.stats().cycles > before, "the lease is prolonged");
    }
    expect(run?.context.signal.aborted).toBe(false);
    run?.end({ done: true });
    await jobs.idle();
    expect(held).toHaveLength(1);
  });

  it("do not exist in a queue of one process: the jobs of one that is gone run again, not counted as tried", async () => {
    const store = await openJobStore();
    const clock = new FakeClock();
    const gone = await jobHarness({ store, clock, ids: { ...fixedIds(), uuid: () => "gone" } });
    gone.jobs.start();
    await gone.enqueue({ kind: "held", owner: "alice", payload, id: "a" });
    await started(gone.held, 1);
    const next = await jobHarness({ store, clock });
    next.jobs.start();
    const [run] = await started(next.held, 1);
    expect(run?.context.attempt).toBe(1);
    run?.end({ done: true });
    await next.jobs.idle();
    gone.held[0]?.end({ done: true });
    expect(await leftovers(store)).toEqual({});
  });

  it("of another living process are taken over only when they end", async () => {
    const store = await openJobStore();
    const first = await jobHarness({
      store,
      leaseMs: 10_000,
      isShared: true,
      ids: { ...fixedIds(), uuid: () => "first" },
    });
    first.jobs.start();
    await first.enqueue({ kind: "held", owner: "alice", payload, id: "a" });
    const [lost] = await started(first.held, 1);
    // The first one's clock does not advance: it is cut off and cannot renew its lease.
    const second = await jobHarness({ store, leaseMs: 10_000, isShared: true });
    second.jobs.start();
    await second.jobs.idle();
    second.clock.advance(9_999);
    await second.jobs.idle();
    expect(second.held).toEqual([]);
    second.clock.advance(1);
    const [run] = await started(second.held, 1);
    expect(run?.context.attempt).toBe(2);
    lost?.end({ retry: true, reason: "too late" });
    await first.jobs.idle();
    expect(await leftovers(store)).toEqual({ job_states: 1, jobs_leased: 1 });
    run?.end({ done: true });
    await second.jobs.idle();
    expect(await leftovers(store)).toEqual({});
  });

  it("that were taken over end the former run at its next renewal", async () => {
    const store = await openJobStore();
    const ids = { ...fixedIds(), uuid: () => "first" };
    const first = await jobHarness({ store, leaseMs: 10_000, isShared: true, ids });
    first.jobs.start();
    await first.enqueue({ kind: "held", owner: "alice", payload, id: "a" });
    const [former] = await started(first.held, 1);
    const second = await jobHarness({ store, leaseMs: 10_000, isShared: true });
    second.jobs.start();
    second.clock.advance(10_000);
    await started(second.held, 1);
    expect(former?.context.signal.aborted).toBe(false);
    first.clock.advance(5_000);
    await eventually(() => former?.context.signal.aborted, "the former run is aborted");
    expect(String(former?.context.signal.reason)).toBe("Error: the job was given to another runner");
  });

  it("that were taken over write nothing any more, whether their run is done or given up", async () => {
    const store = await openJobStore();
    const ids = { ...fixedIds(), uuid: () => "first" };
    const hopeless: JobPolicy = {
      ...patient,
      attemptsMax: 1,
      onExhausted: (tx) => tx.put(counters, ["given up"], { value: 1n }),
    };
    const first = await jobHarness({ store, leaseMs: 10_000, isShared: true, ids, policy: { held: hopeless } });
    first.jobs.start();
    await first.enqueue(
      { kind: "held", owner: "alice", payload, id: "a" },
      { kind: "held", owner: "alice", payload, id: "b" },
    );
    const [done, givenUp] = await started(first.held, 2);
    const second = await jobHarness({ store, leaseMs: 10_000, isShared: true });
    second.jobs.start();
    await second.jobs.idle();
    second.clock.advance(10_000);
    const runs = await started(second.held, 2);
    done?.end({ done: true, apply: (tx) => tx.put(counters, ["done"], { value: 1n }) });
    givenUp?.end({ retry: true, reason: "too late" });
    await first.jobs.idle();
    expect(await store.read((reader) => reader.get(counters, ["done"]))).toBeUndefined();
    expect(await store.read((reader) => reader.get(counters, ["given up"]))).toBeUndefined();
    for (const run of runs) run.end({ done: true });
    await second.jobs.idle();
    expect(await leftovers(store)).toEqual({});
  });
});

describe("stop", () => {
  it("that is repeated does not end the patience of the first", async () => {
    const { jobs, held, enqueue } = await jobHarness();
    jobs.start();
    await enqueue({ kind: "held", owner: "alice", payload });
    const [run] = await started(held, 1);
    const stopping = jobs.stop(600_000);
    await jobs.stop(0);
    expect(run?.context.signal.aborted).toBe(false);
    run?.end({ done: true });
    await stopping;
  });

  it("waits for what runs and takes nothing more", async () => {
    const { store, jobs, held, enqueue } = await jobHarness({ concurrency: 1 });
    jobs.start();
    await enqueue(
      { kind: "held", owner: "alice", payload, id: "a" },
      { kind: "held", owner: "alice", payload, id: "b" },
    );
    const [run] = await started(held, 1);
    const stopping = jobs.stop();
    run?.end({ done: true });
    await stopping;
    expect(held).toHaveLength(1);
    expect(await leftovers(store)).toEqual({ job_states: 1, jobs_ready: 1 });
  });

  it("aborts after its limit, and a run cut off by it does not count", async () => {
    const store = await openJobStore();
    const first = await jobHarness({ store });
    first.jobs.start();
    await first.enqueue({ kind: "held", owner: "alice", payload, id: "a" });
    const [run] = await started(first.held, 1);
    run?.context.signal.addEventListener("abort", () => run.fail(new Error("aborted")));
    await first.jobs.stop(10);
    expect(await leftovers(store)).toEqual({ job_states: 1, jobs_ready: 1 });
    const second = await jobHarness({ store });
    second.jobs.start();
    expect((await started(second.held, 1))[0]?.context.attempt).toBe(1);
  });

  it("does not wait for ever for a run that ignores its signal", async () => {
    const { store, jobs, held, enqueue } = await jobHarness();
    jobs.start();
    await enqueue({ kind: "held", owner: "alice", payload });
    await started(held, 1);
    await jobs.stop(0);
    expect(await leftovers(store)).toEqual({ job_states: 1, jobs_ready: 1 });
  });
});
