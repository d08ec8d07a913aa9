import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Server as TlsServer } from "node:tls";

import { PassingMap } from "../collections/passing-map.ts";
import { refusePlainRequest } from "../tls/plain-request.ts";
import type { FloodingPeers } from "./flooding-peers.ts";

/**
 * The places that a listener has for connections. When all are taken, the next connection gets the place of an idle
 * one: of the oldest that has not sent a request yet, or of the one that has been idle for longest. Only while a
 * request runs on each of them, a new connection is closed. So connections that nobody uses keep no caller out.
 */
export class ConnectionPlaces {
  readonly #max: number;
  /** Requests that run on each connection. */
  readonly #running = new Map<Socket, number>();
  /** Connections without a request so far, the oldest first. */
  readonly #unused = new Set<Socket>();
  /** Connections between two requests, the longest idle first. */
  readonly #idle = new PassingMap<Socket, true>();
  /** The connections on which TLS sockets lie. */
  readonly #carriers = new WeakMap<Socket, Socket>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Gives a new connection its place, or closes it. Returns whether it has one. */
  arrive(socket: Socket): boolean {
    if (this.#running.size >= this.#max) {
      const leaving = first(this.#unused) ?? first(this.#idle);
      (leaving ?? socket).destroy();
      if (leaving === undefined) return false;
      this.#leave(leaving);
    }
    this.#running.set(socket, 0);
    this.#unused.add(socket);
    socket.once("close", () => this.#leave(socket));
    return true;
  }

  /** Notes on which connection a TLS socket lies, so that its requests count there. */
  carry(secure: Socket, carrier: Socket): void {
    this.#carriers.set(secure, carrier);
  }

  /**
   * A request begins on a connection. Returns false for a connection without a place, whose requests are not counted.
   */
  begin(socket: Socket): boolean {
    const connection = this.#carriers.get(socket) ?? socket;
    const running = this.#running.get(connection);
    if (running === undefined) return false;
    this.#running.set(connection, running + 1);
    this.#unused.delete(connection);
    this.#idle.delete(connection);
    return true;
  }

  /** A request that began on a connection has been answered. */
  end(socket: Socket): void {
    const connection = this.#carriers.get(socket) ?? socket;
    const running = this.#running.get(connection);
    if (running === undefined) return;
    this.#running.set(connection, running - 1);
    if (running === 1) this.#idle.set(connection, true);
  }

  /** Closes the connections that have a place and of which this is true. */
  close(isMeant: (socket: Socket) => boolean): void {
    for (const socket of this.#running.keys()) if (isMeant(socket)) socket.destroy();
  }

  #leave(socket: Socket): void {
    this.#running.delete(socket);
    this.#unused.delete(socket);
    this.#idle.delete(socket);
  }
}

const first = (sockets: { keys(): Iterator<Socket> }): Socket | undefined =>
  sockets.keys().next().value as Socket | undefined;

/** Counts a request of HTTP/1.1 on its connection until it is answered. */
export const countRequest = (places: ConnectionPlaces, { socket }: IncomingMessage, response: ServerResponse): void => {
  if (places.begin(socket)) response.on("close", () => places.end(socket));
};

/** The events of a server of HTTP/1.1 by which it receives requests, also those that expect something first. */
export const requestEvents = ["request", "checkContinue", "checkExpectation"] as const;

/**
 * Gives a server of HTTP/1.1, with or without TLS, so many places for connections. The requests of these events are
 * counted here; on the places that are returned, the server counts what it does with a connection besides, such as an
 * upgrade. It must answer each of the events itself: the platform answers an expectation that nobody listens to.
 */
export const boundConnections = (
  server: Server | TlsServer,
  connectionsMax: number,
  events: readonly (typeof requestEvents)[number][] = ["request"],
): ConnectionPlaces => {
  const places = new ConnectionPlaces(connectionsMax);
  if (server instanceof TlsServer) carryTls(server, places);
  server.prependListener("connection", (socket: Socket) => void places.arrive(socket));
  for (const event of events)
    server.prependListener(event, (request: IncomingMessage, response: ServerResponse) =>
      countRequest(places, request, response),
    );
  return places;
};

/**
 * Closes a server's connections from addresses that are shut out: open ones at once, new ones when they are accepted.
 * The places are the server's own.
 */
export const refuseFlooders = (
  server: Server | TlsServer,
  places: ConnectionPlaces,
  peers: Pick<FloodingPeers, "isOut" | "whenOut">,
): void => {
  server.prependListener("connection", (socket: Socket) => {
    if (peers.isOut(socket.remoteAddress)) socket.destroy();
  });
  peers.whenOut(() => places.close((socket) => peers.isOut(socket.remoteAddress)));
};

/** Notes on which connection each TLS socket lies: a TLS socket itself does not tell. */
const carryTls = (server: TlsServer, places: ConnectionPlaces): void => {
  /** Where TLS is still to be agreed on, by the peer. */
  const shaking = new Map<string, Socket>();
  server.prependListener("connection", (socket: Socket) => {
    const peer = peerOf(socket);
    shaking.set(peer, socket);
    socket.once("close", () => shaking.get(peer) === socket && shaking.delete(peer));
  });
  server.prependListener("secureConnection", (secure: Socket) => {
    const carrier = shaking.get(peerOf(secure));
    if (carrier !== undefined) places.carry(secure, carrier);
  });
  server.prependListener("tlsClientError", (failure: Error, secure: Socket) =>
    refusePlainRequest(failure, shaking.get(peerOf(secure))),
  );
};

/** Names the other end of a connection; equal for a TLS socket and the connection on which it lies. */
export const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
