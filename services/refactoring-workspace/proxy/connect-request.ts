import type { LookupAddress } from "node:dns";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Socket } from "node:net";

/** An HTTP proxy opened no connection to a service. */
class ConnectRefusedError extends Error {
  override readonly name = "ConnectRefusedError";
}

/** How long a connection is idle before the system checks whether its other end is there. */
const keepAliveDelayMs = 60_000;

/** The target of a connection through an HTTP proxy. */
interface ConnectTarget {
  readonly address: LookupAddress;
  readonly port: string;
}

/**
 * Opens a connection to an address through an HTTP proxy by a CONNECT request (RFC 9110 section 9.3.6). The proxy gets
 * the address instead of the service's name, so that it connects to the address that was checked. Rejects with
 * ConnectRefusedError if it answers anything but success, and with the errors of its own connection.
 */
export const connectThrough = (
  proxy: string,
  { address, port }: ConnectTarget,
  signal: AbortSignal,
): Promise<Socket> => {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const url = new URL(proxy);
  const authority = `${address.family === 6 ? `[${address.address}]` : address.address}:${port}`;
  const fail = (problem: string) => reject(new ConnectRefusedError(`${url.origin} ${problem} CONNECT ${authority}`));
  const asking = (url.protocol === "https:" ? httpsRequest : httpRequest)(url, {
    method: "CONNECT",
    path: authority,
    headers: { host: authority },
    agent: false,
  });
  const giveUp = () => asking.destroy(signal.reason as Error);
  signal.addEventListener("abort", giveUp, { once: true });
  asking.once("close", () => signal.removeEventListener("abort", giveUp));
  asking.once("error", reject);
  asking.once("response", (answer) => {
    fail(`answered ${answer.statusCode} to`);
    asking.destroy();
  });
  asking.once("connect", (answer, socket: Socket, head) => {
    signal.removeEventListener("abort", giveUp);
    const status = answer.statusCode ?? 0;
    if (status < 200 || status > 299) {
      socket.destroy();
      fail(`answered ${status} to`);
      return;
    }
    if (head.length > 0) socket.unshift(head);
    // Dead peers are detected as on direct connections.
    socket.setKeepAlive(true, keepAliveDelayMs);
    resolve(socket);
  });
  asking.end();
  return promise;
};
