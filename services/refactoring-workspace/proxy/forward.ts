import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";

import type { Dispatcher } from "undici";

import { ClientStall, ClientStalledError, limitLastWait } from "./client-stall.ts";
import { responseHeaders, sentReason, sentTrailers } from "./forwarded-headers.ts";
import { RefusedError, refusals, refuse, upstreamRefusal } from "./refusal.ts";
import { hasBody, discardBody, ForwardedBody } from "./request-body.ts";
import type { ConnectionQueue, Upstream } from "./upstreams.ts";

/** One request on its way to a service. */
export interface ForwardedExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** Whether the client waits for `100 Continue` before it sends the body. */
  readonly expectsContinue: boolean;
  /** Path and query for the service. */
  readonly path: string;
  /** Header fields for the service: name, value, name, value. */
  readonly headers: string[];
  /** How long the client may neither send what the service waits for nor read what it has sent, in milliseconds. */
  readonly stallMsMax: number;
  /** Called if the exchange failed on the service's side. */
  readonly onFailure: (error: Error) => void;
}

/** Methods of requests that may be sent a second time if a kept-alive connection turns out to be closed. */
const repeatableMethods = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Sends a request to a service and its answer to the client, both as they arrive: at most the stream buffers of both
 * sides are in memory. If the client disconnects, the request to the service is aborted. If the service fails before
 * its answer begins, the client gets 502 or 504; if it fails later, the client's connection is cut, so that half an
 * answer never looks like a whole one. A client that stalls, or hardly moves while others wait for the service, gives
 * its place up: it gets 408, or is cut off within its answer. If no connection is free in time, the client gets 503.
 * Throws RefusedError if too many requests wait for one.
 */
export const forward = (upstream: Pick<Upstream, "dispatcher" | "queue">, exchange: ForwardedExchange): void => {
  if (upstream.queue.waiting >= upstream.queue.waitingMax) throw new RefusedError(refusals.noConnection);
  const { request, response, expectsContinue, stallMsMax } = exchange;
  const { isFull } = upstream.queue;
  const body = hasBody(request) ? new ForwardedBody(request, response, expectsContinue, stallMsMax, isFull) : null;
  const isRepeatable = body === null && repeatableMethods.has(request.method ?? "");
  send(upstream, exchange, body, isRepeatable);
};

const send = (
  upstream: Pick<Upstream, "dispatcher" | "queue">,
  exchange: ForwardedExchange,
  body: ForwardedBody | null,
  isRepeatable: boolean,
): void => {
  const handler = new AnswerHandler(exchange, body, upstream.queue, () => {
    if (!isRepeatable) return false;
    send(upstream, exchange, body, false);
    return true;
  });
  upstream.dispatcher.dispatch(
    {
      path: exchange.path,
      method: exchange.request.method ?? "GET",
      headers: exchange.headers,
      body,
    },
    handler,
  );
  handler.limitWait();
};

/** Passes one answer on to the client, no faster than the client reads it. */
class AnswerHandler implements Dispatcher.DispatchHandler {
  readonly #exchange: ForwardedExchange;
  readonly #body: ForwardedBody | null;
  readonly #queue: ConnectionQueue;
  readonly #repeat: () => boolean;
  readonly #stall: ClientStall;
  #controller: Dispatcher.DispatchController | undefined;
  #isWaiting = true;
  #timer: NodeJS.Timeout | undefined;
  #hasData = false;
  /** What the client has to read before the next piece. */
  #unreadBytes = 0;
  #isOver = false;

  constructor(exchange: ForwardedExchange, body: ForwardedBody | null, queue: ConnectionQueue, repeat: () => boolean) {
    this.#exchange = exchange;
    this.#body = body;
    this.#queue = queue;
    this.#repeat = repeat;
    this.#stall = new ClientStall(exchange.stallMsMax, () => exchange.response.destroy(), queue.isFull);
    queue.waiting += 1;
    exchange.response.on("drain", this.#onDrain);
    exchange.response.once("close", this.#onClose);
  }

  /** Gives the request up if it still waits for a connection after the time. Its place in the queue stays taken. */
  limitWait(): void {
    if (!this.#isWaiting) return;
    this.#timer = setTimeout(() => {
      this.#finish();
      this.#body?.destroy();
      refuse(this.#exchange.response, refusals.noConnection, this.#exchange.requestId);
    }, this.#queue.waitMsMax);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#endWait();
    this.#controller = controller;
    if (this.#isOver || this.#exchange.response.destroyed) controller.abort(new ClientGoneError());
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    _headers: unknown,
    statusMessage?: string,
  ): void {
    // NOTE: Interim answers concern one connection only; the client gets a `100 Continue` of the proxy's own.
    if (status < 200) return;
    const raw = (controller.rawHeaders as Buffer[]).map((text) => text.toString("latin1"));
    const { response } = this.#exchange;
    try {
      response.writeHead(status, sentReason(statusMessage ?? ""), responseHeaders(raw));
    } catch (error) {
      // The parser of the answer would lose the error, and the client would wait.
      controller.abort(error as Error);
      return;
    }
    // The header is sent together with the first bytes of the body, or by itself if these are not there yet.
    process.nextTick(() => this.#hasData || response.writableEnded || response.flushHeaders());
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#hasData = true;
    if (this.#exchange.response.write(chunk)) return;
    controller.pause();
    this.#unreadBytes = this.#exchange.response.writableLength;
    this.#stall.begin();
  }

  onResponseEnd(_controller: Dispatcher.DispatchController, trailers: OutgoingHttpHeaders): void {
    this.#finish();
    const { request, response } = this.#exchange;
    const sent = sentTrailers(trailers);
    if (sent.length > 0) response.addTrailers(sent);
    response.end();
    limitLastWait(response, this.#exchange.stallMsMax);
    if (request.complete) return;
    this.#body?.destroy();
    discardBody(request);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#endWait();
    if (this.#isOver) return;
    this.#finish();
    const { response, requestId, onFailure } = this.#exchange;
    if (error instanceof ClientGoneError || response.destroyed) {
      response.destroy();
      return;
    }
    if (!response.headersSent && isClosedConnection(error) && this.#repeat()) return;
    if (error instanceof ClientStalledError) return refuse(response, refusals.clientStalled, requestId);
    onFailure(error);
    this.#body?.destroy();
    refuse(response, upstreamRefusal(error), requestId);
  }

  #endWait(): void {
    if (this.#isWaiting) this.#queue.waiting -= 1;
    this.#isWaiting = false;
    clearTimeout(this.#timer);
  }

  #finish(): void {
    this.#isOver = true;
    this.#stall.end();
    this.#exchange.response.off("drain", this.#onDrain);
    this.#exchange.response.off("close", this.#onClose);
  }

  readonly #onDrain = (): void => {
    this.#stall.end(this.#unreadBytes);
    this.#controller?.resume();
  };
  readonly #onClose = (): void => {
    this.#stall.end();
    if (!this.#isOver) this.#controller?.abort(new ClientGoneError());
  };
}

/** The client ended its connection before the end of its answer. */
class ClientGoneError extends Error {
  override readonly name = "ClientGoneError";
}

const isClosedConnection = (error: Error): boolean => {
  const { code } = error as { code?: string };
  return code === "UND_ERR_SOCKET" || code === "ECONNRESET" || code === "EPIPE";
};
