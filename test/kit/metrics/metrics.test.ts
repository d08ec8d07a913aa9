import { describe, expect, test } from "vitest";

import { DurationTally } from "../../../services/kit/metrics/duration-tally.ts";
import { jobsMetrics } from "../../../services/kit/metrics/jobs-metrics.ts";
import { createMetrics } from "../../../services/kit/metrics/metrics.ts";
import { storeMetrics } from "../../../services/kit/metrics/store-metrics.ts";
import { eventually } from "../../support/eventually.ts";
import { jobHarness } from "../jobs/job-harness.ts";
import { samplesNow } from "./samples.ts";

describe("a page of metrics", () => {
  test("is the text format with help, type and escaped labels", async () => {
    const metrics = createMetrics();
    metrics.add({
      name: "sample_total",
      help: "Samples.",
      type: "counter",
      read: () => [{ labels: { place: 'a "b"\\\n' }, value: 2 }],
    });
    expect(await metrics.page()).toEqual({
      contentType: "text/plain; version=0.0.4; charset=utf-8",
      body: '# HELP sample_total Samples.\n# TYPE sample_total counter\nsample_total{place="a \\"b\\"\\\\\\n"} 2\n',
    });
  });

  test("shows the process itself when it is asked for", async () => {
    const { body } = await createMetrics({ withProcess: true }).page();
    expect(body).toMatch(/^process_resident_memory_bytes \d+$/m);
    expect(body).toMatch(/^nodejs_eventloop_lag_p99_seconds /m);
  });

  test("is made once for all who ask while another one is made, also where that one fails", async () => {
    const metrics = createMetrics();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    let reads = 0;
    const read = async () => {
      reads += 1;
      await released;
      if (reads === 1) throw new Error("the store is closing");
      return [{ labels: {}, value: reads }];
    };
    metrics.add({ name: "reads", help: "Reads.", type: "counter", read });
    const pages = Array.from({ length: 100 }, () => metrics.page());
    release();
    await expect(pages[0]).rejects.toThrow("the store is closing");
    const bodies = (await Promise.all(pages.slice(1))).map(({ body }) => body);
    expect(new Set(bodies)).toEqual(new Set(["# HELP reads Reads.\n# TYPE reads counter\nreads 2\n"]));
    expect((await metrics.page()).body).toContain("reads 3");
  });

  test("has each name once", () => {
    const metrics = createMetrics();
    const sample = { name: "sample", help: "", type: "gauge", read: () => [] } as const;
    metrics.add(sample);
    expect(() => metrics.add(sample)).toThrow("already been registered");
  });
});

describe("durations", () => {
  test("are counted in the bucket of their bound and in all above", () => {
    const tally = new DurationTally();
    for (const ms of [0.2, 0.5, 0.6, 40, 90_000]) tally.observe(ms);
    const samples = [...tally.samples("took", { method: "Echo" })];
    const bucket = (le: number | string) => samples.find(({ labels }) => labels["le"] === le)?.value;
    expect([0.0005, 0.001, 0.025, 0.05, 60, "+Inf"].map(bucket)).toEqual([2, 3, 3, 4, 4, 5]);
    expect(samples.at(-2)).toEqual({ metricName: "took_sum", labels: { method: "Echo" }, value: 90.0413 });
    expect(samples.at(-1)).toEqual({ metricName: "took_count", labels: { method: "Echo" }, value: 5 });
  });
});

describe("a store and its jobs", () => {
  test("show what they have done and what is due", async () => {
    const { store, jobs, held, enqueue, clock } = await jobHarness();
    const metrics = createMetrics();
    storeMetrics(metrics, store);
    jobsMetrics(metrics, jobs);
    const job = (kind: string, dueMs?: number) => ({
      kind,
      owner: "ada",
      payload: new Uint8Array(),
      ...(dueMs === undefined ? {} : { dueMs }),
    });
    await enqueue(job("held"), job("note"), job("note"), job("note", clock.now() + 60_000));
    expect(await samplesNow(metrics)).toEqual(
      expect.arrayContaining(["jobs_due 3", 'jobs_running{kind="held"} 0', "store_commits_total 1"]),
    );

    jobs.start();
    const hasSettled = () => held.length === 1 && jobs.stats().done === 2 && jobs.stats().running === 1;
    await eventually(hasSettled, "all that is due has begun, and what has ended is written back");
    const samples = await samplesNow(metrics);
    expect(samples.filter((line) => line.startsWith("jobs_"))).toEqual([
      'jobs_done_total{kind="held"} 0',
      'jobs_done_total{kind="note"} 2',
      "jobs_due 0",
      'jobs_exhausted_total{kind="held"} 0',
      'jobs_exhausted_total{kind="note"} 0',
      "jobs_owners_waiting 0",
      'jobs_retried_total{kind="held"} 0',
      'jobs_retried_total{kind="note"} 0',
      'jobs_running{kind="held"} 1',
      'jobs_running{kind="note"} 0',
    ]);
    const stats = store.stats();
    expect(samples).toContain(`store_batches_total ${stats.groups}`);
    expect(samples).toContain(`store_written_bytes_total ${stats.writtenBytes}`);
    expect(stats.writtenBytes).toBeGreaterThan(100);

    held[0]?.end({ failed: true, reason: "no" });
    await eventually(() => jobs.stats().exhausted === 1, "the held one is given up");
    expect(await samplesNow(metrics)).toEqual(
      expect.arrayContaining(['jobs_exhausted_total{kind="held"} 1', 'jobs_running{kind="held"} 0']),
    );
  });
});
