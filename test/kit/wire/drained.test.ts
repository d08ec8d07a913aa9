import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import { drained } from "../../../services/kit/wire/drained.ts";

/** An answer that was begun, on a connection whose other end reads nothing. */
const begunAnswer = async (): Promise<ServerResponse> => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => {});
  onTestFinished(() => {
    socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  socket.write("GET / HTTP/1.1\r\nhost: test\r\n\r\n");
  const [, response] = (await once(server, "request")) as [unknown, ServerResponse];
  response.on("error", () => {});
  response.writeHead(200);
  return response;
};

test("an answer whose bytes the network accepts is not waited for", async () => {
  const response = await begunAnswer();
  await drained(response);
  expect(response.writableNeedDrain).toBe(false);
});

test("an answer whose bytes wait is waited for until its connection closes", async () => {
  const response = await begunAnswer();
  while (response.write(Buffer.alloc(1_048_576)));
  let isDrained = false;
  const waiting = drained(response).then(() => (isDrained = true));
  await Promise.resolve();
  expect(isDrained).toBe(false);
  response.destroy();
  await waiting;
});

test("an answer whose connection has closed already is not waited for", async () => {
  const response = await begunAnswer();
  while (response.write(Buffer.alloc(1_048_576)));
  response.destroy();
  await once(response, "close");
  await drained(response);
  expect(response.destroyed).toBe(true);
});
