import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo, ListenOptions as NetListenOptions } from "node:net";

import type { Address } from "../services/kit/config/config.ts";
import { programVersion } from "../services/kit/config/usage.ts";
import type { Metrics } from "../services/kit/metrics/metrics.ts";
import { connectionsFor } from "../services/kit/process/descriptors.ts";
import { healthAt } from "../services/kit/server/health.ts";
import { refuseBroken } from "../services/kit/server/broken-requests.ts";
import { boundConnections, refuseFlooders, requestEvents } from "../services/kit/server/connection-places.ts";
import { waitingConnectionsMax } from "../services/kit/server/limits.ts";
import { RequestsInFlight } from "../services/kit/server/requests-in-flight.ts";
import type { TlsSource } from "../services/kit/tls/tls-files.ts";
import { createHttpServer } from "../services/kit/tls/http-server.ts";
import type { Gateway } from "./gateway.ts";
import { answer } from "./pipeline/pipeline.ts";
import type { RpcEndpoint } from "./rpc/rpc-endpoint.ts";

/** A gateway that listens. */
export interface RunningGateway {
  readonly url: string;
  readonly adminUrl: string;
  /**
   * Reports NOT_SERVING to health checks, accepts no new connections, waits at most the grace time for running
   * requests, and closes.
   */
  stop(graceMs: number): Promise<void>;
}

/** The addresses of a gateway; port 0 is a free port. */
export interface ListenOptions {
  /** The workers of a gateway share it. */
  readonly listen: Address;
  /** Also a unix socket, by its path. */
  readonly adminListen: Address | { readonly path: string };
  /** The certificate of the main port. Unset: it serves plain HTTP. */
  readonly certificate?: TlsSource;
  /** The page of metrics of all processes, for the admin port. Unset: there is none. */
  readonly allMetrics?: () => Promise<string>;
  /** Receives the requests that are RPCs. Unset: there are none. */
  readonly rpc?: Pick<RpcEndpoint, "takes" | "answer" | "peers">;
  /** What the Server header of answers on the main port says. Unset: nothing, and there is none. */
  readonly serverHeader?: "version" | "name" | "none";
}

/** Starts to listen. Rejects if an address is in use. */
export const startGateway = async (gateway: Gateway, options: ListenOptions): Promise<RunningGateway> => {
  const state = { isServing: true };
  const { certificate, serverHeader = "none", rpc } = options;
  const main = createMainServer(gateway, certificate, { serverName: serverNames[serverHeader], rpc });
  const admin = createAdminServer(state, gateway.metrics, options.allMetrics);
  await listen(main, { ...options.listen, exclusive: false });
  try {
    await listen(admin, { ...options.adminListen, exclusive: true });
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

const serverNames = { version: `Quartet/${programVersion}`, name: "Quartet", none: undefined };

const createMainServer = (
  gateway: Gateway,
  certificate: TlsSource | undefined,
  { serverName, rpc }: { readonly serverName: string | undefined; readonly rpc: ListenOptions["rpc"] },
): Server => {
  const { limits } = gateway;
  const server = createHttpServer(certificate, {
    keepAlive: true,
    noDelay: true,
    keepAliveTimeout: limits.idleTimeoutMs,
    headersTimeout: limits.headersTimeoutMs,
    connectionsCheckingInterval: Math.min(connectionsCheckMs, Math.ceil(limits.headersTimeoutMs / 2)),
    // A large object may take hours; bodies have time limits of their own.
    requestTimeout: 0,
    maxHeaderSize: limits.headBytesMax,
    // A repeated header is signed as a list, so its first value alone must not count.
    joinDuplicateHeaders: true,
    // Most requests have no body; the platform makes no stream for those that declare none.
    optimizeEmptyRequests: true,
    // A request without a Host header is refused by the signature check, with an error of the API.
    requireHostHeader: false,
  });
  const places = boundConnections(server, connectionsFor(limits.connectionsMax), requestEvents);
  if (rpc !== undefined) refuseFlooders(server, places, rpc.peers);
  server.maxHeadersCount = limits.headersCountMax;
  const inFlight = new RequestsInFlight({
    perConnectionMax: limits.requestsPerConnectionMax,
    runningMax: limits.requestsMax,
    waitingMax: limits.requestsWaitingMax,
  });
  const handle =
    (expectsContinue: boolean) =>
    (request: IncomingMessage, response: ServerResponse): void => {
      inFlight.take(request, response, (isBusy) => {
        if (!isBusy && rpc?.takes(request.url) === true) {
          if (expectsContinue) response.writeContinue();
          if (serverName !== undefined) response.setHeader("server", serverName);
          rpc.answer(request, response);
          return;
        }
        void answer(gateway, request, response, { expectsContinue, isBusy, serverName });
      });
    };
  server.on("request", handle(false));
  server.on("checkContinue", handle(true));
  // An expectation that nobody knows, or an empty one, is ignored, as in the public service.
  server.on("checkExpectation", handle(false));
  // Bytes that are not HTTP have no dialect, so their refusal is a bare status.
  refuseBroken(server);
  return server;
};

/** How often connections are looked at whose headers take too long; one that sends nothing is among them. */
const connectionsCheckMs = 5_000;

interface AdminPage {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

type AdminState = { readonly isServing: boolean };

/** Health and metrics have a port of their own, because every path of the main port can be a bucket. */
const createAdminServer = (
  state: AdminState,
  metrics: Metrics | undefined,
  allMetrics: ListenOptions["allMetrics"],
): Server => {
  const inFlight = new RequestsInFlight(adminInFlight);
  const server = createServer((request, response) => {
    const send = ({ status, contentType, body }: AdminPage): void => {
      response.writeHead(status, { "content-type": contentType, "content-length": Buffer.byteLength(body) });
      response.end(request.method === "HEAD" ? undefined : body);
    };
    inFlight.take(request, response, (isBusy) => {
      if (isBusy) send(failedPage);
      else adminPage(request, state, metrics, allMetrics).then(send, () => send(failedPage));
    });
  });
  // A connection that is idle makes room, so that nobody keeps health checks out.
  boundConnections(server, adminConnectionsMax);
  return server;
};

const adminInFlight = { perConnectionMax: 4, runningMax: 32, waitingMax: 2_000 };
const adminConnectionsMax = 256;

/** Sent if a page fails, which must not end the gateway, and if too many are asked for at once. */
const failedPage: AdminPage = { status: 503, contentType: "application/json", body: "" };

const adminPage = async (
  { url, method }: IncomingMessage,
  { isServing }: AdminState,
  metrics: Metrics | undefined,
  allMetrics: ListenOptions["allMetrics"],
): Promise<AdminPage> => {
  const isRead = method === "GET" || method === "HEAD";
  const isHealthy = isRead ? healthAt(url, isServing) : undefined;
  if (isHealthy !== undefined) {
    const body = JSON.stringify({ status: isHealthy ? "SERVING" : "NOT_SERVING" });
    return { status: isHealthy ? 200 : 503, contentType: "application/json", body };
  }
  if (isRead && url === "/metrics" && metrics !== undefined) return { status: 200, ...(await metrics.page()) };
  if (isRead && url === "/metrics/all" && allMetrics !== undefined)
    return { status: 200, contentType: "text/plain; version=0.0.4; charset=utf-8", body: await allMetrics() };
  return { status: 404, contentType: "application/json", body: "" };
};

const listen = (server: Server, options: NetListenOptions): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ ...options, backlog: waitingConnectionsMax }, () => {
      server.off("error", reject);
      resolve();
    });
  });

const urlOf = (server: Server, scheme = "http"): string => {
  const place = server.address() as AddressInfo | string;
  if (typeof place === "string") return `unix:${place}`;
  const { address, port, family } = place;
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

/** How often a draining server closes connections whose last answer was sent. */
const sweepMs = 20;
