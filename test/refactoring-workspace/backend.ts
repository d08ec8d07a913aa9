import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";

import { onTestFinished } from "vitest";

/** Answers one request. */
export type Answering = (request: IncomingMessage, response: ServerResponse) => unknown;

/** A service that the proxy forwards to. */
export interface Backend {
  readonly url: string;
  readonly port: number;
  readonly server: Server;
  /** The requests that it received, oldest first: `GET /path?query`, health checks included. */
  readonly asked: string[];
  close(): Promise<void>;
}

/**
 * Starts a service on a free port; it is closed when the test ends. Unset: it answers its name and what it was asked.
 */
export const startBackend = async (name: string, listener?: Answering, port = 0): Promise<Backend> => {
  const asked: string[] = [];
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    asked.push(`${request.method} ${request.url}`);
    if (listener === undefined) response.end(`${name} ${request.method} ${request.url}`);
    else listener(request, response);
  });
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const close = async () => {
    if (!server.listening) return;
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, "close");
  };
  onTestFinished(close);
  const address = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${address.port}`, port: address.port, server, asked, close };
};
