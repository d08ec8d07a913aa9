import type { IncomingHttpHeaders } from "node:http";
import { connect } from "node:net";
import type { Socket } from "node:net";

import { Code, ConnectError } from "@connectrpc/connect";

import { PassingMap } from "../collections/passing-map.ts";
import type { Frame } from "../wire/frame-parser.ts";
import { FrameParser } from "../wire/frame-parser.ts";
import { GatheredWrites } from "../wire/gathered-writes.ts";
import type { SharedFrame } from "../wire/shared-frames.ts";
import { decodeSharedFrame, encodeSharedFrame, frameKinds, sharedPreface } from "../wire/shared-frames.ts";
import type { CallEnd } from "./call-end.ts";
import { watchCallEnd } from "./call-end.ts";
import { connectionError } from "./connect-answer.ts";
import { NotConnectedError } from "./connector.ts";

/** The answer of a call as it was received. */
export interface SharedAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** A whole message, the frames of a whole stream, or the text of a refusal. */
  readonly body: Buffer;
  /** The path where the answer is, if it is too large for the shared connection. */
  readonly elsewhere: string | undefined;
}

/** A call that waits for its answer. */
interface WaitingCall {
  readonly resolve: (answer: SharedAnswer) => void;
  readonly reject: (error: ConnectError) => void;
  end: CallEnd | undefined;
}

/** How a connection is made, and the largest frame that is accepted on it. */
export interface SharedConnectionOptions {
  /** Of a unix socket. */
  readonly path: string;
  readonly connectTimeoutMs: number;
  readonly frameBytesMax: number;
}

/** One connection on which many calls run at the same time. */
export class SharedConnection {
  readonly #socket: Socket;
  readonly #output: GatheredWrites;
  readonly #parser: FrameParser;
  readonly #calls = new PassingMap<number, WaitingCall>();
  #lastCall = 0;
  #isConnected = false;
  #isLeaving = false;
  #failure: Error | undefined;

  constructor({ path, connectTimeoutMs, frameBytesMax }: SharedConnectionOptions) {
    this.#parser = new FrameParser(frameBytesMax);
    const socket = connect({ path });
    this.#socket = socket;
    this.#output = new GatheredWrites(socket);
    this.#output.reserve(sharedPreface.length).set(sharedPreface);
    const timer = setTimeout(() => socket.destroy(new Error("connecting took too long")), connectTimeoutMs);
    timer.unref();
    socket.once("connect", () => {
      clearTimeout(timer);
      this.#isConnected = true;
    });
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("error", (error) => {
      this.#failure = error;
    });
    socket.on("close", () => {
      clearTimeout(timer);
      this.#lose();
    });
  }

  /** Whether further calls may be made on it. */
  get isOpen(): boolean {
    return !this.#isLeaving && !this.#socket.destroyed && this.#socket.writable;
  }

  /**
   * Makes a call with its whole request. Rejects with a ConnectError when the connection fails, the deadline passes or
   * the signal is aborted. Throws TypeError for a broken header.
   */
  call(
    path: string,
    lines: readonly string[],
    body: readonly Uint8Array[],
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
  ): Promise<SharedAnswer> {
    const number = this.#nextNumber();
    encodeSharedFrame(frameKinds.call, number, path, lines, body, this.#output.reserve);
    return new Promise((resolve, reject) => {
      const call: WaitingCall = { resolve, reject, end: undefined };
      this.#calls.set(number, call);
      this.#output.flushIfMost(this.#calls.size);
      call.end = watchCallEnd(signal, timeoutMs, (error) => {
        if (!this.#forget(number)) return;
        encodeSharedFrame(frameKinds.cancel, number, "", [], [], this.#output.reserve);
        reject(error);
      });
      // A signal that is aborted already ends the call before its watch is known.
      if (!this.#calls.has(number)) call.end.release();
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #nextNumber(): number {
    do this.#lastCall = (this.#lastCall + 1) >>> 0;
    while (this.#calls.has(this.#lastCall));
    return this.#lastCall;
  }

  #take(chunk: Buffer): void {
    const frames: Frame[] = [];
    try {
      this.#parser.push(chunk, frames);
      for (const frame of frames) this.#receive(decodeSharedFrame(frame));
    } catch (error) {
      this.#socket.destroy(error as Error);
    }
  }

  #receive({ kind, call: number, first, headers, body }: SharedFrame): void {
    if (kind === frameKinds.leave) {
      this.#isLeaving = true;
      this.#endIfDone();
      return;
    }
    const isElsewhere = kind === frameKinds.elsewhere;
    if (!isElsewhere && (kind !== frameKinds.answer || !/^\d{3}$/.test(first)))
      throw new ConnectError("the server sent a frame that is no answer", Code.Internal);
    // The answer of a call that was given up is dropped.
    const call = this.#forget(number);
    if (call === undefined) return;
    call.resolve({ status: Number(first), headers, body, elsewhere: isElsewhere ? first : undefined });
  }

  /** Ends the watch on a call; undefined if it has ended already. */
  #forget(number: number): WaitingCall | undefined {
    const call = this.#calls.get(number);
    if (call === undefined) return undefined;
    this.#calls.delete(number);
    call.end?.release();
    this.#endIfDone();
    return call;
  }

  #endIfDone(): void {
    if (!this.#isLeaving || this.#calls.size > 0) return;
    this.#output.flush();
    this.#socket.end();
  }

  #lose(): void {
    const lost = this.#failure ?? Object.assign(new Error("the connection was closed"), { code: "ECONNRESET" });
    for (const number of this.#calls.keys()) {
      const call = this.#forget(number);
      call?.reject(connectionError(this.#isConnected ? lost : new NotConnectedError(lost.message, { cause: lost })));
    }
  }
}
