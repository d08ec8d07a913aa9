/*
 * Goal: idle, slow and large requests at once keep nobody else waiting. Method: a process of its own opens the
 * connections; requests beside them are timed before and meanwhile, in turns, and the first quartile of the turns
 * counts, because what else the machine does makes turns longer and never shorter. 200, 60 and 20; 5,000, 2,000 and 500
 * under `npm run soak`, for which a process must be allowed 16,200 open files.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import type { GatewayLimits } from "../../gateway/http/limits.ts";
import { eventually } from "../support/eventually.ts";
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
const turnRequests = rounds(120, 200);
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

const quartile = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 2]!;

/** A gateway whose service takes uploads, the head of one, and a request of somebody else. */
const startShelf = async (limits: Partial<GatewayLimits>) => {
  const fixture = await startFixture(limits);
  onTestFinished(() => fixture.stop(0));
  const received = { bytes: 0 };
  fixture.answer("PutBook", async (_context, requests) => {
    for await (const message of requests) received.bytes += (message as { body?: Uint8Array }).body?.length ?? 0;
    return {};
  });
  const headOf = (target: string, sizeBytes: number): string => {
    const request = { method: "PUT", target, headers: { "x-amz-content-sha256": "UNSIGNED-PAYLOAD" } };
    const headers = fixture.sign("object-storage", "amz", request);
    return headBytes("PUT", target, { ...headers, "content-length": String(sizeBytes) });
  };
  const list = async (): Promise<number> =>
    (await fixture.call("object-storage", "amz", { method: "GET", target: "/" })).status;
  return { port: Number(new URL(fixture.url).port), received, headOf, list };
};

/** Starts the load; resolves with all that it reports after its connections were opened. */
const startLoad = async (order: LoadOrder): Promise<readonly LoadReport[]> => {
  const load = fork(join(import.meta.dirname, "support/load-process.ts"));
  onTestFinished(() => void load.kill("SIGKILL"));
  const opened = once(load, "message") as Promise<[LoadReport]>;
  load.send(order);
  const connections = order.idle + order.slow.length + order.large.length;
  expect((await opened)[0]).toEqual({ kind: "open", connections });
  const reports: LoadReport[] = [];
  load.on("message", (report: LoadReport) => reports.push(report));
  return reports;
};

test("idle, slow and large requests at once: others are as quick, memory is bounded, and in the end all are cut", async () => {
  const patienceMs = isSoak ? 90_000 : 5_000;
  const { port, received, headOf, list } = await startShelf({
    headersTimeoutMs: patienceMs,
    idleTimeoutMs: patienceMs,
    stallTimeoutMs: patienceMs,
    requestsMax: 5_000,
  });
  await turn(list);
  const before = [await turn(list), await turn(list), await turn(list)];

  const beforeBytes = process.memoryUsage().arrayBuffers;
  const reports = await startLoad({
    port,
    idle: idleCount,
    // Half of them stop in the head, the others in the body.
    slow: Array.from({ length: slowCount }, (_, index) =>
      index % 2 === 0 ? "PUT /novels/slow HTTP/1.1\r\nhost:" : `${headOf("/novels/slow", 1_000)}E`,
    ),
    large: Array.from({ length: largeCount }, (_, index) => headOf(`/novels/${index}`, largeBytes)),
    largeBytes,
    largeBytesPerSecond,
  });
  const meanwhile: number[] = [];
  let peakBytes = 0;
  while (reports.length === 0) {
    meanwhile.push(await turn(list));
    peakBytes = Math.max(peakBytes, process.memoryUsage().arrayBuffers - beforeBytes);
  }

  const figures = {
    before: quartile(before),
    meanwhile: quartile(meanwhile),
    turns: meanwhile.length,
    peakBytes,
  };
  if (isSoak) process.stdout.write(`${JSON.stringify(figures)}\n`);
  const statuses = Array.from({ length: largeCount }, () => "200");
  expect(reports[0]).toMatchObject({ kind: "done", statuses });
  // In the short form they may have been idle for too long by then.
  const others = reports[0]?.kind === "done" ? reports[0].others : 0;
  expect(others).toBeGreaterThanOrEqual(rounds(0, idleCount + slowCount));
  expect(received.bytes).toBeGreaterThanOrEqual(largeCount * largeBytes);
  // A turn of requests needs some time in any case, in which the machine may do something else.
  expect(quartile(meanwhile)).toBeLessThan(3 * Math.max(quartile(before), 10));
  // What is on the way of one upload, in the gateway and the service, and what V8 has not collected yet.
  expect(peakBytes).toBeLessThan(64 * mebibyte + largeCount * 3 * mebibyte);
  await eventually(() => reports[1]?.kind === "cut", "all connections are closed", 180_000);
}, 400_000);

test("uploads as quick as the network is: others are served between them, and do not wait for all", async () => {
  const { port, received, headOf, list } = await startShelf({});
  const large = Array.from({ length: 100 }, (_, index) => headOf(`/novels/${index}`, 2 * mebibyte));
  const order = {
    port,
    idle: 0,
    slow: [],
    large,
    largeBytes: 2 * mebibyte,
    largeBytesPerSecond: Number.MAX_SAFE_INTEGER,
  };
  const reports = await startLoad(order);
  let answered = 0;
  while (reports.length === 0) {
    expect(await list()).toBe(200);
    answered += 1;
  }
  expect(reports[0]).toMatchObject({ kind: "done", statuses: large.map(() => "200") });
  expect(received.bytes).toBe(200 * mebibyte);
  // Without turns it is about five, however quick the machine is.
  expect(answered).toBeGreaterThan(12);
}, 120_000);
