import type { IncomingHttpHeaders } from "node:http";
import { connect } from "node:net";
import type { Socket } from "node:net";

import { Code, ConnectError } from "@connectrpc/connect";

import { answerPreface } from "../wire/answer-connection.ts";
import type { Frame } from "../wire/frame-parser.ts";
import { FrameQueue } from "../wire/frame-queue.ts";
import { KeptBuffers } from "../wire/kept-buffers.ts";
import type { PayloadFinder } from "../wire/payload.ts";
import { decodeSharedFrame } from "../wire/shared-frames.ts";
import { readMessages } from "./answer-messages.ts";
import type { CallEnd } from "./call-end.ts";
import { watchCallEnd } from "./call-end.ts";
import { answerError, connectionError } from "./connect-answer.ts";
import { NotConnectedError } from "./connector.ts";

/** How the connections are made, and the largest message that is accepted on them. */
export interface AnswerConnectionsOptions {
  /** Of a unix socket. */
  readonly path: string;
  readonly connectTimeoutMs: number;
  readonly messageBytesMax: number;
}

/** What ends a call before its answer. */
interface Ending {
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number | undefined;
}

/** Connections without an answer that are kept for the next ones. */
const idleMax = 8;

/** What connections read into; the other end of one may have sent some 200 KiB. */
const buffers = new KeptBuffers(256 * 1024, 16);
/** While more connections are open, they read into smaller buffers, so that slow readers hold less memory. */
const openMax = 32;
const smallBytes = 64 * 1024;
let openCount = 0;
const takeBuffer = (): Buffer => (openCount > openMax ? Buffer.allocUnsafeSlow(smallBytes) : buffers.take());

/** The connections on which a server sends its large answers. */
export class AnswerConnections {
  readonly #options: AnswerConnectionsOptions;
  readonly #idle = new Set<AnswerConnection>();
  readonly #open = new Set<AnswerConnection>();

  constructor(options: AnswerConnectionsOptions) {
    this.#options = options;
  }

  /**
   * Asks for an answer by its name. Its payloads, if there is a finder, arrive in pieces whose memory is lent. Resolves
   * when its headers have arrived. Rejects with a ConnectError.
   */
  async ask(name: string, findPayload: PayloadFinder | undefined, ending: Ending): Promise<LargeAnswer> {
    const [idle] = this.#idle;
    const connection = idle ?? this.#connect();
    this.#idle.delete(connection);
    const answer = new LargeAnswer(connection, this.#options.messageBytesMax, findPayload);
    connection.ask(name, answer);
    await answer.begin(ending);
    return answer;
  }

  close(): void {
    for (const connection of this.#open) connection.destroy();
  }

  #connect(): AnswerConnection {
    const connection = new AnswerConnection(this.#options, {
      idle: () => {
        if (this.#idle.size < idleMax) this.#idle.add(connection);
        else connection.destroy();
      },
      closed: () => {
        this.#idle.delete(connection);
        this.#open.delete(connection);
      },
    });
    this.#open.add(connection);
    return connection;
  }
}

interface ConnectionEvents {
  idle(): void;
  closed(): void;
}

/** One connection. It is read into kept buffers, and only while its answer is read. */
class AnswerConnection {
  readonly #socket: Socket;
  readonly #events: ConnectionEvents;
  #answer: LargeAnswer | undefined;
  #isConnected = false;
  #failure: Error | undefined;

  constructor({ path, connectTimeoutMs }: AnswerConnectionsOptions, events: ConnectionEvents) {
    this.#events = events;
    openCount += 1;
    const take = (bytes: number, buffer: Uint8Array): boolean => {
      this.#take(buffer as Buffer, bytes);
      return true;
    };
    // Each read has a buffer of its own, also the one after a pause.
    const socket = connect({ path, onread: { buffer: takeBuffer, callback: take } });
    this.#socket = socket;
    socket.write(answerPreface);
    const timer = setTimeout(() => socket.destroy(new Error("connecting took too long")), connectTimeoutMs);
    timer.unref();
    socket.once("connect", () => {
      clearTimeout(timer);
      this.#isConnected = true;
    });
    socket.on("error", (error) => {
      this.#failure = error;
    });
    socket.on("close", () => {
      clearTimeout(timer);
      openCount -= 1;
      events.closed();
      const lost = this.#failure ?? Object.assign(new Error("the connection was closed"), { code: "ECONNRESET" });
      this.#answer?.fail(this.#isConnected ? lost : new NotConnectedError(lost.message, { cause: lost }));
    });
  }

  ask(name: string, answer: LargeAnswer): void {
    this.#answer = answer;
    this.#socket.write(name);
  }

  /** The answer was read to its end. */
  release(): void {
    this.#answer = undefined;
    this.resume();
    if (!this.#socket.destroyed) this.#events.idle();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  #take(buffer: Buffer, bytes: number): void {
    const answer = this.#answer;
    // A server sends nothing that it was not asked for.
    if (answer === undefined) this.#socket.destroy();
    else answer.push(buffer.subarray(0, bytes), () => buffers.put(buffer));
  }
}

/** An answer that arrives on a connection of its own. It must be read to its end, left or given up. */
export class LargeAnswer {
  readonly #connection: AnswerConnection;
  readonly #queue: FrameQueue;
  #headers: IncomingHttpHeaders = {};
  #end: CallEnd | undefined;
  #isOver = false;

  constructor(connection: AnswerConnection, limitBytes: number, findPayload: PayloadFinder | undefined) {
    this.#connection = connection;
    const flow = { pause: () => connection.pause(), resume: () => connection.resume() };
    this.#queue = new FrameQueue(limitBytes, flow, findPayload);
  }

  get headers(): IncomingHttpHeaders {
    return this.#headers;
  }

  /** Waits for the headers. */
  async begin({ signal, timeoutMs }: Ending): Promise<void> {
    this.#end = watchCallEnd(signal, timeoutMs, (error) => this.fail(error));
    if (this.#isOver) this.#end.release();
    const frame = await this.#queue.next();
    const { first, headers } = decodeSharedFrame(frame!);
    if (first !== "200") {
      this.#finish();
      this.#connection.release();
      throw answerError(Number(first), headers);
    }
    this.#headers = headers;
  }

  /** Adds bytes that have arrived, in memory that is returned when nobody needs it. */
  push(bytes: Buffer, whenReturned: () => void): void {
    this.#queue.pushLent(bytes, whenReturned);
  }

  /** The messages, read from the network on demand. A trailer is passed on before the end. */
  messages<T>(decode: (frame: Frame) => T, onTrailer: (metadata: Headers) => void): AsyncGenerator<T> {
    return readMessages(this.#queue, decode, onTrailer, (isEnded) => {
      if (this.#isOver) return;
      if (!isEnded) this.fail(new ConnectError("the answer was left", Code.Canceled));
      else {
        this.#finish();
        this.#connection.release();
      }
    });
  }

  /** Gives the answer up, with its connection: the rest of it may be of any size. */
  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#finish();
    this.#queue.fail(connectionError(error));
    this.#connection.destroy();
  }

  #finish(): void {
    this.#isOver = true;
    this.#end?.release();
  }
}
