import type { IncomingHttpHeaders } from "node:http";

import type { ConnectError } from "@connectrpc/connect";
import type { Dispatcher } from "undici";

import { tooLarge } from "../wire/frame-parser.ts";
import type { CallEnd } from "./call-end.ts";
import { watchCallEnd } from "./call-end.ts";
import { answerError, connectionError, unexpectedType } from "./connect-answer.ts";
import { protocolFailure } from "./protocol-failure.ts";

/** The whole answer of a unary call. */
export interface WholeAnswer {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const noBytes = Buffer.alloc(0);

/** One unary call on its connection. */
export class ConnectUnaryCall implements Dispatcher.DispatchHandler {
  /** The answer, or the error that the server or the connection gave. */
  readonly answer: Promise<WholeAnswer>;
  readonly #limitBytes: number;
  readonly #end: CallEnd | undefined;
  #resolve!: (answer: WholeAnswer) => void;
  #reject!: (error: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #givenUp: ConnectError | undefined;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #first: Buffer | undefined;
  #more: Buffer[] | undefined;
  #size = 0;

  constructor(limitBytes: number, signal: AbortSignal | undefined, timeoutMs: number | undefined) {
    this.#limitBytes = limitBytes;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#end = watchCallEnd(signal, timeoutMs, (error) => this.fail(error));
  }

  /** Ends the call with an error. */
  fail(error: unknown): void {
    this.#end?.release();
    this.#givenUp = connectionError(error);
    this.#reject(this.#givenUp);
    this.#controller?.abort(this.#givenUp);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#givenUp !== undefined) controller.abort(this.#givenUp);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > this.#limitBytes) this.fail(protocolFailure(tooLarge(this.#limitBytes)));
    else if (this.#first === undefined) this.#first = chunk;
    else (this.#more ??= [this.#first]).push(chunk);
  }

  onResponseEnd(): void {
    this.#end?.release();
    const body = this.#more === undefined ? (this.#first ?? noBytes) : Buffer.concat(this.#more, this.#size);
    const unexpected = this.#status === 200 ? unexpectedType(this.#headers, "application/proto") : undefined;
    if (unexpected !== undefined) this.#reject(unexpected);
    else if (this.#status === 200) this.#resolve({ headers: this.#headers, body });
    else this.#reject(answerError(this.#status, this.#headers, body));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end?.release();
    this.#reject(connectionError(error));
  }
}
