import type { IncomingMessage } from "node:http";

import type { ServerLimits } from "./limits.ts";

/**
 * Reads the rest of an early answered request for a limited time. Closing the connection at once would reset it before
 * a caller that is still sending has the answer; reading without limit would let the caller hold the connection.
 */
export const lingerOver = (request: IncomingMessage, limits: ServerLimits): void => {
  if (request.complete || request.destroyed) return;
  let size = 0;
  const giveUp = (): void => {
    request.socket.destroy();
  };
  const timer = setTimeout(giveUp, limits.lingerMs);
  timer.unref();
  request.removeAllListeners("data");
  request.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > limits.lingerBytesMax) giveUp();
  });
  request.on("close", () => clearTimeout(timer));
  request.on("end", () => clearTimeout(timer));
  request.resume();
};
