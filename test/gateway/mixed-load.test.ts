/*
 * Goal: idle, slow and large requests at once keep nobody else waiting. Method: a process of its own opens the
 * connections; requests beside them are timed before and meanwhile, in turns, and the median of the turns counts, so
 * that what else the machine does matters little. 200, 60 and 20; 5,000, 2,000 and 500 under `npm run soak`.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { eventually } from "../support/eventually.ts";
import { heldConnections } from "../support/idle-connections.ts";
import { isSoak, rounds } from "../support/rounds.ts";
import { startFixture } from "./support/fixture.ts";
import type { LoadOrder, LoadReport } from "./support/load-process.ts";
import { headBytes } from "./support/raw-client.ts";

const mebibyte = 1024 * 1024;

const idleCount = rounds(200, 5_000);
const slowCount = rounds(60, 2_000);
const largeCount = rounds(20, 500);
const largeBytes = rounds(1, 2) * mebibyte;
/** All of them together keep a machine of two cores busy, and not more than that. */
const largeBytesPerSecond = rounds(256, 64) * 1024;
/** Requests of one turn. */
const turnRequests = rounds(60, 200);
const lanes = 4;

/** The 99th percentile of a turn of requests, in milliseconds. */
const turn = async (request: () => Promise<number>): Promise<number> => {
  const times: number[] = [];
  const lane = async (): Promise<void> => {
    while (times.length < turnRequests) {
      const startedMs = performance.now();
      expect(await request()).toBe(200);
      times.push(performance.now() - startedMs);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]!;
};

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;

test("idle, slow and large requests at once: others are as quick, memory is bounded, and in the end all are cut", async () => {
  const limits = { headersTimeoutMs: 5_000, idleTimeoutMs: 5_000, stallTimeoutMs: 5_000, requestsMax: 5_000 };
  const held = { headersTimeoutMs: 90_000, idleTimeoutMs: 90_000, stallTimeoutMs: 90_000, requestsMax: 5_000 };
  const fixture = await startFixture(isSoak ? held : limits);
  onTestFinished(() => fixture.stop(0));
  let receivedBytes = 0;
  fixture.answer("PutBook", async (_context, requests) => {
    for await (const message of requests) receivedBytes += (message as { body?: Uint8Array }).body?.length ?? 0;
    return {};
  });
  const headOf = (target: string, sizeBytes: number): string => {
    const request = { method: "PUT", target, headers: { "x-amz-content-sha256": "UNSIGNED-PAYLOAD" } };
    const headers = fixture.sign("object-storage", "amz", request);
    return headBytes("PUT", target, { ...headers, "content-length": String(sizeBytes) });
  };
  const list = async (): Promise<number> =>
    (await fixture.call("object-storage", "amz", { method: "GET", target: "/" })).status;
  await turn(list);
  const before = [await turn(list), await turn(list), await turn(list)];

  const port = Number(new URL(fixture.url).port);
  const order: LoadOrder = {
    port,
    idle: idleCount,
    // Half of them stop in the head, the others in the body.
    slow: Array.from({ length: slowCount }, (_, index) =>
      index % 2 === 0 ? "PUT /novels/slow HTTP/1.1\r\nhost:" : `${headOf("/novels/slow", 1_000)}E`,
    ),
    large: Array.from({ length: largeCount }, (_, index) => headOf(`/novels/${index}`, largeBytes)),
    largeBytes,
    largeBytesPerSecond,
  };
  const load = fork(join(import.meta.dirname, "support/load-process.ts"));
  onTestFinished(() => void load.kill("SIGKILL"));
  const beforeBytes = process.memoryUsage().arrayBuffers;
  const opened = once(load, "message") as Promise<[LoadReport]>;
  load.send(order);
  expect((await opened)[0]).toEqual({ kind: "open" });

  let done: LoadReport | undefined;
  void once(load, "message").then(([report]) => {
    done = report as LoadReport;
  });
  const meanwhile: number[] = [];
  let peakBytes = 0;
  let heldMost = 0;
  while (done === undefined) {
    heldMost = Math.max(heldMost, (await heldConnections(port)).size);
    meanwhile.push(await turn(list));
    peakBytes = Math.max(peakBytes, process.memoryUsage().arrayBuffers - beforeBytes);
  }

  const figures = {
    before: median(before),
    meanwhile: median(meanwhile),
    turns: meanwhile.length,
    heldMost,
    peakBytes,
  };
  if (isSoak) process.stdout.write(`${JSON.stringify(figures)}\n`);
  expect(done).toEqual({ kind: "done", statuses: Array.from({ length: largeCount }, () => "200") });
  expect(receivedBytes).toBeGreaterThanOrEqual(largeCount * largeBytes);
  expect(heldMost).toBeGreaterThanOrEqual(largeCount + slowCount + idleCount);
  // A turn of requests needs some time in any case, in which the machine may do something else.
  expect(median(meanwhile)).toBeLessThan(3 * Math.max(median(before), 10));
  // What is on the way of one upload, in the gateway and the service, and what V8 has not collected yet.
  expect(peakBytes).toBeLessThan(64 * mebibyte + largeCount * 3 * mebibyte);
  await eventually(async () => (await heldConnections(port)).size === 0, "all connections are closed", 180_000);
}, 400_000);
