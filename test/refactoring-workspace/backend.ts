import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";

import { onTestFinished } from "vitest";

import type { CertificateFiles } from "../support/certificates.ts";

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
  const server = createServer(noting(name, asked, listener));
  return { ...(await listen(server, port)), server, asked };
};

/** A service that the proxy reaches over HTTPS. */
export interface SecureBackend extends Omit<Backend, "server"> {
  readonly server: HttpsServer;
  /** Ends the open connections; the next ones are shown another certificate. */
  renew(files: CertificateFiles): Promise<void>;
}

/** Starts a service over HTTPS that shows the certificate; it is closed when the test ends. */
export const startSecureBackend = async (name: string, files: CertificateFiles): Promise<SecureBackend> => {
  const asked: string[] = [];
  const server = createSecureServer(await materialOf(files), noting(name, asked));
  const renew = async (renewed: CertificateFiles) => {
    server.setSecureContext(await materialOf(renewed));
    server.closeAllConnections();
  };
  return { ...(await listen(server, 0, "https")), server, asked, renew };
};

const materialOf = async ({ certificate, key }: CertificateFiles) => ({
  cert: await readFile(certificate),
  key: await readFile(key),
});

const noting =
  (name: string, asked: string[], listener?: Answering): Answering =>
  (request, response) => {
    asked.push(`${request.method} ${request.url}`);
    if (listener === undefined) response.end(`${name} ${request.method} ${request.url}`);
    else listener(request, response);
  };

const listen = async (server: Server | HttpsServer, port: number, scheme = "http") => {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
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
  return { url: `${scheme}://127.0.0.1:${address.port}`, port: address.port, close };
};
