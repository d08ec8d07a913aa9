import type { IncomingMessage, ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { constants, Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Socket } from "node:net";

import type { AuditLog } from "../audit/audit-log.ts";
import type { Clock } from "../clock/clock.ts";
import { systemClock } from "../clock/clock.ts";
import { PassingMap } from "../collections/passing-map.ts";
import type { Authenticate } from "../identity/authenticate.ts";
import { connectionOf } from "../identity/connection.ts";
import type { TrustedProxies } from "../identity/trusted-proxies.ts";
import type { Logger } from "../log/log.ts";
import { callMetrics } from "../metrics/call-metrics.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { connectionsFor } from "../process/descriptors.ts";
import type { ServerTls } from "../tls/server-tls.ts";
import { AnswerConnections } from "./answer-connections.ts";
import { BodyConnections } from "./body-connections.ts";
import { Dispatcher, serverStopping } from "./dispatch.ts";
import { Elsewhere } from "./elsewhere.ts";
import { FloodingPeers } from "./flooding-peers.ts";
import { createHealth, healthAt } from "./health.ts";
import { serveConnectStream, serveConnectUnary, streamContentType, unaryContentType } from "./lane-connect.ts";
import { isGrpcContentType, refuseUnknownGrpc, serveGrpc } from "./lane-grpc.ts";
import { createRouterLane } from "./lane-router.ts";
import type { ServedConnection } from "./lane-shared.ts";
import { serveShared } from "./lane-shared.ts";
import type { ServerLimits } from "./limits.ts";
import { defaultServerLimits } from "./limits.ts";
import type { ListenAddress } from "./port.ts";
import { createPort } from "./port.ts";
import type { OperatorPages } from "./operator-pages.ts";
import { answerOperatorPage, findOperatorPage } from "./operator-pages.ts";
import { reflectionBindings } from "./reflection.ts";
import type { OfferedService } from "./route.ts";
import { routesOf } from "./route.ts";

/** The services and the addresses of a server. */
export interface ServerOptions {
  /** Names the server in its log. */
  readonly name: string;
  /** `{ host, port }` (port 0: any free one) or `{ path }` of a unix socket. */
  readonly listen: ListenAddress;
  /** Path of a unix socket where it also listens, for callers on the same machine. Not with TLS. */
  readonly socketPath?: string | undefined;
  /** Unset: without TLS. Not used on a unix socket, where the file's mode decides who may connect. */
  readonly tls?: ServerTls;
  readonly services: readonly OfferedService[];
  /** Runs before the body of a request is read. Health and reflection do not need it. */
  readonly authenticate: Authenticate;
  readonly log: Logger;
  readonly clock?: Clock;
  /** Unset members have their defaults. */
  readonly limits?: Partial<ServerLimits>;
  /** Receives the metrics of calls, and is shown at `GET /metrics`. Unset: nothing is counted. */
  readonly metrics?: Metrics;
  /** Further pages at `GET`, by their paths, such as `/quarantine`. Unset: none. */
  readonly pages?: OperatorPages | undefined;
  /** Where decisions on calls are recorded. Unset: nowhere. */
  readonly audit?: AuditLog | undefined;
  /** Proxies that are not shut out for floods, because everybody calls through them. Unset: none. */
  readonly trustedProxies?: TrustedProxies | undefined;
  /** Callers that log their own calls; requests from them are logged at debug level only. Unset: none. */
  readonly loggingFrontEnds?: readonly string[];
}

/** A server that accepts calls. */
export interface RunningServer {
  /** `http://host:port` or `https://host:port`, or `unix:/path`. */
  readonly url: string;
  /** 0 on a unix socket. */
  readonly port: number;
  /** The addresses that flood, for other servers of this process. */
  readonly peers: Pick<FloodingPeers, "isOut" | "whenOut" | "noteCaller">;
  /** Answers a request that another server of this process has received by HTTP/1.1. */
  answer(request: IncomingMessage, response: ServerResponse): void;
  /** Sets the answer of health checks about the whole server, or about one of its services. True from the start. */
  setServing(isServing: boolean, serviceName?: string): void;
  /**
   * Reports NOT_SERVING, accepts no new connections, aborts endless calls with UNAVAILABLE, waits up to `graceMs`
   * (unset: 10 s) for the other running calls, aborts what is left of them, and closes.
   */
  stop(graceMs?: number): Promise<void>;
}

const graceMsDefault = 10_000;
/** How long the answers of aborted calls may take to be sent. */
const flushMs = 250;

/**
 * Starts a server for gRPC, gRPC-Web and Connect over HTTP/1.1 and HTTP/2 on one port, with reflection, health
 * and the pages `/livez`, `/readyz`, `/healthz` and `/metrics`. Throws if a method has no handler or the address cannot
 * be listened on.
 */
export const startServer = async (options: ServerOptions): Promise<RunningServer> => {
  const configured = { ...defaultServerLimits, ...options.limits };
  const limits = { ...configured, connectionsMax: connectionsFor(configured.connectionsMax) };
  const services = options.services.map(({ service }) => service);
  const health = createHealth(services.map(({ typeName }) => typeName));
  const bindings = [...options.services, health.binding, ...reflectionBindings([...services, health.binding.service])];
  const clock = options.clock ?? systemClock;
  const { trustedProxies } = options;
  const peers = new FloodingPeers(
    limits.floodsPerMinuteMax,
    clock,
    (address) => trustedProxies?.includes(address) === true,
  );
  const dispatcher = new Dispatcher({
    routes: routesOf(bindings),
    authenticate: options.authenticate,
    limits,
    clock,
    log: options.log,
    audit: options.audit,
    peers,
    observer: options.metrics && callMetrics(options.metrics, "grpc_server"),
    loggingFrontEnds: new Set(options.loggingFrontEnds),
  });
  const router = createRouterLane(
    dispatcher,
    bindings.map(({ service }) => service),
    options.log,
  );
  let isStopping = false;

  const elsewhere = new Elsewhere(dispatcher);
  const answers = new AnswerConnections(dispatcher, elsewhere);
  const bodies = new BodyConnections(dispatcher);
  const sharedConnections = new Set<ServedConnection>();
  const shared = (socket: Socket): void => {
    const connection = serveShared(dispatcher, elsewhere, socket);
    sharedConnections.add(connection);
    socket.once("close", () => sharedConnections.delete(connection));
    if (isStopping) connection.leave();
  };

  /** Pages under way on streams of HTTP/2, the oldest first. A peer may hold one until it has to make room. */
  const pages = new PassingMap<ServerHttp2Stream, true>();
  const countPage = ({ stream }: Http2ServerResponse): void => {
    const [oldest] = pages.size < limits.openCallsMax ? [] : pages.keys();
    oldest?.close(constants.NGHTTP2_CANCEL);
    if (oldest !== undefined) pages.delete(oldest);
    pages.set(stream, true);
    stream.once("close", () => pages.delete(stream));
  };
  const answerPage = (
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
  ): void => {
    const isHealthy = healthAt(request.url, health.isServing);
    const page = findOperatorPage(options.pages, request);
    const isMetrics = request.url === "/metrics" && options.metrics !== undefined;
    const isPage = isHealthy !== undefined || isMetrics || page !== undefined;
    if (isPage && response instanceof Http2ServerResponse) countPage(response);
    if (isHealthy !== undefined) answerHealth(isHealthy, response);
    else if (isMetrics) void answerMetrics(options.metrics, response);
    else if (page !== undefined) {
      const authenticate = (token: string | undefined) =>
        dispatcher.authenticate({ authorization: token }, undefined, connectionOf(request));
      void answerOperatorPage(page, authenticate, options.log, request, response);
    } else void router(request, response);
  };

  const http1 = (request: IncomingMessage, response: ServerResponse): void => {
    if (isStopping) response.shouldKeepAlive = false;
    const route = dispatcher.find(request.url);
    if (route !== undefined && request.method === "POST") {
      const type = request.headers["content-type"];
      const isUnary = route.method.methodKind === "unary";
      if (type === unaryContentType && isUnary) return void serveConnectUnary(dispatcher, route, request, response);
      if (type === streamContentType && !isUnary)
        return void serveConnectStream(dispatcher, bodies, route, request, response);
    }
    answerPage(request, response);
  };

  const http2 = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void => {
    const path = headers[":path"] ?? "";
    if (headers[":method"] === "POST" && isGrpcContentType(headers["content-type"])) {
      const route = dispatcher.find(path);
      if (route === undefined) refuseUnknownGrpc(stream, path);
      else void serveGrpc(dispatcher, route, stream, headers);
      return;
    }
    const request = new Http2ServerRequest(stream, headers, {}, rawHeaders);
    const response = new Http2ServerResponse(stream);
    answerPage(request, response);
  };

  const tls = "path" in options.listen ? undefined : options.tls;
  const handlers = {
    http1,
    http2,
    shared,
    body: (socket: Socket) => bodies.serve(socket),
    answers: (socket: Socket) => answers.serve(socket),
  };
  const port = createPort(handlers, { limits, peers, tls });
  if (tls !== undefined && options.socketPath !== undefined) throw new Error("a unix socket is not served by TLS");
  await port.listen(options.listen, options.socketPath);
  const scheme = tls === undefined ? "http" : "https";
  const url =
    "path" in options.listen
      ? `unix:${options.listen.path}`
      : `${scheme}://${hostOf(options.listen.host)}:${port.port}`;
  options.log.debug({ url }, `${options.name} listens`);

  return {
    url,
    port: port.port ?? 0,
    peers,
    answer: http1,
    setServing: (isServing, serviceName) => health.setServing(isServing, serviceName),
    stop: async (graceMs = graceMsDefault) => {
      isStopping = true;
      health.setServing(false);
      for (const connection of sharedConnections) connection.leave();
      const closed = port.drain();
      // Watchers of the health receive the change before their calls end.
      await setImmediate();
      dispatcher.abortAll(serverStopping(), ({ route }) => route.isOpen || route.isEndless);
      const answered = dispatcher.idle().then(() => answers.leave());
      await settledWithin(Promise.all([closed, answered]), graceMs);
      dispatcher.abortAll(serverStopping());
      await settledWithin(closed, flushMs);
      port.destroy();
      dispatcher.stop();
      await closed;
    },
  };
};

const hostOf = (host: string): string => (host.includes(":") ? `[${host}]` : host);

const answerHealth = (isHealthy: boolean, response: ServerResponse | Http2ServerResponse): void => {
  const body = isHealthy ? "SERVING\n" : "NOT_SERVING\n";
  response.statusCode = isHealthy ? 200 : 503;
  response.setHeader("content-type", "text/plain; charset=utf-8");
  response.end(body);
};

/** The bytes of pages that several peers may hold. */
const pageBytes = new WeakMap<object, Buffer>();

const bytesOf = (page: { readonly body: string }): Buffer => {
  let bytes = pageBytes.get(page);
  if (bytes === undefined) pageBytes.set(page, (bytes = Buffer.from(page.body)));
  return bytes;
};

/** Sends the page of metrics; 503 if it cannot be read, for example because the store is closing. */
const answerMetrics = async (metrics: Metrics, response: ServerResponse | Http2ServerResponse): Promise<void> => {
  try {
    const page = await metrics.page();
    response.setHeader("content-type", page.contentType);
    response.end(bytesOf(page));
  } catch {
    response.statusCode = 503;
    response.end();
  }
};

/** Waits for the work, but no longer than the limit. */
const settledWithin = async (work: Promise<unknown>, limitMs: number): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
};
