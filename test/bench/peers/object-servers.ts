import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import { createServer } from "node:net";

import { largeBytes, smallBytes } from "./object-sizes.ts";
import { playPeer } from "./peer.ts";

const listen = async (server: Server): Promise<string> => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const small = Buffer.alloc(smallBytes, "a");
const piece = Buffer.alloc(256 * 1024, "a");

/** Tells the sender with one byte when all has come. */
const takeAll = (socket: Socket): void => {
  let left = largeBytes;
  socket.on("data", (chunk) => {
    left -= chunk.length;
    if (left === 0) socket.end("k");
  });
};

const sendAll = (socket: Socket): void => {
  let left = largeBytes;
  const send = (): void => {
    while (left > 0) {
      left -= piece.length;
      if (!socket.write(piece)) return void socket.once("drain", send);
    }
    socket.end();
  };
  send();
};

/** What objects are measured against: small bodies over HTTP, and large ones without any protocol, up and down. */
const roles: Record<string, () => Promise<string>> = {
  http: () =>
    listen(
      createHttpServer((_request, response) => {
        response.writeHead(200, { "content-length": small.length });
        response.end(small);
      }),
    ),
  "socket-up": () => listen(createServer(takeAll)),
  "socket-down": () => listen(createServer(sendAll)),
};

playPeer({ start: roles[process.argv[2] ?? ""] });
