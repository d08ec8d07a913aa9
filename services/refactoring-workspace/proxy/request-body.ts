import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";

import { ClientStall, ClientStalledError } from "./client-stall.ts";

/**
 * A request's body as a stream of its own, which can end without ending the client's connection: a service that answers
 * early reads no more of the body, while the client must still receive that answer. The next bytes are read from the
 * client when the service has read the last ones; `100 Continue` is sent when the service reads the first bytes. A
 * client that sends nothing for too long, while the service would read more, ends the body with ClientStalledError, and
 * so does one that sends hardly anything while others want its place.
 */
export class ForwardedBody extends Readable {
  readonly #request: IncomingMessage;
  readonly #stall: ClientStall;
  #beforeFirstRead: (() => void) | undefined;

  /** `stallMsMax`: how long the client may send nothing. `isWanted`: whether others want its place now. */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    expectsContinue: boolean,
    stallMsMax: number,
    isWanted: () => boolean,
  ) {
    super();
    this.#request = request;
    this.#stall = new ClientStall(stallMsMax, () => this.destroy(new ClientStalledError()), isWanted);
    this.#beforeFirstRead = expectsContinue ? () => response.writeContinue() : undefined;
    request.pause();
    request.on("data", this.#onData);
    request.once("end", this.#onEnd);
    request.once("close", this.#onClose);
    request.on("error", this.#onError);
  }

  override _read(): void {
    this.#beforeFirstRead?.();
    this.#beforeFirstRead = undefined;
    this.#stall.begin();
    this.#request.resume();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#stall.end();
    this.#request.off("data", this.#onData);
    this.#request.off("end", this.#onEnd);
    this.#request.off("close", this.#onClose);
    done(error);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#stall.end(chunk.length);
    if (!this.push(chunk)) this.#request.pause();
  };
  readonly #onEnd = (): void => {
    this.#stall.end();
    this.push(null);
  };
  readonly #onClose = (): void => {
    if (!this.#request.complete) this.destroy(new Error("the client ended the connection"));
  };
  readonly #onError = (error: Error): void => {
    this.destroy(error);
  };
}

/** Whether a message has a body, by its header (RFC 9112 section 6.3). */
export const hasBody = (request: IncomingMessage): boolean =>
  request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > 0;

/** How long a client may continue to send a body that is not read. */
const lateBodyMsMax = 5_000;

/**
 * Discards the rest of a body, so that a client that still sends it can read its answer; cuts the connection if that
 * takes too long.
 */
export const discardBody = (request: IncomingMessage): void => {
  if (request.complete || request.destroyed) return;
  request.resume();
  const timer = setTimeout(() => request.complete || request.socket.destroy(), lateBodyMsMax);
  timer.unref();
  request.once("close", () => clearTimeout(timer));
};
