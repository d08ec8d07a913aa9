import type { IncomingMessage, Server, ServerOptions, ServerResponse } from "node:http";
import { createServer, STATUS_CODES } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

import type { Address } from "../services/kit/config/config.ts";
import type { Metrics } from "../services/kit/metrics/metrics.ts";
import type { TlsSource } from "../services/kit/tls/tls-files.ts";
import { contextOptions } from "../services/kit/tls/server-tls.ts";
import type { Gateway } from "./gateway.ts";
import { answer } from "./pipeline/pipeline.ts";

/** A gateway that listens. */
export interface RunningGateway {
  readonly url: string;
  readonly adminUrl: string;
  /** Tells health checks to send no more; takes no new connections, lets running requests end within the grace time, and closes. */
  stop(graceMs: number): Promise<void>;
}

/** Where a gateway listens; port 0 asks the system for a free one. */
export interface ListenOptions {
  readonly listen: Address;
  readonly adminListen: Address;
  /** The certificate of the main port. Unset: it speaks plain HTTP. */
  readonly certificate?: TlsSource;
}

/** Starts to answer. Rejects when an address cannot be taken. */
export const startGateway = async (gateway: Gateway, options: ListenOptions): Promise<RunningGateway> => {
  const state = { isServing: true };
  const { certificate } = options;
  const main = createMainServer(gateway, certificate);
  const admin = createAdminServer(state, gateway.metrics);
  await listen(main, options.listen);
  try {
    await listen(admin, options.adminListen);
  } catch (error) {
    main.close();
    throw error;
  }
  return {
    url: urlOf(main, certificate === undefined ? "http" : "https"),
    adminUrl: urlOf(admin),
    stop: async (graceMs) => {
      state.isServing = false;
      await drain(main, graceMs);
      await drain(admin, 0);
    },
  };
};

const createMainServer = (gateway: Gateway, certificate: TlsSource | undefined): Server => {
  const { limits } = gateway;
  const server = certified(certificate, {
    keepAlive: true,
    noDelay: true,
    keepAliveTimeout: limits.idleTimeoutMs,
    headersTimeout: limits.headersTimeoutMs,
    // A large object may take hours; bodies have time limits of their own.
    requestTimeout: 0,
    maxHeaderSize: limits.headBytesMax,
    // A header that comes several times is a list; its first value alone would not be what was signed.
    joinDuplicateHeaders: true,
    // A request without a Host header is refused by the signature check, in the words of the API.
    requireHostHeader: false,
  });
  server.maxConnections = limits.connectionsMax;
  server.maxHeadersCount = limits.headersCountMax;
  const take =
    (expectsContinue: boolean) =>
    (request: IncomingMessage, response: ServerResponse): void => {
      void answer(gateway, request, response, expectsContinue);
    };
  server.on("request", take(false));
  server.on("checkContinue", take(true));
  // Any other expectation is one that nobody here can meet.
  server.on("checkExpectation", (_request, response) => {
    response.writeHead(417, { "content-length": 0 }).end();
  });
  server.on("clientError", refuseBroken);
  return server;
};

/** A server of HTTP, or of HTTPS whose renewed certificate is shown to the next connection. */
const certified = (source: TlsSource | undefined, options: ServerOptions): Server => {
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

/** A request that is not even HTTP has no dialect, so its refusal is a bare status. */
const refuseBroken = (error: NodeJS.ErrnoException, socket: Duplex): void => {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = brokenStatus[error.code ?? ""] ?? 400;
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
};

const brokenStatus: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

interface AdminPage {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

type AdminState = { readonly isServing: boolean };

/** Health and metrics stand on a port of their own, because every path of the main port can be a bucket. */
const createAdminServer = (state: AdminState, metrics: Metrics | undefined): Server =>
  createServer((request, response) => {
    const send = ({ status, contentType, body }: AdminPage): void => {
      response.writeHead(status, { "content-type": contentType, "content-length": Buffer.byteLength(body) });
      response.end(request.method === "HEAD" ? undefined : body);
    };
    adminPage(request, state, metrics).then(send, () => send(failedPage));
  });

/** Instead of a page that cannot be made: what goes wrong there must not end the gateway. */
const failedPage: AdminPage = { status: 503, contentType: "application/json", body: "" };

const adminPage = async (
  { url, method }: IncomingMessage,
  { isServing }: AdminState,
  metrics: Metrics | undefined,
): Promise<AdminPage> => {
  const isRead = method === "GET" || method === "HEAD";
  if (isRead && url === "/healthz") {
    const body = JSON.stringify({ status: isServing ? "SERVING" : "NOT_SERVING" });
    return { status: isServing ? 200 : 503, contentType: "application/json", body };
  }
  if (isRead && url === "/metrics" && metrics !== undefined) return { status: 200, ...(await metrics.page()) };
  return { status: 404, contentType: "application/json", body: "" };
};

const listen = (server: Server, { host, port }: Address): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });

const urlOf = (server: Server, scheme = "http"): string => {
  const { address, port, family } = server.address() as AddressInfo;
  return family === "IPv6" ? `${scheme}://[${address}]:${port}` : `${scheme}://${address}:${port}`;
};

const drain = (server: Server, graceMs: number): Promise<void> =>
  new Promise((resolve) => {
    const force = setTimeout(() => server.closeAllConnections(), graceMs);
    const sweep = setInterval(() => server.closeIdleConnections(), sweepMs);
    server.close(() => {
      clearTimeout(force);
      clearInterval(sweep);
      resolve();
    });
    server.closeIdleConnections();
  });

/** How often a draining server looks for connections whose last answer is out. */
const sweepMs = 20;
