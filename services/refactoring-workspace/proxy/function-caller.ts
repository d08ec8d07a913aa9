import type { IncomingMessage, ServerResponse } from "node:http";

import { PassingMap } from "../../kit/collections/passing-map.ts";
import type { Clock } from "../../kit/clock/clock.ts";
import type { ServiceEndpoint } from "../../kit/outgoing/service-client.ts";
import { signedHeaders } from "../../kit/outgoing/signature.ts";
import { GatheredBytes } from "../../kit/wire/gathered-bytes.ts";
import { sendBody, withoutStalls } from "./client-stall.ts";
import { functionNameOf, functionPath, functionService } from "./function-api.ts";
import { functionEvent, MalformedAnswerError, readFunctionAnswer } from "./function-event.ts";
import { functionHeaders, responseHeaders } from "./forwarded-headers.ts";
import type { ProxiedClient } from "./proxied-client.ts";
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
  /** Bytes of bodies and events that are in memory at the same time; a call that needs more is refused. */
  readonly bytesMax: number;
  /** Calls of one application at the same time; further ones are refused, so that some are left for the others. */
  readonly callsMax: number;
  /** Longest time of a call, in milliseconds. */
  readonly callMsMax: number;
  /** How long a client may send and read nothing, in milliseconds. */
  readonly stallMsMax: number;
}

/** One request for a function. */
export interface FunctionExchange extends Routed {
  readonly target: RouteTarget & { readonly kind: "function" };
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly client: ProxiedClient;
  readonly expectsContinue: boolean;
}

/** The largest body of a request to a function and of its answer. Each is one document, so it is kept in memory. */
const functionBodyBytesMax = 6 * 1024 * 1024;

/** Calls functions by the Invoke API, with the proxy event as payload; the answer becomes the response. */
export class FunctionCaller {
  readonly #settings: FunctionSettings;
  #heldBytes = 0;
  /** Requests that run, by application. */
  readonly #running = new PassingMap<string, number>();

  constructor(settings: FunctionSettings) {
    this.#settings = settings;
  }

  /** Answers a request with the function's answer. Rejects with RefusedError and network errors. */
  async call(exchange: FunctionExchange): Promise<void> {
    const { endpoint, stallMsMax } = this.#settings;
    if (endpoint === undefined) throw new RefusedError(refusals.functionsNotConfigured);
    const { request, response, target, application } = exchange;
    this.#countUntilClosed(response, application.applicationId);
    const hold = this.#holdUntilClosed(response);
    const event = await this.#readEvent(exchange, hold);
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const invoked = await this.#invoke(endpoint, target.functionArn, event, gone.signal, hold);
    if (invoked.status !== 200 || invoked.functionError !== undefined) throw new RefusedError(refusals.functionFailed);
    const answer = readAnswer(invoked.body);
    const isFramed = new Set(["content-length", "transfer-encoding"]);
    const headers = responseHeaders(answer.headers).filter(
      (_text, index, all) => !isFramed.has((all[index - (index % 2)] as string).toLowerCase()),
    );
    const { status, body } = answer;
    // An answer of these has no body, and no length of one (RFC 9110 section 8.6).
    const hasBody = status !== 204 && status !== 304;
    response.writeHead(status, hasBody ? [...headers, "content-length", String(body.length)] : headers);
    await sendBody(response, hasBody && request.method !== "HEAD" ? body : noBody, stallMsMax);
  }

  /** The event of a request, whose body is held no longer than until it is made. */
  async #readEvent(exchange: FunctionExchange, hold: (bytes: number) => void): Promise<string> {
    const { request, response, target, application, client } = exchange;
    if (exchange.expectsContinue) response.writeContinue();
    const body = await readWhole(
      withoutStalls(request.iterator({ destroyOnReturn: false }), this.#settings.stallMsMax),
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
      headers: functionHeaders(request.rawHeaders, client),
      sourceIp: client.address,
      protocol: `HTTP/${request.httpVersion}`,
      sourcePath: target.sourcePath,
      routeId: target.routeId,
      body,
    });
    if (event === undefined) throw new RefusedError(refusals.functionBodyTooLarge);
    hold(event.length - body.length);
    return event;
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
  ): Promise<{ status: number; functionError: string | undefined; body: Buffer }> {
    const late = AbortSignal.timeout(this.#settings.callMsMax);
    try {
      return await this.#invokeUntil(endpoint, functionArn, event, AbortSignal.any([signal, late]), hold);
    } catch (error) {
      throw late.aborted && !signal.aborted ? new RefusedError(refusals.functionLate) : error;
    }
  }

  async #invokeUntil(
    endpoint: ServiceEndpoint,
    functionArn: string,
    event: string,
    signal: AbortSignal,
    hold: (bytes: number) => void,
  ) {
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
      body: content,
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

  /** Counts a request until its client has the answer or went away. Throws RefusedError if too many run. */
  #countUntilClosed(response: ServerResponse, applicationId: string): void {
    const running = this.#running.get(applicationId) ?? 0;
    if (running >= this.#settings.callsMax) throw new RefusedError(refusals.busy);
    if (response.destroyed) return;
    this.#running.set(applicationId, running + 1);
    response.once("close", () => {
      const left = (this.#running.get(applicationId) ?? 1) - 1;
      if (left > 0) this.#running.set(applicationId, left);
      else this.#running.delete(applicationId);
    });
  }

  #headers(endpoint: ServiceEndpoint, url: URL, body: string): Record<string, string> {
    const headers = { "content-type": "application/json" };
    if (endpoint.accessKeyId === "") return headers;
    const scope = { ...endpoint, service: functionService };
    return signedHeaders({ method: "POST", url, headers, body }, scope, this.#settings.clock.now());
  }
}

const noBody = Buffer.alloc(0);

const readAnswer = (content: Buffer): ReturnType<typeof readFunctionAnswer> => {
  try {
    return readFunctionAnswer(content);
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
