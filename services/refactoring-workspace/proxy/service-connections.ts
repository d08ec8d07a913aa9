import type { LookupAddress } from "node:dns";
import type { LookupFunction, Socket } from "node:net";
import { callbackify } from "node:util";

import { buildConnector } from "undici";

import { hostnameOf } from "../../kit/network/private-addresses.ts";
import { connectThrough } from "./connect-request.ts";
import type { ServicePath } from "./service-network.ts";

/** Opens connections to one service, with TLS for https. */
export type Connector = buildConnector.connector;

/**
 * Opens connections on a path: to the next of its addresses each time, and to the others if that fails. `timeoutMs` is
 * the longest time until a connection is open.
 */
export const connectorOn = (path: ServicePath, timeoutMs: number): Connector => {
  const { addresses, secureContext, httpProxy } = path;
  const inTurn = taking(addresses);
  const direct = buildConnector({
    lookup: pinnedLookup(inTurn),
    timeout: timeoutMs,
    allowH2: false,
    ...(secureContext && { secureContext }),
  });
  if (httpProxy === undefined) return direct;
  return (options, callback) => {
    const { protocol, port } = options;
    const portOrDefault = port || (protocol === "https:" ? "443" : "80");
    callbackify(openThrough)(httpProxy, inTurn(), portOrDefault, timeoutMs, (error, httpSocket) => {
      if (error !== null) callback(error, null);
      else if (protocol === "https:") direct({ ...options, httpSocket }, callback);
      else callback(null, httpSocket);
    });
  };
};

/** Opens one connection to the host of a URL. */
export const openConnection = (connect: Connector, url: URL): Promise<Socket> => {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const { host, protocol, port } = url;
  connect({ hostname: hostnameOf(url), host, protocol, port }, (error, socket) => {
    // After an error the socket is left out, whatever its type says.
    if (error === null) resolve(socket);
    else reject(error);
  });
  return promise;
};

/** Returns the addresses, beginning with the next one each time. */
const taking = (addresses: readonly LookupAddress[]): (() => readonly LookupAddress[]) => {
  let next = 0;
  return () => {
    const start = next++ % addresses.length;
    return [...addresses.slice(start), ...addresses.slice(0, start)];
  };
};

/** A lookup that returns known addresses, whatever the name. */
const pinnedLookup =
  (inTurn: () => readonly LookupAddress[]): LookupFunction =>
  (_hostname, options, callback) => {
    const addresses = inTurn();
    const first = addresses[0] as LookupAddress;
    if (options.all === true) callback(null, [...addresses]);
    else callback(null, first.address, first.family);
  };

/** A connection through an HTTP proxy to the first address that it can reach. */
const openThrough = async (
  httpProxy: string,
  addresses: readonly LookupAddress[],
  port: string,
  timeoutMs: number,
): Promise<Socket> => {
  const deadline = AbortSignal.timeout(timeoutMs);
  let failure: unknown;
  for (const address of addresses) {
    if (deadline.aborted) break;
    try {
      return await connectThrough(httpProxy, { address, port }, deadline);
    } catch (error) {
      failure = error;
    }
  }
  throw deadline.aborted ? new ConnectLateError(`${httpProxy} opened no connection in time`) : failure;
};

/** An HTTP proxy did not open a connection in time. */
class ConnectLateError extends Error {
  override readonly name = "ConnectLateError";
  readonly code = "ETIMEDOUT";
}
