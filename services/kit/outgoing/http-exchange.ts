import type { IncomingHttpHeaders } from "node:http";

import type { Dispatcher } from "undici";

import { FewATurn } from "../clock/few-a-turn.ts";

/** The answer to a request. */
export interface IncomingAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  /** The beginning of the body; empty unless it was requested. */
  readonly body: string;
}

/** Bounds of one exchange. */
export interface ExchangeLimits {
  /** Bytes of the answer's body that the caller needs. */
  readonly bodyBytesMax: number;
  /** Milliseconds until the answer. */
  readonly answerMsMax: number;
}

/** A request had no answer in time. */
export class AnswerLateError extends Error {
  override readonly name = "AnswerLateError";
}

/**
 * Exchanges whose time ends in one turn of the event loop. Many requests to endpoints that hang begin together; each
 * ends its connection, and the next request makes another one.
 */
const lateMax = 8;
const late = new FewATurn(lateMax);

/** What is read and dropped of a body that nobody needs, so that its connection can be used again. */
const droppedBytesMax = 65_536;
const droppedMsMax = 1_000;

/**
 * One request on its connection. The answer is complete as soon as all of it that was requested has arrived; the rest
 * of a body is read and dropped, so that a slow body does not delay an answered request. A body with more of it, in
 * bytes or in time, ends its connection.
 */
export class HttpExchange implements Dispatcher.DispatchHandler {
  readonly #limits: ExchangeLimits;
  readonly #signal: AbortSignal;
  readonly #isConnecting: () => boolean;
  readonly #answer = Promise.withResolvers<IncomingAnswer>();
  readonly #parts: Buffer[] = [];
  readonly #onAbort = (): void => this.#giveUp(this.#signal.reason);
  #timer: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | undefined;
  #givenUp: Error | undefined;
  #isSettled = false;
  #isEnded = false;
  #isKept = false;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #size = 0;

  /** `isConnecting` returns whether requests that start now are the first ones of a new connection. */
  constructor(limits: ExchangeLimits, signal: AbortSignal, isConnecting: () => boolean) {
    this.#limits = limits;
    this.#signal = signal;
    this.#isConnecting = isConnecting;
    this.#timer = setTimeout(() => late.run(this.#giveUpUnanswered), limits.answerMsMax);
    signal.addEventListener("abort", this.#onAbort, { once: true });
    if (signal.aborted) this.#onAbort();
  }

  /** Rejects with AnswerLateError, the signal's reason, or the error of the connection. */
  get answer(): Promise<IncomingAnswer> {
    return this.#answer.promise;
  }

  /** Whether the request was sent on a connection that an earlier request had used. */
  get isOnKeptSocket(): boolean {
    return this.#isKept;
  }

  /** Whether it has got all of its answer, or an error. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#isKept = !this.#isConnecting();
    if (this.#givenUp !== undefined) controller.abort(this.#givenUp);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    if (this.#limits.bodyBytesMax === 0) this.#complete();
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length;
    const { bodyBytesMax } = this.#limits;
    if (!this.#isSettled) {
      this.#parts.push(chunk);
      if (this.#size >= bodyBytesMax) this.#complete();
    }
    if (this.#size > bodyBytesMax + droppedBytesMax) this.#giveUp(new Error("the body of the answer is too long"));
  }

  onResponseEnd(): void {
    this.#end();
    this.#complete();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#end();
    this.#settle();
    this.#answer.reject(error);
  }

  #complete(): void {
    if (this.#isSettled) return;
    this.#settle();
    // Most answers end in the same turn, and need no second timer.
    if (!this.#isEnded) queueMicrotask(this.#awaitEnd);
    const { bodyBytesMax } = this.#limits;
    const body =
      bodyBytesMax === 0 ? "" : Buffer.concat(this.#parts.splice(0)).subarray(0, bodyBytesMax).toString("utf8");
    this.#answer.resolve({ status: this.#status, retryAfter: this.#headers["retry-after"], body });
  }

  readonly #awaitEnd = (): void => {
    if (this.#isEnded) return;
    this.#timer = setTimeout(() => late.run(this.#giveUpUnended), droppedMsMax);
  };

  #end(): void {
    this.#isEnded = true;
    clearTimeout(this.#timer);
  }

  // Each looks again: an answer may have come before its turn.
  readonly #giveUpUnanswered = (): void => {
    if (!this.#isSettled) this.#giveUp(new AnswerLateError("no answer in time"));
  };

  readonly #giveUpUnended = (): void => {
    if (!this.#isEnded) this.#giveUp(new Error("the body of the answer is too slow"));
  };

  /** Ends the exchange and its connection; also a request that waits for its connection. */
  #giveUp(error: unknown): void {
    const reason = error instanceof Error ? error : new Error("the request was given up", { cause: error });
    this.#givenUp = reason;
    this.#settle();
    this.#answer.reject(reason);
    this.#controller?.abort(reason);
  }

  #settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    clearTimeout(this.#timer);
    this.#signal.removeEventListener("abort", this.#onAbort);
  }
}
