import { afterEach, expect, onTestFinished, test, vi } from "vitest";

import { ServiceError } from "../../../services/kit/faults/service-error.ts";
import { querySettings, spanOf } from "../../../services/object-storage/select/scan-job.ts";
import type { ScanPoolOptions } from "../../../services/object-storage/select/worker/scan-pool.ts";
import { ScanPool } from "../../../services/object-storage/select/worker/scan-pool.ts";
import { alice, as, put, startWithBucket } from "../harness.ts";

const sizeBytes = 1_000;
const job = {
  ...querySettings({
    expression: "SELECT * FROM S3Object",
    expressionType: "SQL",
    inputSerialization: { csv: {} },
    outputSerialization: { csv: {} },
  }),
  span: spanOf(undefined, sizeBytes),
  sizeBytes,
  nowMs: 0,
};

/** An object whose first piece comes when it is released. */
const heldObject = () => {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const object = {
    sizeBytes,
    pieces: async function* () {
      await promise;
      yield Buffer.from("a,b\n".repeat(sizeBytes / 4));
    },
  };
  return { object, release: () => resolve(undefined) };
};

const startPool = (options: ScanPoolOptions): ScanPool => {
  const pool = new ScanPool(options);
  onTestFinished(() => pool.close());
  return pool;
};

/** `answered`, or the reason of the refusal. */
const outcomeOf = async (scan: AsyncGenerator): Promise<string> => {
  try {
    for (let next = await scan.next(); next.done !== true;) next = await scan.next();
    return "answered";
  } catch (error) {
    if (error instanceof ServiceError) return error.facts.reason;
    throw error;
  }
};

afterEach(() => {
  vi.useRealTimers();
});

test("as many queries wait as there is room for, and further ones are refused as busy", async () => {
  const pool = startPool({ threads: 1, timeLimitMs: 60_000, waitingPerThread: 2 });
  const { object, release } = heldObject();
  const run = () => outcomeOf(pool.run("111122223333", job, object, new AbortController().signal));
  const accepted = [run(), run(), run()];
  expect(await run()).toBe("SELECT_BUSY");
  release();
  expect(await Promise.all(accepted)).toEqual(["answered", "answered", "answered"]);
});

test("a query that is given up while it waits makes room for another one", async () => {
  const pool = startPool({ threads: 1, timeLimitMs: 60_000, waitingPerThread: 1 });
  const { object, release } = heldObject();
  const run = (signal = new AbortController().signal) => outcomeOf(pool.run("111122223333", job, object, signal));
  const first = run();
  const gone = new AbortController();
  const givenUp = run(gone.signal);
  gone.abort(new Error("the caller went away"));
  await expect(givenUp).rejects.toThrow("the caller went away");
  const next = run();
  release();
  expect(await Promise.all([first, next])).toEqual(["answered", "answered"]);
});

test("a query that takes too long is ended, and its thread serves the next one", async () => {
  const pool = startPool({ threads: 1, timeLimitMs: 60_000 });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const late = outcomeOf(pool.run("111122223333", job, heldObject().object, new AbortController().signal));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await late).toBe("DEADLINE");
  vi.useRealTimers();
  const { object, release } = heldObject();
  release();
  expect(await outcomeOf(pool.run("111122223333", job, object, new AbortController().signal))).toBe("answered");
});

test("a query whose result is not taken is ended in time, and its thread serves the next one", async () => {
  const pool = startPool({ threads: 1, timeLimitMs: 60_000 });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { object, release } = heldObject();
  release();
  const slow = pool.run("111122223333", job, object, new AbortController().signal);
  expect((await slow.next()).done).toBe(false);
  await vi.advanceTimersByTimeAsync(60_000);
  vi.useRealTimers();
  expect(await outcomeOf(pool.run("111122223333", job, object, new AbortController().signal))).toBe("answered");
  expect(await outcomeOf(slow)).toBe("DEADLINE");
});

test("while a query finds nothing, a sign of life is sent every five seconds", async () => {
  const harness = await startWithBucket();
  await put(harness, { bucket: "photos", key: "k" }, "a,b\n");
  const { promise: released, resolve: release } = Promise.withResolvers<undefined>();
  const figures = { scannedBytes: 4, processedBytes: 4, returnedBytes: 4 };
  const scans = {
    run: async function* () {
      await released;
      yield { result: Buffer.from("a,b\n"), figures, isEnd: true };
    },
  };
  Object.assign(harness.opened.app, { scans });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const events = harness.client.selectObjectContent(
    {
      bucket: "photos",
      key: "k",
      expression: "SELECT * FROM S3Object",
      expressionType: "SQL",
      inputSerialization: { csv: {} },
      outputSerialization: { csv: {} },
    },
    as(alice),
  );
  const kinds: (string | undefined)[] = [];
  for await (const { event } of untilAdvanced(events, () => kinds.length < 2)) {
    kinds.push(event?.event.case);
    if (kinds.length === 2) release(undefined);
  }
  // More may be under way while one is read.
  expect(kinds.slice(0, 2)).toEqual(["cont", "cont"]);
  expect(kinds.filter((kind) => kind !== "cont")).toEqual(["records", "stats", "end"]);
});

/** The messages, of which each is waited for while the clock goes on, as long as it is to. */
async function* untilAdvanced<T>(messages: AsyncIterable<T>, goesOn: () => boolean): AsyncGenerator<T> {
  const iterator = messages[Symbol.asyncIterator]();
  for (;;) {
    const asked = { isDone: false };
    const next = iterator.next().finally(() => {
      asked.isDone = true;
    });
    while (!asked.isDone) {
      if (goesOn()) await vi.advanceTimersByTimeAsync(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const { done, value } = await next;
    if (done === true) return;
    yield value;
  }
}
