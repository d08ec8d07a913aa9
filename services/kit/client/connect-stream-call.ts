import type { IncomingHttpHeaders } from "node:http";

import { Code, ConnectError } from "@connectrpc/connect";
import type { Dispatcher } from "undici";

import type { Frame } from "../wire/frame-parser.ts";
import type { PayloadFinder } from "../wire/payload.ts";
import { FrameQueue } from "../wire/frame-queue.ts";
import { goesOn, readMessages } from "./answer-messages.ts";
import { answerError, errorBytesMax, unexpectedType } from "./connect-answer.ts";
import { ConnectCall } from "./connect-call.ts";
import type { RequestsOwner } from "./request-frames.ts";

/** One streaming call on its connection. */
export class ConnectStreamCall extends ConnectCall implements RequestsOwner {
  onOver: (() => void) | undefined;
  /** Runs when the call has its connection. */
  onStart: (() => void) | undefined;
  readonly #queue: FrameQueue;
  readonly #begun = Promise.withResolvers<IncomingHttpHeaders>();
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #errorBody: Buffer = Buffer.alloc(0);
  /** Whether its last frame was read. */
  #isRead = false;

  constructor(
    limitBytes: number,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    findPayload: PayloadFinder | undefined,
  ) {
    super();
    // Whoever reads the headers later gets the rejection then.
    this.#begun.promise.catch(() => {});
    const flow = { pause: () => this.pause(), resume: () => this.resume() };
    this.#queue = new FrameQueue(limitBytes, flow, findPayload);
    this.watch(signal, timeoutMs);
  }

  /** The headers of the answer; rejects with the error of the server or of the connection. */
  get headers(): Promise<IncomingHttpHeaders> {
    return this.#begun.promise;
  }

  override onRequestStart(controller: Dispatcher.DispatchController): void {
    super.onRequestStart(controller);
    if (!this.isOver) this.onStart?.();
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
    if (status !== 200) return;
    const unexpected = unexpectedType(headers, "application/connect+proto");
    if (unexpected === undefined) this.#begun.resolve(headers);
    else this.fail(unexpected);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isRead) this.fail(goesOn());
    else if (this.#status === 200) this.#queue.push(chunk);
    else if (this.#errorBody.length + chunk.length <= errorBytesMax)
      this.#errorBody = Buffer.concat([this.#errorBody, chunk]);
    else this.fail(answerError(this.#status, this.#headers));
  }

  onResponseEnd(): void {
    if (this.#status === 200) {
      this.#queue.end();
      this.finish(undefined);
    } else this.finish(answerError(this.#status, this.#headers, this.#errorBody));
  }

  /** The messages of the answer, read from the network on demand. A trailer is passed on before the end. */
  messages<T>(decode: (frame: Frame) => T, onTrailer: (metadata: Headers) => void): AsyncGenerator<T> {
    return readMessages(this.#queue, decode, onTrailer, (isEnded) => {
      this.#isRead = isEnded;
      // A reader that stops early aborts the connection; after the last frame only the end of the body follows.
      if (isEnded) this.resume();
      else this.fail(new ConnectError("the answer was left", Code.Canceled));
    });
  }

  protected override onFinish(error: ConnectError | undefined): void {
    if (error !== undefined) {
      this.#queue.fail(error);
      this.#begun.reject(error);
    }
    this.onOver?.();
  }
}
