import { describe, expect, it } from "vitest";

import type { Jobs } from "../../../services/kit/jobs/jobs.ts";
import type { Transaction } from "../../../services/kit/store/store.ts";
import { defineTable, text } from "../../../services/kit/store/table.ts";
import { JobEntrySchema } from "../../../gen/quartet/kit/storage/v1/records_pb.ts";
import { eventually } from "../../support/eventually.ts";
import { jobHarness, leftovers, payload, started } from "./job-harness.ts";

const notes = defineTable({ number: 90, name: "notes", key: [text("id")], value: JobEntrySchema });

const jobOf = (owner: string) => ({ kind: "held", owner, payload });

describe("a brief end", () => {
  it("shares its transaction with the ends of all runs that end in the same turn", async () => {
    const { store, jobs, held, enqueue } = await jobHarness();
    jobs.start();
    await jobs.idle();
    await enqueue(...Array.from({ length: 50 }, () => jobOf("alice")));
    await started(held, 50);
    const { cycles } = jobs.stats();
    const { commits } = store.stats();
    for (const { job, end } of held) end({ done: true, isBrief: true, apply: (tx) => tx.put(notes, [job.id], {}) });
    await jobs.idle();
    expect(jobs.stats().cycles - cycles).toBe(1);
    expect(store.stats().commits - commits).toBe(1);
    expect(await store.read((reader) => reader.list(notes, { limit: 100 }))).toHaveLength(50);
    expect(await leftovers(store)).toEqual({});
    expect(jobs.stats()).toMatchObject({ done: 50, retried: 0 });
  });

  it("is not written for a job that was cancelled while it ran", async () => {
    const { store, jobs, held, enqueue } = await jobHarness();
    jobs.start();
    await enqueue(jobOf("alice"));
    const [run] = await started(held, 1);
    await store.transact((tx) => jobs.cancel(tx, run?.job.id ?? ""));
    run?.end({ done: true, isBrief: true, apply: (tx) => tx.put(notes, ["alice"], {}) });
    await jobs.idle();
    expect(await store.read((reader) => reader.list(notes, { limit: 100 }))).toEqual([]);
  });

  it.each([
    ["cancelled", (jobs: Jobs, tx: Transaction, id: string) => jobs.cancel(tx, id)],
    ["replaced", (jobs: Jobs, tx: Transaction, id: string) => jobs.enqueue(tx, { ...jobOf("bob"), id, dueMs: 1e15 })],
  ])("is not written for a job in memory that was %s before it or together with it", async (_, remove) => {
    const { store, jobs, held, enqueue } = await jobHarness();
    jobs.start();
    await jobs.idle();
    await enqueue(jobOf("alice"), jobOf("alice"));
    const [first, second] = await started(held, 2);
    const apply = (tx: Transaction) => tx.put(notes, ["alice"], {});
    await store.transact(async (tx) => remove(jobs, tx, first?.job.id ?? ""));
    first?.end({ done: true, isBrief: true, apply });
    const removed = store.transact(async (tx) => remove(jobs, tx, second?.job.id ?? ""));
    second?.end({ done: true, isBrief: true, apply });
    await removed;
    await eventually(() => jobs.stats().running === 0, "both have ended");
    expect(await store.read((reader) => reader.list(notes, { limit: 100 }))).toEqual([]);
  });

  it("that cannot be written holds up no other, and its job is run again", async () => {
    const { store, clock, jobs, held, enqueue } = await jobHarness();
    jobs.start();
    await jobs.idle();
    await enqueue(jobOf("alice"), jobOf("bob"), jobOf("carol"));
    await started(held, 3);
    for (const { job, end } of held)
      end({
        done: true,
        isBrief: true,
        apply: (tx) => {
          if (job.owner === "bob") throw new Error("it cannot be written");
          tx.put(notes, [job.owner], {});
        },
      });
    await expect.poll(() => jobs.stats().done).toBe(2);
    clock.advance(10_000);
    await started(held, 4);
    expect(held[3]?.job).toMatchObject({ owner: "bob", lastReason: "it cannot be written" });
    held[3]?.end({ done: true });
    await jobs.idle();
    const written = await store.read((reader) => reader.list(notes, { limit: 100 }));
    expect(written.map(({ key }) => key[0])).toEqual(["alice", "carol"]);
    expect(await leftovers(store)).toEqual({});
  });
});

describe("the memo of a job", () => {
  const memo = { value: { order: 7 }, bytes: 100 };

  it("is there in a run that follows the commit at once", async () => {
    const { jobs, held, enqueue } = await jobHarness();
    jobs.start();
    await jobs.idle();
    await enqueue({ ...jobOf("alice"), memo });
    const [run] = await started(held, 1);
    expect(run?.job.memo?.value).toBe(memo.value);
  });

  it("is dropped with a job that is to run again, and with one that is read from the store", async () => {
    const { clock, jobs, held, enqueue } = await jobHarness();
    await enqueue({ ...jobOf("alice"), memo });
    jobs.start();
    const [first] = await started(held, 1);
    expect(first?.job.memo).toBeUndefined();
    first?.end({ done: true });
    await jobs.idle();
    await enqueue({ ...jobOf("alice"), memo });
    const [, second] = await started(held, 2);
    expect(second?.job.memo?.value).toBe(memo.value);
    second?.end({ retry: true, reason: "busy" });
    await jobs.idle();
    clock.advance(1_000);
    const [, , third] = await started(held, 3);
    expect(third?.job.memo).toBeUndefined();
  });

  it("is dropped when there is no room for it, and the job runs without", async () => {
    const { jobs, held, enqueue } = await jobHarness({ concurrency: 8, concurrencyPerOwner: 1 });
    jobs.start();
    await jobs.idle();
    const large = { value: "the first", bytes: 10 * 1024 * 1024 };
    await enqueue({ ...jobOf("alice"), memo: large }, { ...jobOf("bob"), memo: { ...large, value: "the second" } });
    await started(held, 2);
    expect(held.map(({ job }) => job.memo?.value)).toEqual(["the first", undefined]);
  });
});
