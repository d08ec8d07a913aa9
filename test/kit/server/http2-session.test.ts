import { connect as connectHttp2 } from "node:http2";

import { expect, onTestFinished, test } from "vitest";

import { eventually } from "../../support/eventually.ts";
import { closing, connectRaw, grpcCall } from "./raw-http2.ts";
import { startTestServer } from "./test-service.ts";

const start = async () => {
  const limits = { headersTimeoutMs: 2_000, idleTimeoutMs: 100, lingerMs: 600_000 };
  const started = await startTestServer({ limits });
  onTestFinished(() => started.server.stop(0));
  return started;
};

const connectIdle = async (port: number) => {
  const socket = (await connectRaw(port)).resume();
  onTestFinished(() => void socket.destroy());
  return socket;
};

test("an idle peer that reads is told so, and not cut off only after the time for slow headers", async () => {
  const { server } = await start();
  const socket = await connectIdle(server.port);
  expect(await eventually(() => socket.closed, "the connection is closed", 5_000)).toBe(true);
});

test("a peer with a call that waits is not idle", async () => {
  const { server, app } = await start();
  const session = connectHttp2(`http://127.0.0.1:${server.port}`);
  onTestFinished(() => session.destroy());
  let goings = 0;
  session.on("goaway", () => (goings += 1));
  const stream = session.request(grpcCall("Wait"));
  stream.on("error", () => {});
  stream.end(Buffer.alloc(5));
  await eventually(() => app.begun.includes("wait"), "the call waits");
  // A later connection is closed as idle, so the time of the first one is over as well.
  await closing(await connectIdle(server.port));
  expect(goings).toBe(0);
});
