import { afterEach, expect, test } from "vitest";

import { currentTrace } from "../../../services/kit/trace/current-trace.ts";
import { TracedCall } from "../../../services/kit/trace/traced-call.ts";
import { eventually } from "../../support/eventually.ts";
import type { MemoryTracer } from "../trace/memory-tracer.ts";
import { registerMemoryTracer } from "../trace/memory-tracer.ts";
import { jobHarness, patient } from "./job-harness.ts";

const traceparentOf = (digit: string): string => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`;
const job = (id: string) => ({ id, kind: "look", owner: "ada", payload: new Uint8Array() });

let tracer: MemoryTracer | undefined;
afterEach(() => {
  tracer?.unregister();
  tracer = undefined;
});

/** Jobs of the kind `look` note in which trace they run; the first run of each asks for another. */
const lookingJobs = async () => {
  const seen: (readonly [string, string | undefined])[] = [];
  const harness = await jobHarness({
    handlers: {
      look: async ({ id }, { attempt }) => {
        seen.push([id, currentTrace()?.traceId]);
        return attempt === 1 ? { retry: true, reason: "again" } : { done: true };
      },
    },
    policy: { look: patient },
  });
  return { ...harness, seen };
};

const byId = ([one]: readonly [string, ...unknown[]], [other]: readonly [string, ...unknown[]]): number =>
  one.localeCompare(other);

test("a job runs in the trace of the work that enqueued it, each time", async () => {
  const { jobs, clock, enqueue, seen } = await lookingJobs();
  jobs.start();
  for (const digit of ["a", "b"])
    await new TracedCall("call", "server", { traceparent: traceparentOf(digit) }).run(() => enqueue(job(digit)));
  await eventually(() => jobs.stats().retried === 2, "both have run once");
  await jobs.idle();
  clock.advance(1_000);
  await eventually(() => jobs.stats().done === 2, "both are done");
  expect(seen.toSorted(byId)).toEqual([
    ["a", "a".repeat(32)],
    ["a", "a".repeat(32)],
    ["b", "b".repeat(32)],
    ["b", "b".repeat(32)],
  ]);
});

test("jobs that were enqueued by transactions of one group keep their own traces", async () => {
  const { jobs, store, seen } = await lookingJobs();
  const names = Array.from({ length: 16 }, (_, index) => index.toString(16)).filter((digit) => digit !== "0");
  await Promise.all(
    names.map((digit) =>
      new TracedCall("call", "server", { traceparent: traceparentOf(digit) }).run(() =>
        store.transact(async (tx) => {
          // All of them change one record, so all but the first are run again inside the group of another.
          await jobs.cancel(tx, "shared");
          jobs.enqueue(tx, job("shared"));
          jobs.enqueue(tx, job(digit));
        }),
      ),
    ),
  );
  expect(store.stats().reruns).toBeGreaterThan(0);
  jobs.start();
  await eventually(() => seen.length >= names.length, "all have run");
  const own = seen.filter(([id]) => id !== "shared");
  expect(own.toSorted(byId)).toEqual(names.map((digit) => [digit, digit.repeat(32)]));
});

test("a job of no trace runs in one of its own", async () => {
  const { jobs, enqueue, seen } = await lookingJobs();
  await enqueue(job("alone"));
  jobs.start();
  await eventually(() => seen.length > 0, "it runs");
  expect(seen[0]?.[1]).toMatch(/^[0-9a-f]{32}$/);
});

test("with an SDK, each run is a span below the work that enqueued the job", async () => {
  tracer = registerMemoryTracer();
  const { jobs, enqueue } = await lookingJobs();
  jobs.start();
  const work = new TracedCall("call", "server", { traceparent: traceparentOf("a") });
  await work.run(() => enqueue(job("one")));
  await eventually(() => jobs.stats().retried === 1, "it has run once");
  await jobs.idle();
  expect(tracer.spans[1]).toMatchObject({
    name: "job look",
    kind: 4,
    traceId: "a".repeat(32),
    parentSpanId: work.trace.spanId,
    attributes: { "job.id": "one", "job.attempt": 1 },
    error: "again",
    isEnded: true,
  });
});
