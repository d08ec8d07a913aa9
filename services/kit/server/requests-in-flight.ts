import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** How many requests a port serves at the same time. */
export interface InFlightLimits {
  /** Requests of one connection; those that are pipelined after them wait. While many do, it is not read. */
  readonly perConnectionMax: number;
  /** Requests of all connections together; further ones are started as busy. */
  readonly runningMax: number;
  /** Waiting requests of all connections together; the connection that exceeds it, or its own share, is closed. */
  readonly waitingMax: number;
}

/** Serves one request. `isBusy`: too many others are served, so this one is to be refused. */
export type StartRequest = (isBusy: boolean) => void;

/** Up to so many waiting requests a connection is read on, because else nobody notices that its client went away. */
const readOnMax = 32;

/** More than these and one read of the network (64 KiB) have of requests with the headers that clients send. */
const waitingPerConnectionMax = readOnMax + 256;

interface Connection {
  running: number;
  readonly waiting: (() => void)[];
}

/**
 * The requests in flight of an HTTP/1.1 port. Node.js dispatches every pipelined request as soon as it is parsed; here
 * a connection has at most its share of them served, and not much more than one read of the network waiting. When its
 * client goes away all of them are given up: at once as long as the connection is read, else at its second answer.
 */
export class RequestsInFlight {
  readonly #limits: InFlightLimits;
  readonly #connections = new WeakMap<Socket, Connection>();
  #running = 0;
  #waiting = 0;

  constructor(limits: InFlightLimits) {
    this.#limits = limits;
  }

  /** Requests that are served now. */
  get running(): number {
    return this.#running;
  }

  /** Requests that wait for an earlier one of their connection. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Starts a request, at once or after earlier ones of its connection; never if the connection is closed before. */
  take({ socket }: IncomingMessage, response: ServerResponse, start: StartRequest): void {
    const connection = this.#connections.get(socket) ?? this.#open(socket);
    const run = (): void => {
      connection.running += 1;
      this.#running += 1;
      response.on("close", () => {
        connection.running -= 1;
        this.#running -= 1;
        this.#startNext(socket, connection);
      });
      start(this.#running > this.#limits.runningMax);
    };
    if (connection.running < this.#limits.perConnectionMax && connection.waiting.length === 0) {
      run();
      return;
    }
    if (this.#waiting >= this.#limits.waitingMax || connection.waiting.length >= waitingPerConnectionMax) {
      socket.destroy();
      return;
    }
    connection.waiting.push(run);
    this.#waiting += 1;
    if (connection.waiting.length > readOnMax) socket.pause();
  }

  #open(socket: Socket): Connection {
    const connection: Connection = { running: 0, waiting: [] };
    this.#connections.set(socket, connection);
    // The platform resumes a connection at the end of each request.
    socket.on("resume", () => {
      if (connection.waiting.length > readOnMax) socket.pause();
    });
    socket.once("close", () => {
      this.#waiting -= connection.waiting.length;
      connection.waiting.length = 0;
    });
    return connection;
  }

  #startNext(socket: Socket, connection: Connection): void {
    if (socket.destroyed) return;
    const next = connection.waiting.shift();
    if (next === undefined) return;
    this.#waiting -= 1;
    if (connection.waiting.length === readOnMax) socket.resume();
    next();
  }
}
