import type { IncomingHttpHeaders } from "node:http";

import { Code, ConnectError } from "@connectrpc/connect";
import { endStreamFromJson } from "@connectrpc/connect/protocol-connect";
import type { Dispatcher } from "undici";

import type { Frame } from "../wire/frame-parser.ts";
import { compressedFlag, endStreamFlag } from "../wire/frame-parser.ts";
import type { PayloadFinder } from "../wire/payload.ts";
import { FrameQueue } from "../wire/frame-queue.ts";
import { decompress } from "../wire/gzip.ts";
import type { CallEnd } from "./call-end.ts";
import { watchCallEnd } from "./call-end.ts";
import { answerError, connectionError, unexpectedType } from "./connect-answer.ts";
import { protocolFailure } from "./protocol-failure.ts";
import type { RequestsOwner } from "./request-frames.ts";

/** The largest answer that is read whole because it is an error. */
const errorBytesMax = 64 * 1024;

/** One streaming call on its connection. */
export class ConnectStreamCall implements Dispatcher.DispatchHandler, RequestsOwner {
  /** The headers of the answer, or the error that came instead. */
  readonly headers: Promise<IncomingHttpHeaders>;
  isOver = false;
  onOver: (() => void) | undefined;
  readonly #limitBytes: number;
  readonly #queue: FrameQueue;
  readonly #end: CallEnd | undefined;
  #resolve!: (headers: IncomingHttpHeaders) => void;
  #reject!: (error: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #givenUp: ConnectError | undefined;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #errorBody: Buffer = Buffer.alloc(0);

  constructor(
    limitBytes: number,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    findPayload: PayloadFinder | undefined,
  ) {
    this.#limitBytes = limitBytes;
    this.headers = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // The error is told again to whoever asks for the headers, however late.
    this.headers.catch(() => {});
    const flow = { pause: () => this.#controller?.pause(), resume: () => this.#controller?.resume() };
    this.#queue = new FrameQueue(limitBytes, flow, findPayload);
    this.#end = watchCallEnd(signal, timeoutMs, (error) => this.fail(error));
  }

  /** Ends the call with an error. */
  fail(error: unknown): void {
    if (this.isOver) return;
    this.#givenUp = connectionError(error);
    this.#settle(this.#givenUp);
    this.#controller?.abort(this.#givenUp);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#givenUp !== undefined) controller.abort(this.#givenUp);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
    if (status !== 200) return;
    const unexpected = unexpectedType(headers, "application/connect+proto");
    if (unexpected === undefined) this.#resolve(headers);
    else this.fail(unexpected);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#status === 200) this.#queue.push(chunk);
    else if (this.#errorBody.length < errorBytesMax) this.#errorBody = Buffer.concat([this.#errorBody, chunk]);
  }

  onResponseEnd(): void {
    if (this.#status === 200) {
      this.#queue.end();
      this.#settle(undefined);
    } else this.#settle(answerError(this.#status, this.#headers, this.#errorBody));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#settle(connectionError(error));
  }

  /** The messages of the answer, read from the network as they are asked for. The trailer is filled at the end. */
  async *messages<T>(decode: (frame: Frame) => T, trailer: Headers): AsyncGenerator<T> {
    let isEnded = false;
    try {
      for (;;) {
        const frame = await this.#queue.next();
        if (frame === undefined) throw new ConnectError("the answer ended without its end", Code.Internal);
        const isCompressed = (frame.flags & compressedFlag) !== 0;
        const body = isCompressed ? await decompress(frame.body, this.#limitBytes) : frame.body;
        if ((frame.flags & endStreamFlag) === 0) yield decode(isCompressed ? { flags: 0, body } : frame);
        else {
          isEnded = true;
          const end = endStreamFromJson(body);
          end.metadata.forEach((value, name) => trailer.append(name, value));
          if (end.error !== undefined) throw end.error;
          return;
        }
      }
    } catch (error) {
      throw protocolFailure(error);
    } finally {
      // A reader that leaves early gives the connection up; after the last frame only the end of the body is to come.
      if (isEnded) this.#controller?.resume();
      else this.fail(new ConnectError("the answer was left", Code.Canceled));
    }
  }

  #settle(error: ConnectError | undefined): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#end?.release();
    if (error !== undefined) {
      this.#queue.fail(error);
      this.#reject(error);
    }
    this.onOver?.();
  }
}
