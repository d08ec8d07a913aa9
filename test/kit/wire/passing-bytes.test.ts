import type { NodeGCPerformanceDetail, PerformanceEntry } from "node:perf_hooks";
import { constants, PerformanceObserver } from "node:perf_hooks";

import { describe, expect, onTestFinished, test } from "vitest";

import { frameParts } from "../../../services/kit/wire/frame-parser.ts";
import { FrameQueue } from "../../../services/kit/wire/frame-queue.ts";
import { countPassingBytes } from "../../../services/kit/wire/passing-bytes.ts";
import { eventually } from "../../support/eventually.ts";

const mebibyte = 1024 * 1024;
const chunkBytes = 256 * 1024;
const flow = { pause: () => {}, resume: () => {} };

type GarbageCollection = PerformanceEntry & { readonly detail: NodeGCPerformanceDetail };

/** Counts the collections of new objects that are asked for. */
const countCollections = (): { readonly count: number } => {
  const counted = { count: 0 };
  const observer = new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries() as GarbageCollection[]) {
      const { kind, flags } = detail;
      const isForced = (flags & constants.NODE_PERFORMANCE_GC_FLAGS_FORCED) !== 0;
      if (kind === constants.NODE_PERFORMANCE_GC_MINOR && isForced) counted.count += 1;
    }
  });
  observer.observe({ entryTypes: ["gc"] });
  onTestFinished(() => observer.disconnect());
  return counted;
};

describe("buffers that nobody uses any more are collected while 60 MiB pass", () => {
  // One collection for each 8 MiB; the first may come late, because earlier frames count as well.
  const collectionsMin = 5;
  const passed: readonly (readonly [string, (chunk: Buffer) => unknown])[] = [
    ["sent", (chunk) => frameParts(0, [chunk], chunk.length)],
    [
      "received",
      (chunk) => {
        const queue = new FrameQueue(chunkBytes, flow);
        chunk.writeUInt32BE(chunkBytes - 5, 1);
        queue.push(chunk);
        return queue.next();
      },
    ],
  ];

  test.each(passed)("as frames that are %s", async (_how, pass) => {
    const before = process.memoryUsage().arrayBuffers;
    const collections = countCollections();
    for (let bytes = 0; bytes < 60 * mebibyte; bytes += chunkBytes) await pass(Buffer.allocUnsafeSlow(chunkBytes));
    await eventually(() => collections.count >= collectionsMin, "they were collected", 10_000);
    // Threads of V8 free what was collected.
    const isFreed = (): boolean => process.memoryUsage().arrayBuffers - before < 20 * mebibyte;
    expect(await eventually(isFreed, "they are freed")).toBe(true);
  });
});

test("they are collected with the frame that reaches 8 MiB", async () => {
  countPassingBytes(8 * mebibyte);
  const collections = countCollections();
  for (let frame = 0; frame < 4; frame += 1) countPassingBytes(8 * mebibyte);
  expect(await eventually(() => collections.count >= 4, "each was collected", 5_000)).toBe(true);
});
