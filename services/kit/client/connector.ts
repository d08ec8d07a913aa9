import { buildConnector } from "undici";

import { connectionOptions } from "../tls/client-tls.ts";
import type { EngineOptions } from "./engine.ts";

/** No connection to the server could be made, so nothing of the call was sent. */
export class NotConnectedError extends Error {
  override readonly name = "NotConnectedError";
}

/** Makes the connections of a pool: TCP, TLS with the current content of its files, or a unix socket. */
export const createConnector = ({ address, tls, limits }: EngineOptions): buildConnector.connector => {
  const build = (): buildConnector.connector =>
    buildConnector({
      ...(address.startsWith("https:") && connectionOptions(tls)),
      ...(address.startsWith("unix:") && { socketPath: address.slice("unix:".length) }),
      // This engine uses HTTP/1.1, the gRPC engine HTTP/2.
      allowH2: false,
      timeout: limits.connectTimeoutMs,
      noDelay: true,
    });
  let known = tls?.source.current();
  let connect = build();
  return (options, callback) => {
    const material = tls?.source.current();
    if (material !== known) connect = build();
    known = material;
    connect(options, (...[error, socket]) => {
      if (error === null) callback(null, socket);
      else callback(new NotConnectedError(error.message, { cause: error }), null);
    });
  };
};
