import { once } from "node:events";
import type { Socket } from "node:net";
import { connect } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import { startTestServer } from "./test-service.ts";

/** A server and a connection to it on which this was sent. */
const startWithPeer = async (sent: string) => {
  const { server } = await startTestServer();
  const socket: Socket = connect(server.port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(sent);
  // An answer on another connection shows that the server has read what was sent before.
  await (await fetch(`${server.url}/livez`)).text();
  return { server, socket };
};

const closedBy = async (socket: Socket, stopping: Promise<void>): Promise<boolean> => {
  socket.resume();
  await Promise.all([stopping, socket.closed ? undefined : once(socket, "close")]);
  return socket.closed;
};

// what the peer has sent, how long calls may go on in milliseconds
test.each([
  ["nothing", "", 600_000],
  ["the first letters of HTTP/2", "PR", 600_000],
  ["a beginning of a request", "POST /quartet.test.v1.TestService/Echo HTTP/1.1\r\nhost: a\r\n", 0],
  ["a request without its body", "POST /a HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nx", 0],
  ["HTTP/2 and its settings", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", 600_000],
  ["HTTP/2 and then nothing", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0],
])(
  "a peer that has sent %s holds up no stop, and its connection is closed",
  async (_what, sent, graceMs) => {
    const { server, socket } = await startWithPeer(sent);
    expect(await closedBy(socket, server.stop(graceMs))).toBe(true);
  },
  10_000,
);
