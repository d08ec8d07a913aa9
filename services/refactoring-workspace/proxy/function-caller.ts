import type { IncomingMessage, ServerResponse } from "node:http";

import type { Clock } from "../../kit/clock/clock.ts";
import type { ServiceEndpoint } from "../../kit/outgoing/service-client.ts";
import { signedHeaders } from "../../kit/outgoing/signature.ts";
import { GatheredBytes } from "../../kit/wire/gathered-bytes.ts";
import { functionNameOf, functionPath, functionService } from "./function-api.ts";
import { functionEvent, MalformedAnswerError, readFunctionAnswer } from "./function-event.ts";
import { responseHeaders } from "./forwarded-headers.ts";
import { RefusedError, refusals } from "./refusal.ts";
import type { RouteTarget } from "./proxied-applications.ts";
import type { Routed } from "./routing.ts";
import type { Upstreams } from "./upstreams.ts";

/** The dependencies of a `FunctionCaller`. */
export interface FunctionSettings {
  /** The Invoke API. Undefined: no functions are called. */
  readonly endpoint: ServiceEndpoint | undefined;
  readonly upstreams: Upstreams;
  readonly clock: Clock;
  /** Bytes of bodies that are in memory at the same time; a call that needs more is refused. */
  readonly bytesMax: number;
}

/** One request for a function. */
export interface FunctionExchange extends Routed {
  readonly target: RouteTarget & { readonly kind: "function" };
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly expectsContinue: boolean;
}

/** The largest body of a request to a function and of its answer. Each is one document, so it is kept in memory. */
const functionBodyBytesMax = 6 * 1024 * 1024;

/** Calls functions by the Invoke API, with the proxy event as payload; the answer becomes the response. */
export class FunctionCaller {
  readonly #settings: FunctionSettings;
  #heldBytes = 0;

  constructor(settings: FunctionSettings) {
    this.#settings = settings;
  }

  /** Answers a request with the function's answer. Rejects with RefusedError and network errors. */
  async call(exchange: FunctionExchange): Promise<void> {
    const { endpoint } = this.#settings;
    if (endpoint === undefined) throw new RefusedError(refusals.functionsNotConfigured);
    const { request, response, target, application } = exchange;
    if (exchange.expectsContinue) response.writeContinue();
    const hold = this.#holdUntilClosed(response);
    const body = await readWhole(
      request.iterator({ destroyOnReturn: false }),
      () => new RefusedError(refusals.functionBodyTooLarge),
      hold,
    );
    const event = functionEvent({
      accountId: application.accountId,
      apiGatewayId: application.apiGatewayId,
      stageName: application.stageName,
      requestId: exchange.requestId,
      timeMs: this.#settings.clock.now(),
      method: request.method ?? "GET",
      segments: exchange.decoded,
      endsWithSlash: exchange.endsWithSlash,
      query: exchange.query,
      headers: request.rawHeaders,
      sourceIp: request.socket.remoteAddress ?? "",
      protocol: `HTTP/${request.httpVersion}`,
      sourcePath: target.sourcePath,
      routeId: target.routeId,
      body,
    });
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const invoked = await this.#invoke(endpoint, target.functionArn, event, gone.signal, hold);
    if (invoked.status !== 200 || invoked.functionError !== undefined) throw new RefusedError(refusals.functionFailed);
    const answer = readAnswer(invoked.body);
    const isFramed = new Set(["content-length", "transfer-encoding"]);
    const headers = responseHeaders(answer.headers).filter(
      (_text, index, all) => !isFramed.has((all[index - (index % 2)] as string).toLowerCase()),
    );
    response.writeHead(answer.status, [...headers, "content-length", String(answer.body.length)]);
    response.end(request.method === "HEAD" ? undefined : answer.body);
  }

  /**
   * Sends one invocation, on a connection of the proxy's: other calls of the API are repeated when a kept connection
   * turns out to be closed, which must not call a function twice.
   */
  async #invoke(
    endpoint: ServiceEndpoint,
    functionArn: string,
    event: string,
    signal: AbortSignal,
    hold: (bytes: number) => void,
  ): Promise<{ status: number; functionError: string | undefined; body: string }> {
    const base = new URL(endpoint.url);
    const url = new URL(
      `${base.origin}${base.pathname.replace(/\/$/, "")}${functionPath(functionNameOf(functionArn))}/invocations`,
    );
    const { dispatcher } = await this.#settings.upstreams.acquire(base.origin);
    const answer = await dispatcher.request({
      origin: base.origin,
      path: url.pathname,
      method: "POST",
      headers: this.#headers(endpoint, url, event),
      body: event,
      signal,
    });
    const content = await readWhole(answer.body, () => new RefusedError(refusals.functionAnswerMalformed), hold);
    const functionError = answer.headers["x-amz-function-error"];
    return {
      status: answer.statusCode,
      functionError: Array.isArray(functionError) ? functionError[0] : functionError,
      body: content.toString("utf8"),
    };
  }

  /** Holds bytes of a request until its client has the answer or went away. Throws RefusedError if there is no room. */
  #holdUntilClosed(response: ServerResponse): (bytes: number) => void {
    let heldBytes = 0;
    response.once("close", () => (this.#heldBytes -= heldBytes));
    return (bytes) => {
      if (response.destroyed) return;
      if (this.#heldBytes + bytes > this.#settings.bytesMax) throw new RefusedError(refusals.busy);
      heldBytes += bytes;
      this.#heldBytes += bytes;
    };
  }

  #headers(endpoint: ServiceEndpoint, url: URL, body: string): Record<string, string> {
    const headers = { "content-type": "application/json" };
    if (endpoint.accessKeyId === "") return headers;
    const scope = { ...endpoint, service: functionService };
    return signedHeaders({ method: "POST", url, headers, body }, scope, this.#settings.clock.now());
  }
}

const readAnswer = (text: string): ReturnType<typeof readFunctionAnswer> => {
  try {
    return readFunctionAnswer(text);
  } catch (error) {
    if (error instanceof MalformedAnswerError) throw new RefusedError(refusals.functionAnswerMalformed);
    throw error;
  }
};

const readWhole = async (
  stream: AsyncIterable<Uint8Array>,
  tooLarge: () => Error,
  hold: (bytes: number) => void,
): Promise<Buffer> => {
  const bytes = new GatheredBytes();
  for await (const chunk of stream) {
    hold(chunk.length);
    bytes.add(chunk);
    if (bytes.size > functionBodyBytesMax) throw tooLarge();
  }
  return bytes.take();
};
