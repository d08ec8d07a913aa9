import type { AddressInfo, Socket } from "node:net";
import { createServer } from "node:net";

import { onTestFinished } from "vitest";

/** Accepts connections, reads nothing and never answers, as a stopped process does. Closed when the test ends. */
export const startSilentServer = async (): Promise<string> => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.pause();
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};
