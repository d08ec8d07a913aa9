import type { IncomingHttpHeaders } from "node:http";

import type { ConnectError } from "@connectrpc/connect";
import type { Dispatcher } from "undici";

import { tooLarge } from "../wire/frame-parser.ts";
import { answerError, errorBytesMax, protocolFailure, unexpectedType } from "./connect-answer.ts";
import { ConnectCall } from "./connect-call.ts";

/** The whole answer of a unary call. */
interface WholeAnswer {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const noBytes = Buffer.alloc(0);

/** One unary call on its connection. */
export class ConnectUnaryCall extends ConnectCall {
  readonly #limitBytes: number;
  readonly #answer = Promise.withResolvers<WholeAnswer>();
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #first: Buffer | undefined;
  #more: Buffer[] | undefined;
  #size = 0;

  constructor(limitBytes: number, signal: AbortSignal | undefined, timeoutMs: number | undefined) {
    super();
    this.#limitBytes = limitBytes;
    this.watch(signal, timeoutMs);
  }

  /** Rejects with the error of the server or of the connection. */
  get answer(): Promise<WholeAnswer> {
    return this.#answer.promise;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
    if (status !== 200) return;
    const unexpected = unexpectedType(headers, "application/proto");
    if (unexpected !== undefined) this.fail(unexpected);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length;
    const isError = this.#status !== 200;
    if (this.#size > (isError ? errorBytesMax : this.#limitBytes))
      this.fail(isError ? answerError(this.#status, this.#headers) : protocolFailure(tooLarge(this.#limitBytes)));
    else if (this.#first === undefined) this.#first = chunk;
    else (this.#more ??= [this.#first]).push(chunk);
  }

  onResponseEnd(): void {
    const body = this.#more === undefined ? (this.#first ?? noBytes) : Buffer.concat(this.#more, this.#size);
    const error = this.#status === 200 ? undefined : answerError(this.#status, this.#headers, body);
    if (error === undefined) this.#answer.resolve({ headers: this.#headers, body });
    this.finish(error);
  }

  protected override onFinish(error: ConnectError | undefined): void {
    if (error !== undefined) this.#answer.reject(error);
  }
}
