import type { Server, ServerOptions } from "node:http";
import { createServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";

import { contextOptions } from "./server-tls.ts";
import type { TlsSource } from "./tls-files.ts";

/**
 * A server of HTTP/1.1, over TLS where it has a certificate. A renewed certificate counts from the next connection on.
 * A handshake may take as long as the headers of a request.
 */
export const createHttpServer = (source: TlsSource | undefined, options: ServerOptions): Server => {
  if (source === undefined) return createServer(options);
  let known = source.current();
  const handshake = { ALPNProtocols: ["http/1.1"], handshakeTimeout: options.headersTimeout };
  const server = createHttpsServer({ ...options, ...contextOptions(known), ...handshake });
  server.prependListener("connection", () => {
    const material = source.current();
    if (material !== known) server.setSecureContext(contextOptions(material));
    known = material;
  });
  return server;
};
