import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { once } from "node:events";

import { expect, onTestFinished, test } from "vitest";

import { showsLife } from "../../services/launcher/health-probe.ts";

const listening = async (server: Server): Promise<string> => {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const answering = (status: number) =>
  listening(createHttpServer((_request, response) => response.writeHead(status).end()));
const closing = () => listening(createServer((socket) => socket.destroy()));
const silent = () => listening(createServer());
const absent = async () => {
  const server = createServer();
  const url = await listening(server);
  server.close();
  return url;
};

// a process that, of the gateway's kind, of a service's kind
test.each([
  ["serves", () => answering(200), true, true],
  ["drains", () => answering(503), true, true],
  ["has no such page", () => answering(404), true, true],
  ["closes connections, because it has too many", closing, true, true],
  ["does not answer", silent, false, false],
  ["does not listen", absent, false, false],
] as const)("a process that %s", async (_what, start, gateway, service) => {
  const url = await start();
  const limitMs = 300;
  const showed = async (urls: Record<string, string>): Promise<boolean> =>
    showsLife({ urls, tls: undefined, limitMs }).then(
      () => true,
      () => false,
    );
  expect([await showed({ admin: url }), await showed({ rpc: url })]).toEqual([gateway, service]);
});
