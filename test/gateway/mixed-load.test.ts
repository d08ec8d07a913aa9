import { once } from "node:events";
import type { Socket } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import { eventually } from "../support/eventually.ts";
import { heldConnections, openConnection } from "../support/idle-connections.ts";
import { rounds } from "../support/rounds.ts";
import { startFixture } from "./support/fixture.ts";
import { headBytes } from "./support/raw-client.ts";

const mebibyte = 1024 * 1024;

const idleCount = rounds(200, 5_000);
const slowCount = rounds(60, 2_000);
const largeCount = rounds(20, 500);
const largeBytes = 8 * mebibyte;

const piece = Buffer.alloc(65_536, "E");

/** Sends a body of one letter, as fast as it is taken, and resolves with the status. */
const upload = async (socket: Socket, head: string, sizeBytes: number): Promise<string | undefined> => {
  const answer = once(socket, "data") as Promise<[Buffer]>;
  socket.write(head);
  for (let sent = 0; sent < sizeBytes; sent += piece.length) if (!socket.write(piece)) await once(socket, "drain");
  const [first] = await answer;
  return first.toString("latin1").split(" ")[1];
};

test("idle, slow and large requests at once: others are answered, memory is bounded, and in the end all are cut", async () => {
  const limits = { headersTimeoutMs: 5_000, idleTimeoutMs: 5_000, stallTimeoutMs: 5_000, requestsMax: 5_000 };
  const fixture = await startFixture(limits);
  onTestFinished(() => fixture.stop(0));
  let receivedBytes = 0;
  fixture.answer("PutBook", async (_context, requests) => {
    for await (const message of requests) receivedBytes += (message as { body?: Uint8Array }).body?.length ?? 0;
    return {};
  });
  const listener = { port: Number(new URL(fixture.url).port), isSecure: false };
  const headOf = (target: string, sizeBytes: number): string => {
    const request = { method: "PUT", target, headers: { "x-amz-content-sha256": "UNSIGNED-PAYLOAD" } };
    const headers = fixture.sign("object-storage", "amz", request);
    return headBytes("PUT", target, { ...headers, "content-length": String(sizeBytes) });
  };
  const list = () => fixture.call("object-storage", "amz", { method: "GET", target: "/" });
  await list();

  const beforeBytes = process.memoryUsage().arrayBuffers;
  let peakBytes = 0;
  for (let count = 0; count < idleCount; count += 1) (await openConnection(listener)).resume();
  for (let count = 0; count < slowCount; count += 1) {
    const socket = (await openConnection(listener)).resume();
    // Half of them stop in the head, the others in the body.
    socket.write(count % 2 === 0 ? "PUT /novels/slow HTTP/1.1\r\nhost:" : `${headOf("/novels/slow", 1_000)}E`);
  }
  const sockets = await Promise.all(Array.from({ length: largeCount }, () => openConnection(listener)));
  let isLoaded = true;
  const normal: number[] = [];
  const asking = (async () => {
    while (isLoaded) {
      normal.push((await list()).status);
      peakBytes = Math.max(peakBytes, process.memoryUsage().arrayBuffers - beforeBytes);
    }
  })();
  const large = await Promise.all(
    sockets.map((socket, index) => upload(socket, headOf(`/novels/${index}`, largeBytes), largeBytes)),
  );
  isLoaded = false;
  await asking;

  expect([new Set(large), new Set(normal)]).toEqual([new Set(["200"]), new Set([200])]);
  expect(receivedBytes).toBeGreaterThanOrEqual(largeCount * largeBytes);
  // What is on the way of one upload, in the client, the gateway and the service, and what V8 has not collected yet.
  expect(peakBytes).toBeLessThan(64 * mebibyte + largeCount * 3 * mebibyte);
  await eventually(async () => (await heldConnections(listener.port)).size === 0, "all connections are closed", 60_000);
}, 300_000);
