import { createServer as createHttpServer } from "node:http";
import type { IncomingMessage, Server as HttpServer, ServerResponse } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { Http2Server, IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import { createServer as createSocketServer } from "node:net";
import type { Server as SocketServer, Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";

import { refusePlainRequest } from "../tls/plain-request.ts";
import type { ServerTls } from "../tls/server-tls.ts";
import { contextOptions, isTrusted } from "../tls/server-tls.ts";
import { answerPreface } from "../wire/answer-connection.ts";
import { bodyPreface } from "../wire/body-connection.ts";
import { sharedPreface } from "../wire/shared-frames.ts";
import { ConnectionPlaces, countRequest, peerOf } from "./connection-places.ts";
import type { FloodingPeers } from "./flooding-peers.ts";
import type { Drop } from "./http2-session.ts";
import {
  boundControlFrames,
  closeIdle,
  isGone,
  resetsMuch,
  watchFloods,
  watchResets,
  watchStreams,
} from "./http2-session.ts";
import type { ServerLimits } from "./limits.ts";
import { waitingConnectionsMax } from "./limits.ts";
import { RequestsInFlight } from "./requests-in-flight.ts";

/** The handlers of a port's requests. */
interface PortHandlers {
  http1(request: IncomingMessage, response: ServerResponse): void;
  http2(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void;
  /** Serves a shared connection. */
  shared(socket: Socket): void;
  /** Serves a connection that carries the content of a large upload. */
  body(socket: Socket): void;
  /** Serves a connection that carries large answers. */
  answers(socket: Socket): void;
}

/** Where a port listens: TCP, or a unix socket by its path. */
export type ListenAddress = TcpAddress | { readonly path: string };

interface TcpAddress {
  readonly host: string;
  readonly port: number;
  /** Whether other workers of the program listen there too. Unset: none does. */
  readonly isShared?: boolean;
}

/**
 * One listening port for HTTP/1.1 and HTTP/2, which are distinguished by ALPN with TLS and by the first bytes of a
 * connection without it.
 */
interface Port {
  /** Listens at the address and, if set, also at the path of a unix socket. */
  listen(address: ListenAddress, socketPath?: string): Promise<void>;
  /** The TCP port; undefined on a unix socket. */
  readonly port: number | undefined;
  /**
   * Accepts no new connections, asks the peers of open ones to send no new requests, and closes each connection when
   * its last answer was sent. Resolves when all are closed.
   */
  drain(): Promise<void>;
  /** Closes all connections of a drained port. */
  destroy(): void;
}

type ProtocolName = "http1" | "http2" | "shared" | "body" | "answers";

const prefaceBytes = 3;
const http2Preface = Buffer.from("PRI");

/** The protocols of local connections by their first letters. No HTTP/1.1 method begins with them, or with `PRI`. */
const localPrefaces = [
  ["shared", sharedPreface.subarray(0, prefaceBytes)],
  ["body", bodyPreface.subarray(0, prefaceBytes)],
  ["answers", answerPreface.subarray(0, prefaceBytes)],
] as const;

interface PortOptions {
  readonly limits: ServerLimits;
  /** The peers whose connections are not served for a while. */
  readonly peers: FloodingPeers;
  /** Unset: without TLS. */
  readonly tls: ServerTls | undefined;
}

/** Opens a port. Requests are answered by the handlers from the first connection on. */
export const createPort = (handlers: PortHandlers, { limits, peers, tls }: PortOptions): Port => {
  const sessions = new Set<ServerHttp2Session>();
  const undecided = new Set<Socket>();
  const places = new ConnectionPlaces(limits.connectionsMax);
  const http1 = createHttp1(handlers, limits, places);
  /** All connections. A session closes its own only when its peer has accepted all that was written. */
  const sockets = new Set<Socket>();
  peers.whenOut(() => {
    for (const socket of sockets) if (peers.isOut(socket.remoteAddress)) socket.destroy();
  });
  let taken: Socket | undefined;
  const makeHttp2 = () =>
    createHttp2(handlers, limits, sessions, (session) => {
      const socket = taken;
      if (socket !== undefined) countStreams(places, session, socket);
      const address = socket?.remoteAddress;
      return {
        drop: () => {
          session.destroy();
          socket?.destroy();
        },
        flooded: () => peers.noteFlood(address),
        resetTooMany: () => peers.noteReset(address),
      };
    });
  let http2: Http2Server | undefined;
  const takeHttp1 = http1.listeners("connection")[0] as (socket: Socket) => void;
  http1.removeAllListeners("connection");
  const take: Take = (socket, protocol) => {
    if (protocol === "shared") {
      handlers.shared(socket);
      socket.resume();
    } else if (protocol === "body") handlers.body(socket);
    else if (protocol === "answers") handlers.answers(socket);
    else if (protocol === "http2") {
      // A server of HTTP/1.1 accepts connections that stay open when their peers have closed them.
      socket.allowHalfOpen = false;
      // The session is created before this returns.
      taken = socket;
      http2 ??= makeHttp2();
      http2.emit("connection", socket);
      taken = undefined;
    } else {
      // The parser reads the returned bytes from the stream and all further ones from the socket itself.
      takeHttp1.call(http1, socket);
      socket.resume();
    }
  };
  const open = tls === undefined ? openPlain(limits, take, false) : openSecure(tls, limits, take, places);
  const note = (socket: Socket): void => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    undecided.add(socket);
  };
  const accept = (socket: Socket): void => {
    note(socket);
    open(socket, () => undecided.delete(socket));
  };
  const openLocal = openPlain(limits, take, true);
  const acceptLocal = (socket: Socket): void => {
    note(socket);
    openLocal(socket, () => undecided.delete(socket));
  };
  let isLocal = false;
  http1.on("connection", (socket: Socket) => {
    if (isLocal) acceptLocal(socket);
    else if (peers.isOut(socket.remoteAddress)) socket.destroy();
    else if (places.arrive(socket)) accept(socket);
  });
  // Only processes of this installation can connect here, and each bounds its own connections.
  const unixServer = createSocketServer({ allowHalfOpen: true }, acceptLocal);
  return {
    listen: async (address, socketPath) => {
      isLocal = "path" in address;
      await listening(http1, address);
      if (socketPath !== undefined) await listening(unixServer, { path: socketPath });
    },
    get port() {
      const address = http1.address();
      return typeof address === "object" ? address?.port : undefined;
    },
    drain: async () => {
      const sweep = setInterval(() => http1.closeIdleConnections(), sweepMs);
      const closed = Promise.all([closing(http1), closing(unixServer)]);
      for (const socket of undecided) socket.destroy();
      for (const session of sessions) session.close();
      await closed;
      clearInterval(sweep);
    },
    destroy: () => {
      for (const session of sessions) session.destroy();
      for (const socket of sockets) socket.destroy();
    },
  };
};

const listening = (server: SocketServer, address: ListenAddress): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    const exclusive = !("isShared" in address && address.isShared === true);
    server.listen({ ...address, exclusive, backlog: waitingConnectionsMax }, () => {
      server.off("error", reject);
      resolve();
    });
  });

/** Resolves when no connection is left, at once if the server never listened. */
const closing = (server: SocketServer): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
  });

const ignore = (): void => {};

/** Hands a connection to the server of its protocol. */
type Take = (socket: Socket, protocol: ProtocolName) => void;

/** Determines the protocol of a new connection; calls `settled` when it is known or the connection has closed. */
type Open = (socket: Socket, settled: () => void) => void;

const openPlain =
  (limits: ServerLimits, take: Take, isLocal: boolean): Open =>
  (socket, settled) =>
    decide(socket, limits.headersTimeoutMs, isLocal, (protocol) => {
      settled();
      if (protocol !== undefined) take(socket, protocol);
    });

/** The handshake determines the protocol: HTTP/2 if the peer offers it, otherwise HTTP/1.1. */
const openSecure = (tls: ServerTls, limits: ServerLimits, take: Take, places: ConnectionPlaces): Open => {
  const { source, clientCertificates = "none" } = tls;
  let known = source.current();
  const secure = createTlsServer({
    ...contextOptions(known),
    ALPNProtocols: ["h2", "http/1.1"],
    requestCert: clientCertificates !== "none",
    rejectUnauthorized: clientCertificates === "required",
    handshakeTimeout: limits.headersTimeoutMs,
  });
  // A TLS socket does not name its underlying connection, but both have the same peer address.
  const shaking = new Map<string, { readonly socket: Socket; readonly done: () => void }>();
  secure.on("secureConnection", (socket) => {
    const shaken = shaking.get(peerOf(socket));
    if (shaken !== undefined) places.carry(socket, shaken.socket);
    shaken?.done();
    if (clientCertificates === "optional" && !isTrusted(socket)) socket.destroy();
    else take(socket, socket.alpnProtocol === "h2" ? "http2" : "http1");
  });
  secure.on("tlsClientError", (failure, socket) => {
    refusePlainRequest(failure, shaking.get(peerOf(socket))?.socket);
    socket.destroy();
  });
  return (socket, settled) => {
    const peer = peerOf(socket);
    const done = (): void => {
      if (shaking.get(peer)?.done === done) shaking.delete(peer);
      settled();
    };
    shaking.set(peer, { socket, done });
    socket.on("close", done);
    const material = source.current();
    if (material !== known) secure.setSecureContext(contextOptions(material));
    known = material;
    socket.allowHalfOpen = false;
    secure.emit("connection", socket);
  };
};

/** How often a draining port closes connections whose last answer was sent. */
const sweepMs = 20;

/**
 * Calls back with the protocol of a connection; with undefined if the peer closed or sent nothing in time. Only a local
 * connection can be shared, or carry the content of an upload or answers.
 */
const decide = (
  socket: Socket,
  timeoutMs: number,
  isLocal: boolean,
  then: (protocol: ProtocolName | undefined) => void,
): void => {
  let held: Buffer | undefined;
  const settle = (protocol: ProtocolName | undefined): void => {
    clearTimeout(timer);
    socket.off("readable", look);
    socket.off("end", leave);
    socket.off("close", gone);
    if (held !== undefined && protocol !== undefined) socket.unshift(held);
    then(protocol);
    socket.off("error", ignore);
  };
  const look = (): void => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    held = held === undefined ? chunk : Buffer.concat([held, chunk]);
    const seen = held.subarray(0, prefaceBytes);
    const begins = (preface: Buffer): boolean => preface.subarray(0, seen.length).equals(seen);
    const local = isLocal ? localPrefaces.find(([, preface]) => begins(preface))?.[0] : undefined;
    const possible = begins(http2Preface) ? "http2" : (local ?? "http1");
    if (possible === "http1" || seen.length === prefaceBytes) settle(possible);
  };
  const leave = (): void => void socket.destroy();
  const gone = (): void => settle(undefined);
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  socket.on("readable", look);
  socket.on("end", leave);
  socket.on("close", gone);
  socket.on("error", ignore);
};

const createHttp1 = (handlers: PortHandlers, limits: ServerLimits, places: ConnectionPlaces): HttpServer => {
  const server = createHttpServer({
    keepAlive: true,
    noDelay: true,
    keepAliveTimeout: limits.idleTimeoutMs,
    headersTimeout: limits.headersTimeoutMs,
    connectionsCheckingInterval: Math.min(connectionsCheckMs, Math.ceil(limits.headersTimeoutMs / 2)),
    // A stream may last until its deadline; slow headers are bounded by headersTimeout, slow messages by
    // their lanes.
    requestTimeout: 0,
    maxHeaderSize: limits.headerBytesMax,
  });
  server.timeout = limits.stallTimeoutMs;
  const inFlight = new RequestsInFlight({
    perConnectionMax: limits.pipelinedCallsMax,
    // Calls of all connections are bounded together with those over HTTP/2.
    runningMax: Infinity,
    waitingMax: limits.pipelinedWaitingMax,
  });
  server.on("request", (request: IncomingMessage, response: ServerResponse) =>
    inFlight.take(request, response, () => {
      response.on("timeout", endStalled);
      countRequest(places, request, response);
      handlers.http1(request, response);
    }),
  );
  return server;
};

/** How often connections are checked for headers that take too long. */
const connectionsCheckMs = 10_000;

/** Closes a silent connection whose peer does not accept its answer; a call may work or wait silently. */
const endStalled = (socket: Socket): void => {
  if (socket.writableLength > 0) socket.destroy();
};

/** Counts each stream on its connection until it is closed. */
const countStreams = (places: ConnectionPlaces, session: ServerHttp2Session, socket: Socket): void => {
  session.on("stream", (stream) => {
    if (!isGone(stream) && places.begin(socket)) stream.once("close", () => places.end(socket));
  });
};

/** How the connection of a session ends other than by itself. */
interface SessionEndings {
  readonly drop: Drop;
  /** It flooded, for which it is dropped, and its peer is to answer for it. */
  readonly flooded: () => void;
  /** It has reset another stream too many, which counts for its peer whether it is dropped or not. */
  readonly resetTooMany: () => void;
}

const createHttp2 = (
  handlers: PortHandlers,
  limits: ServerLimits,
  sessions: Set<ServerHttp2Session>,
  endings: (session: ServerHttp2Session) => SessionEndings,
): Http2Server => {
  const server = createHttp2Server({
    maxSessionMemory: 64,
    maxHeaderListPairs: 256,
    settings: {
      initialWindowSize: limits.streamWindowBytes,
      maxConcurrentStreams: limits.concurrentStreamsMax,
      maxHeaderListSize: limits.headerBytesMax,
      maxFrameSize: 64 * 1024,
      enablePush: false,
    },
  });
  server.on("session", (session) => {
    sessions.add(session);
    session.setLocalWindowSize(limits.connectionWindowBytes);
    const { drop, flooded, resetTooMany } = endings(session);
    const streams = watchStreams(session, limits.stallTimeoutMs, drop);
    closeIdle(session, streams, limits, drop);
    boundControlFrames(session, limits, () => {
      drop();
      flooded();
    });
    watchFloods(session, flooded);
    watchResets(session, resetTooMany);
    session.on("close", () => sessions.delete(session));
  });
  server.on("sessionError", () => {});
  server.on("stream", (stream, headers, _flags, rawHeaders) => {
    // Without a listener an error of a stream would be an uncaught exception, also of one that is gone.
    stream.on("error", () => {});
    const serve = (): void => {
      if (!isGone(stream)) handlers.http2(stream, headers, rawHeaders);
    };
    if (stream.session !== undefined && resetsMuch(stream.session)) setImmediate(serve);
    else serve();
  });
  return server;
};
