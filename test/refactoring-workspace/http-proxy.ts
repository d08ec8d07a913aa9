import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { connect } from "node:net";

import { onTestFinished } from "vitest";

/** An HTTP proxy between the workspace's proxy and services. */
export interface HttpProxy {
  readonly url: string;
  /** What it was asked to connect to, oldest first: `10.0.0.7:80`. */
  readonly asked: string[];
}

/**
 * Starts an HTTP proxy that connects to ports of this machine in place of addresses; it is closed when the test ends.
 * An address without a port is answered with 403.
 */
export const startHttpProxy = async (ports: Readonly<Record<string, number>>): Promise<HttpProxy> => {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer();
  server.on("connect", (request, socket: Socket, head: Buffer) => {
    asked.push(request.url ?? "");
    const port = ports[request.url ?? ""];
    if (port === undefined) {
      socket.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
      return;
    }
    const onward = connect(port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connected\r\n\r\n");
      onward.write(head);
      socket.pipe(onward).pipe(socket);
    });
    for (const each of [socket, onward]) {
      sockets.add(each);
      each.on("error", () => {});
      each.once("close", () => {
        socket.destroy();
        onward.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
    for (const socket of sockets) socket.destroy();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
};
