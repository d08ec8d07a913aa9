import type { Socket } from "node:net";
import { connect } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import { eventually } from "../support/eventually.ts";
import { startFixture } from "./support/fixture.ts";

test.each([
  // what the connections send
  ["nothing", ""],
  ["half a head", "GET / HTTP/1.1\r\nhost:"],
])("connections that send %s make room for others, also if they never close their own side", async (_name, bytes) => {
  const fixture = await startFixture({ headersTimeoutMs: 100, connectionsMax: 20 });
  onTestFinished(() => fixture.stop());
  const { hostname, port } = new URL(fixture.url);
  const ended = new Set<Socket>();
  for (let at = 0; at < 20; at += 1) {
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    socket.on("error", () => {});
    socket.on("end", () => ended.add(socket));
    socket.resume();
    socket.write(bytes);
    onTestFinished(() => void socket.destroy());
  }
  await eventually(() => ended.size === 20, "all are told to close");
  const request = { method: "GET", target: "/" };
  const response = await eventually(() => fixture.call("object-storage", "amz", request), "there is room");
  expect(response.status).toBe(200);
});
