import { describe, expect, it, onTestFinished } from "vitest";

import type { OwnerGate } from "../../../services/kit/jobs/jobs.ts";
import { expiredReason } from "../../../services/kit/jobs/jobs.ts";
import { defaultLimits, storeOver } from "../../../services/kit/store/store.ts";
import { eventually } from "../../support/eventually.ts";
import { countingEngine } from "../store/counting-engine.ts";
import { jobHarness, leftovers, patient, payload, started } from "./job-harness.ts";

/** Jobs of the kind `held`, with ids `<owner>-<number>`. */
const jobsOf = (owner: string, count: number) =>
  Array.from({ length: count }, (_, n) => ({ kind: "held", owner, payload, id: `${owner}-${n}` }));

/** Lets no job start whose owner begins with `shut` before an instant. */
const gateUntil = (instantMs: number): OwnerGate => ({
  roomOf: (_reader, owner, _running, nowMs) =>
    owner.startsWith("shut") && nowMs < instantMs
      ? { count: 0, againMs: instantMs }
      : { count: Number.POSITIVE_INFINITY, againMs: Number.POSITIVE_INFINITY },
  begin: () => {},
});

describe("groups of owners", () => {
  it("take turns, and so do the owners of each", async () => {
    const placeOf = (owner: string) => ({ pool: "", group: owner.split("/")[0] ?? "" });
    const { jobs, held, enqueue } = await jobHarness({ concurrency: 1, concurrencyPerOwner: 2, placeOf });
    for (const owner of ["a/1", "a/2", "a/3"]) await enqueue(...jobsOf(owner, 4));
    await enqueue(...jobsOf("b/1", 4));
    jobs.start();
    for (let count = 1; count <= 8; count += 1) (await started(held, count))[count - 1]?.end({ done: true });
    await started(held, 9);
    expect(held.slice(0, 8).map(({ job }) => job.owner)).toEqual([
      "a/1",
      "b/1",
      "a/2",
      "b/1",
      "a/3",
      "b/1",
      "a/1",
      "b/1",
    ]);
  });
});

describe("pools", () => {
  it("do not take places of one another", async () => {
    const bounds = { concurrency: 2, concurrencyPerOwner: 2 };
    const { jobs, held, enqueue } = await jobHarness({
      pools: { slow: bounds, own: bounds },
      placeOf: (owner) => ({ pool: owner === "own" ? "own" : "slow", group: owner }),
    });
    for (const owner of ["a", "b", "c"]) await enqueue(...jobsOf(owner, 5));
    jobs.start();
    await started(held, 2);
    await enqueue(...jobsOf("own", 5));
    await started(held, 4);
    await jobs.countDue(1);
    expect(held.map(({ job }) => job.owner).toSorted()).toEqual(["a", "b", "own", "own"]);
  });

  it("may change with the end of a run", async () => {
    const quick = new Set<string>();
    const { jobs, held, enqueue } = await jobHarness({
      pools: { trial: { concurrency: 1, concurrencyPerOwner: 1 }, quick: { concurrency: 4, concurrencyPerOwner: 4 } },
      placeOf: (owner) => ({ pool: quick.has(owner) ? "quick" : "trial", group: owner }),
    });
    await enqueue(...jobsOf("a", 10));
    jobs.start();
    await started(held, 1);
    quick.add("a");
    held[0]?.end({ done: true });
    await started(held, 5);
    expect(jobs.stats().running).toBe(4);
  });
});

describe("a pool whose jobs take their places in small steps", () => {
  it("holds up no job of another pool, neither by its starts nor by its ends", async () => {
    const { engine, largestWrite } = countingEngine();
    const store = storeOver(engine, defaultLimits);
    onTestFinished(() => store.close());
    const bounds = { concurrency: 2_000, concurrencyPerOwner: 2_000 };
    const { clock, jobs, held, enqueue } = await jobHarness({
      store,
      pools: { urgent: bounds, slow: { ...bounds, batchMax: 16 } },
      placeOf: (owner) => ({ pool: owner === "urgent" ? "urgent" : "slow", group: owner }),
      policy: { held: { ...patient, backoff: () => 1_000 } },
    });
    for (let owner = 0; owner < 20; owner += 1) await enqueue(...jobsOf(`slow-${owner}`, 40));
    const enqueued = largestWrite();
    jobs.start();
    await started(held, 800);
    await enqueue(...jobsOf("urgent", 1));
    await started(held, 801);
    for (const run of held.slice(0, 800)) run.end({ retry: true, reason: "no answer" });
    await eventually(() => jobs.stats().retried === 800, "the ends are written");
    clock.advance(1_000);
    await started(held, 1_601);
    // A start or an end changes three records; a cycle has at most 16 of each and makes 64 jobs ready.
    expect(largestWrite()).toBeLessThanOrEqual(Math.max(enqueued, (16 + 16 + 64) * 3 + 16));
  });
});

describe("jobs that have ended", () => {
  it("cost those that come later nothing: reads begin past the deleted entries", async () => {
    const { engine, passedOver } = countingEngine();
    const store = storeOver(engine, defaultLimits);
    onTestFinished(() => store.close());
    const { clock, jobs, noted, enqueue } = await jobHarness({ store });
    jobs.start();
    const work = async (count: number): Promise<number> => {
      const before = passedOver();
      for (let n = 0; n < count; n += 1) {
        const job = { kind: "note", owner: "a", payload, expiresMs: clock.now() + 86_400_000 };
        await enqueue(job, { ...job, dueMs: clock.now() + 500 });
        await jobs.idle();
        clock.advance(1_000);
        await jobs.idle();
      }
      return passedOver() - before;
    };
    await work(20);
    const first = await work(20);
    await work(200);
    expect(await work(20)).toBeLessThan(first * 2);
    expect(noted).toHaveLength(520);
  });
});

describe("jobs that run", () => {
  it("cost those that begin next to them nothing: reads begin past them, though all are ready since one instant", async () => {
    const { engine, lookedUp, scanned } = countingEngine();
    const store = storeOver(engine, defaultLimits);
    onTestFinished(() => store.close());
    const { jobs, held, enqueue } = await jobHarness({ store, concurrency: 100, concurrencyPerOwner: 100 });
    await enqueue(...jobsOf("a", 300));
    jobs.start();
    await started(held, 100);
    const before = lookedUp() + scanned();
    for (let ended = 0; ended < 50; ended += 1) {
      held[ended]?.end({ done: true });
      await started(held, 101 + ended);
    }
    // One entry and three states for each that ends and the one that begins.
    expect(lookedUp() + scanned() - before).toBeLessThan(50 * 10);
  });

  it("do not hide one that becomes ready at the same instant as those that were taken", async () => {
    const { jobs, held, enqueue } = await jobHarness({ concurrency: 4, concurrencyPerOwner: 4 });
    await enqueue(...jobsOf("b", 6));
    jobs.start();
    await started(held, 4);
    await enqueue({ kind: "held", owner: "b", payload, id: "a" });
    for (const run of held.slice(0, 3)) run.end({ done: true });
    await started(held, 7);
    expect(new Set(held.map(({ job }) => job.id))).toEqual(new Set(["a", "b-0", "b-1", "b-2", "b-3", "b-4", "b-5"]));
  });
});

describe("an owner that may not start a job", () => {
  it("waits until the instant that the gate names, without a run and without a write", async () => {
    const { store, clock, jobs, held, enqueue } = await jobHarness({ gate: gateUntil(Date.UTC(2027, 0, 1)) });
    await enqueue(...jobsOf("shut", 3));
    jobs.start();
    await jobs.idle();
    const waiting = await leftovers(store);
    expect(waiting).toEqual({ job_states: 3, jobs_ready: 3 });
    expect(jobs.stats()).toMatchObject({ running: 0, ownersWaiting: 1 });
    clock.set(Date.UTC(2027, 0, 1));
    await started(held, 3);
    expect(held.map(({ context }) => context.attempt)).toEqual([1, 1, 1]);
    expect(jobs.stats().ownersWaiting).toBe(0);
  });

  it("is asked about again when the clock was set back", async () => {
    const beganMs = Date.UTC(2026, 0, 2, 3, 4, 5);
    const untilMs = beganMs + 5_000;
    const gate: OwnerGate = {
      roomOf: (_reader, _owner, _running, nowMs) =>
        nowMs < untilMs && untilMs - nowMs <= 5_000 ? { count: 0, againMs: untilMs } : { count: 1, againMs: Infinity },
      begin: () => {},
    };
    const { clock, jobs, held, enqueue } = await jobHarness({ gate });
    await enqueue(...jobsOf("shut", 1));
    jobs.start();
    await jobs.idle();
    expect(held).toEqual([]);
    clock.setBack(86_400_000);
    clock.advance(5_000);
    expect(await started(held, 1)).toHaveLength(1);
  });

  it("costs the others nothing: however many wait, their jobs are not read", async () => {
    const { engine, scanned } = countingEngine();
    const store = storeOver(engine, defaultLimits);
    onTestFinished(() => store.close());
    const { jobs, held, enqueue } = await jobHarness({ store, gate: gateUntil(Date.UTC(2027, 0, 1)) });
    for (let owner = 0; owner < 200; owner += 1) await enqueue(...jobsOf(`shut-${owner}`, 5));
    jobs.start();
    await jobs.idle();
    const before = scanned();
    await enqueue(...jobsOf("open", 1));
    await started(held, 1);
    expect(scanned() - before).toBeLessThan(20);
  });
});

describe("a job whose age ends", () => {
  it("is exhausted a second later without a run, also if its owner may not start it", async () => {
    const exhausted: string[] = [];
    const { store, clock, jobs, held, enqueue } = await jobHarness({
      gate: gateUntil(Date.UTC(2027, 0, 1)),
      policy: {
        held: {
          ...patient,
          onExhausted: (_tx, job, reason, attempts) => void exhausted.push(`${job.id} ${attempts} ${reason}`),
        },
      },
    });
    jobs.start();
    const expiresMs = clock.now() + 60_000;
    await enqueue({ kind: "held", owner: "shut", payload, id: "old", expiresMs });
    await enqueue({ kind: "held", owner: "open", payload, id: "ran", expiresMs });
    await started(held, 1);
    clock.advance(60_999);
    await jobs.countDue(1);
    expect(exhausted).toEqual([]);
    held[0]?.end({ done: true });
    clock.advance(1);
    await jobs.idle();
    expect(exhausted).toEqual([`old 0 ${expiredReason}`]);
    expect(await leftovers(store)).toEqual({});
    expect(jobs.stats()).toMatchObject({ done: 1, exhausted: 1 });
  });

  it("is not ended while it runs", async () => {
    const { clock, jobs, held, enqueue } = await jobHarness({ leaseMs: 10_000_000 });
    jobs.start();
    await enqueue({ kind: "held", owner: "a", payload, expiresMs: clock.now() + 1_000 });
    await started(held, 1);
    clock.advance(100_000);
    await jobs.countDue(1);
    held[0]?.end({ done: true });
    await jobs.idle();
    expect(jobs.stats()).toMatchObject({ done: 1, exhausted: 0 });
  });
});
