import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

import type { Address } from "../../kit/config/config.ts";
import { formatAddress } from "../../kit/config/config.ts";
import type { TrustedProxies } from "../../kit/identity/trusted-proxies.ts";
import type { Ids } from "../../kit/ids/ids.ts";
import type { Logger } from "../../kit/log/log.ts";
import { connectionsFor } from "../../kit/process/descriptors.ts";
import { AddressShares } from "../../kit/server/address-shares.ts";
import type { RefusedBytes } from "../../kit/server/broken-requests.ts";
import { refuseBroken } from "../../kit/server/broken-requests.ts";
import { boundConnections, refuseFlooders, requestEvents } from "../../kit/server/connection-places.ts";
import type { RunningServer } from "../../kit/server/server.ts";
import { waitingConnectionsMax } from "../../kit/server/limits.ts";
import { RequestsInFlight } from "../../kit/server/requests-in-flight.ts";
import { createHttpServer } from "../../kit/tls/http-server.ts";
import type { TlsSource } from "../../kit/tls/tls-files.ts";
import { ClientStalledError } from "./client-stall.ts";
import { forward } from "./forward.ts";
import { countProxyHops, proxyHopsMax, requestHeaders } from "./forwarded-headers.ts";
import type { FunctionCaller } from "./function-caller.ts";
import type { ProxyRefusal } from "./refusal.ts";
import { brokenRefusal, RefusedError, refusalBody, refusals, refuse, upstreamRefusal } from "./refusal.ts";
import { checkHead } from "./request-head.ts";
import { UnsafePathError } from "./request-path.ts";
import type { ProxyLimits } from "./proxy-limits.ts";
import type { ProxiedClient } from "./proxied-client.ts";
import { clientOf } from "./proxied-client.ts";
import type { EndedRequest, ProxiedRequests } from "./proxied-requests.ts";
import type { ProxiedApplications } from "./proxied-applications.ts";
import type { Routed } from "./routing.ts";
import { routeRequest, sentTarget } from "./routing.ts";
import { endWithRefusal, tunnel } from "./tunnel.ts";
import { certificateProblemOf } from "./trusted-authorities.ts";
import type { Upstreams } from "./upstreams.ts";

/** The dependencies of the proxy. */
export interface ProxyOptions {
  readonly listen: Address;
  /** The certificate of the port. Undefined: it serves plain HTTP. */
  readonly certificate: TlsSource | undefined;
  readonly routes: ProxiedApplications;
  readonly upstreams: Upstreams;
  readonly functions: FunctionCaller;
  /** The proxies before this one that say who their clients are. */
  readonly trustedProxies: TrustedProxies;
  /** Told of each request that has ended. */
  readonly requests: Pick<ProxiedRequests, "note">;
  readonly ids: Ids;
  readonly log: Logger;
  readonly limits: ProxyLimits;
}

/** A listening proxy. */
export interface RunningProxy {
  /** The address on which it listens, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** Closes connections from addresses that are shut out, from now on. */
  refuseFlooders(peers: RunningServer["peers"]): void;
  /** Requests and tunnels that are under way, and how many of them are tunnels. */
  stats(): { readonly running: number; readonly tunnels: number };
  /** Accepts no more requests, waits for running ones up to the time (milliseconds; unset: 0), then cuts the rest. */
  stop(graceMs?: number): Promise<void>;
}

/**
 * Starts the proxy: an HTTP/1.1 port on which every application answers under `/<api gateway id>/<stage>`, and under
 * `/<stage>` on hosts whose first label is its id.
 */
export const startProxy = async (options: ProxyOptions): Promise<RunningProxy> => {
  const { limits, certificate } = options;
  const proxy = new Proxy(options);
  const server = createHttpServer(certificate, {
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: limits.headerTimeoutMs,
    requestTimeout: 0,
    // A request without a Host header is refused as others are, with a reason.
    requireHostHeader: false,
    keepAliveTimeout: limits.keepAliveMs,
    keepAlive: true,
    keepAliveInitialDelay: 60_000,
    // An upgrade to any other protocol is ignored, as RFC 9110 section 7.8 allows, and the request is served.
    shouldUpgradeCallback: (request) => request.headers.upgrade?.toLowerCase() === "websocket",
  });
  const places = boundConnections(server, connectionsFor(limits.connectionsMax), requestEvents);
  const inFlight = new RequestsInFlight({
    perConnectionMax: limits.requestsPerConnectionMax,
    // The proxy counts its requests together with its tunnels.
    runningMax: Infinity,
    waitingMax: limits.requestsWaitingMax,
  });
  const handle = (expectsContinue: boolean) => (request: IncomingMessage, response: ServerResponse) =>
    inFlight.take(request, response, () => proxy.serve(request, response, expectsContinue));
  server.on("request", handle(false));
  server.on("checkContinue", handle(true));
  server.on("checkExpectation", handle(false));
  for (const event of ["upgrade", "connect"])
    server.on(event, (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      places.begin(request.socket);
      proxy.upgrade(request, socket, head);
    });
  refuseBroken(server, (status) => proxy.describeBroken(status));
  server.listen({ ...options.listen, backlog: waitingConnectionsMax });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `${certificate === undefined ? "http" : "https"}://${formatAddress({ host: options.listen.host, port })}`,
    port,
    refuseFlooders: (peers) => refuseFlooders(server, places, peers),
    stats: () => ({ running: proxy.running, tunnels: proxy.tunnels }),
    stop: async (graceMs = 0) => {
      proxy.isStopping = true;
      if (server.listening) await closeServer(server, proxy, graceMs);
    },
  };
};

const closeServer = async (server: Server, proxy: Proxy, graceMs: number): Promise<void> => {
  const closed = once(server, "close");
  server.close();
  server.closeIdleConnections();
  const timer = setTimeout(() => {
    server.closeAllConnections();
    // Sockets of tunnels are not connections of the server any longer, but it waits for them.
    proxy.cutTunnels();
  }, graceMs);
  const sweep = setInterval(() => server.closeIdleConnections(), sweepMs);
  await closed;
  clearTimeout(timer);
  clearInterval(sweep);
};

/** How often a server that is stopping closes connections whose last answer was sent. */
const sweepMs = 20;

/** One request on its way through the proxy. */
interface Proxied {
  readonly request: IncomingMessage;
  readonly client: ProxiedClient;
  readonly requestId: string;
  /** On the monotonic clock. */
  readonly startedMs: number;
  /** Undefined: its route is not found yet. */
  routed: Routed | undefined;
  /** The application of a request that has no route. Undefined: it is not found, or the route is. */
  unroutedId?: string | undefined;
}

class Proxy {
  isStopping = false;
  readonly #options: ProxyOptions;
  readonly #tunnels = new Set<Duplex>();
  /** A tunnel lasts as long as its client likes, so no address may have all places. */
  readonly #tunnelShares: AddressShares;
  #running = 0;

  constructor(options: ProxyOptions) {
    this.#options = options;
    const { requestsMax, connectionsMax } = options.limits;
    this.#tunnelShares = new AddressShares(Math.min(requestsMax, connectionsFor(connectionsMax)));
  }

  /** Requests and tunnels that are under way. */
  get running(): number {
    return this.#running;
  }

  get tunnels(): number {
    return this.#tunnels.size;
  }

  /** Answers one request; never throws. */
  serve(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void {
    this.#running += 1;
    const proxied = this.#begin(request);
    response.once("close", () => {
      this.#running -= 1;
      const status = response.headersSent ? response.statusCode : undefined;
      this.#end(proxied, { status, isCut: response.headersSent && !response.writableFinished, isTunnel: false });
    });
    response.on("error", () => response.destroy());
    const fail = (error: unknown) => refuse(response, this.#refusalOf(error, proxied), proxied.requestId);
    try {
      this.#admit(request);
      const routed = routeRequest(this.#options.routes, request, proxied.client.address);
      if (routed instanceof Promise)
        routed.then((each) => this.#send(each, proxied, response, expectsContinue)).catch(fail);
      else this.#send(routed, proxied, response, expectsContinue)?.catch(fail);
    } catch (error) {
      fail(error);
    }
  }

  #begin(request: IncomingMessage): Proxied {
    const client = clientOf(request, this.#options.trustedProxies);
    return { request, client, requestId: this.#options.ids.uuid(), startedMs: performance.now(), routed: undefined };
  }

  #end(
    { request, client, requestId, startedMs, routed, unroutedId }: Proxied,
    end: Pick<EndedRequest, "status" | "isCut" | "isTunnel">,
  ): void {
    const { method = "", url: target = "" } = request;
    const ms = performance.now() - startedMs;
    this.#options.requests.note({ requestId, method, target, client, routed, unroutedId, ms, ...end });
  }

  /** The refusal of bytes that are no request. */
  describeBroken(status: number): RefusedBytes {
    const requestId = this.#options.ids.uuid();
    const headers = { "content-type": "application/json", "x-request-id": requestId };
    return { headers, body: refusalBody(brokenRefusal(status), requestId) };
  }

  /** Connects the client with the service of the request's route; never throws. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#running += 1;
    this.#tunnels.add(socket);
    const proxied = this.#begin(request);
    let status: number | undefined;
    const noteStatus = (answered: number) => (status = answered);
    socket.once("close", () => {
      this.#running -= 1;
      this.#tunnels.delete(socket);
      this.#end(proxied, { status, isCut: false, isTunnel: status === 101 });
    });
    // The tunnel handles errors once it is open; until then an error only ends the socket.
    socket.on("error", () => socket.destroy());
    this.#openTunnel(proxied, socket, head, noteStatus).catch((error: unknown) => {
      const refusal = this.#refusalOf(error, proxied);
      noteStatus(refusal.status);
      endWithRefusal(socket, refusal, proxied.requestId);
    });
  }

  cutTunnels(): void {
    for (const socket of this.#tunnels) socket.destroy();
  }

  async #openTunnel(proxied: Proxied, socket: Duplex, head: Buffer, onStatus: (status: number) => void): Promise<void> {
    const { request, client, requestId } = proxied;
    this.#admit(request);
    const giveBack = this.#tunnelShares.take(client.address);
    if (giveBack === undefined) throw new RefusedError(refusals.tunnelShare);
    socket.once("close", giveBack);
    const routed = await routeRequest(this.#options.routes, request, proxied.client.address);
    proxied.routed = routed;
    if (routed.target.kind === "function") throw new RefusedError(refusals.functionUpgrade);
    const { url, privateLink } = routed.target;
    const { connect } = await this.#options.upstreams.acquire(url.origin, privateLink);
    tunnel({
      request,
      socket,
      head,
      requestId,
      origin: url.origin,
      connect,
      path: sentTarget(routed, url),
      headers: requestHeaders(request.rawHeaders, url.host, client),
      answerTimeoutMs: this.#options.limits.upgradeTimeoutMs,
      onStatus,
      onFailure: (error) => this.#logFailure(error, proxied),
    });
  }

  #admit(request: IncomingMessage): void {
    if (this.isStopping) throw new RefusedError(refusals.stopping);
    if (this.#running > this.#options.limits.requestsMax) throw new RefusedError(refusals.busy);
    checkHead(request);
    if (countProxyHops(request.headers.via) >= proxyHopsMax) throw new RefusedError(refusals.loop);
  }

  #send(
    routed: Routed,
    proxied: Proxied,
    response: ServerResponse,
    expectsContinue: boolean,
  ): Promise<void> | undefined {
    proxied.routed = routed;
    const { target, application } = routed;
    const { request, client, requestId } = proxied;
    if (target.kind === "function") {
      return this.#options.functions.call({
        ...routed,
        target,
        application,
        request,
        response,
        requestId,
        client,
        expectsContinue,
      });
    }
    const onFailure = (error: Error) => this.#logFailure(error, proxied);
    const path = sentTarget(routed, target.url);
    const headers = requestHeaders(request.rawHeaders, target.url.host, client);
    const stallMsMax = this.#options.limits.clientStallMs;
    const exchange = { request, response, requestId, expectsContinue, path, headers, stallMsMax, onFailure };
    const upstream = this.#options.upstreams.acquire(target.url.origin, target.privateLink);
    if (upstream instanceof Promise) return upstream.then((each) => forward(each, exchange));
    forward(upstream, exchange);
    return undefined;
  }

  #refusalOf(error: unknown, proxied: Proxied): ProxyRefusal {
    if (error instanceof RefusedError) {
      proxied.unroutedId = error.applicationId;
      return error.refusal;
    }
    if (error instanceof ClientStalledError) return refusals.clientStalled;
    if (error instanceof UnsafePathError) return { status: 400, message: `The request is refused: ${error.message}.` };
    this.#logFailure(error, proxied);
    return isNetworkError(error) ? upstreamRefusal(error) : refusals.internal;
  }

  #logFailure(error: unknown, { request, requestId, routed }: Proxied): void {
    const { applicationId: application } = routed?.application ?? {};
    const { routeId: route, serviceId: service } = routed?.target ?? {};
    this.#options.log.warn(
      { err: error, requestId, method: request.method, application, route, service },
      "a proxied request failed",
    );
  }
}

/**
 * Errors of name resolution, connections and certificates carry a code, and so do those of an answer that is late or is
 * none; a refused address has its own class.
 */
const isNetworkError = (error: unknown): boolean =>
  error instanceof Error &&
  (error.name === "AddressRefusedError" ||
    "syscall" in error ||
    answerCodes.test(String((error as NodeJS.ErrnoException).code)) ||
    certificateProblemOf(error) !== undefined);

const answerCodes = /^(?:UND_ERR_(?:CONNECT_TIMEOUT|HEADERS_OVERFLOW|HEADERS_TIMEOUT|SOCKET)$|HPE_)/;
