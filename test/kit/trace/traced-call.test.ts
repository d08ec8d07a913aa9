import { setImmediate } from "node:timers/promises";

import { afterEach, describe, expect, test } from "vitest";

import { currentTrace, iterateTraced, keepingTrace } from "../../../services/kit/trace/current-trace.ts";
import { untraced, TracedCall } from "../../../services/kit/trace/traced-call.ts";
import type { MemoryTracer } from "./memory-tracer.ts";
import { registerMemoryTracer } from "./memory-tracer.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
const traced = (): TracedCall => new TracedCall("sample", "server", { traceparent });

let tracer: MemoryTracer | undefined;
afterEach(() => {
  tracer?.unregister();
  tracer = undefined;
});

describe("work without an SDK", () => {
  test("is in the trace of its caller", () => {
    expect(traced().trace).toEqual({ traceId, spanId: "b7ad6b7169203331", flags: 1, state: "" });
  });

  test("begins a trace when its caller sends none, and stays in it", () => {
    const work = new TracedCall("sample", "server", {});
    expect(work.trace.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(work.trace).toBe(work.trace);
  });

  test("is what runs in it and what that waits for, and nothing else", async () => {
    expect(currentTrace()).toBeUndefined();
    const seen = await traced().run(async () => {
      await setImmediate();
      return [currentTrace()?.traceId, untraced(() => currentTrace()), currentTrace()?.traceId];
    });
    expect(seen).toEqual([traceId, undefined, traceId]);
    expect(currentTrace()).toBeUndefined();
  });

  test("is kept by a function that another calls later", () => {
    const kept = traced().run(() => keepingTrace(() => currentTrace()?.traceId));
    expect(kept()).toBe(traceId);
  });

  test("holds in each step of an iteration, whoever asks for it", async () => {
    const steps = async function* (): AsyncGenerator<string | undefined> {
      yield currentTrace()?.traceId;
      await setImmediate();
      yield currentTrace()?.traceId;
    };
    const seen: (string | undefined)[] = [];
    for await (const step of iterateTraced(traced(), steps)) {
      seen.push(step, currentTrace()?.traceId);
    }
    expect(seen).toEqual([traceId, undefined, traceId, undefined]);
  });
});

describe("work with an SDK", () => {
  test("is a span below its caller's, with the attributes of its end", () => {
    tracer = registerMemoryTracer();
    const work = traced();
    work.end("broken", () => ({ size: 3 }));
    const [span] = tracer.spans;
    expect(span).toMatchObject({
      name: "sample",
      kind: 1,
      traceId,
      parentSpanId: "b7ad6b7169203331",
      attributes: { size: 3 },
      error: "broken",
      isEnded: true,
    });
    expect(work.trace).toMatchObject({ traceId, spanId: span?.spanId, flags: 1 });
  });

  test("passes a tracestate on", () => {
    tracer = registerMemoryTracer();
    const work = new TracedCall("sample", "server", { traceparent, tracestate: "congo=t61,rojo=00f" });
    expect(work.trace.state).toBe("congo=t61,rojo=00f");
  });

  test("encloses work that is begun in it", async () => {
    tracer = registerMemoryTracer();
    const outer = traced();
    await outer.run(async () => {
      await setImmediate();
      new TracedCall("inner", "client", { parent: currentTrace() }).end();
    });
    expect(tracer.spans.map(({ name, parentSpanId }) => [name, parentSpanId])).toEqual([
      ["sample", "b7ad6b7169203331"],
      ["inner", outer.trace.spanId],
    ]);
  });

  test("that was deferred is below the work that deferred it, not below the one that runs", () => {
    tracer = registerMemoryTracer();
    const parent = { traceId: "1".repeat(32), spanId: "2".repeat(16), flags: 1, state: "" };
    traced().run(() => new TracedCall("job", "consumer", { parent }).end());
    expect(tracer.spans[1]).toMatchObject({ name: "job", traceId: "1".repeat(32), parentSpanId: "2".repeat(16) });
  });
});
