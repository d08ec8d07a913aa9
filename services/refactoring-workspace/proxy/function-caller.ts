import type { IncomingMessage, ServerResponse } from "node:http";

import type { Clock } from "../../kit/clock/clock.ts";
import { GatheredBytes } from "../../kit/wire/gathered-bytes.ts";
import { functionEvent, MalformedAnswerError, readFunctionAnswer } from "./function-event.ts";
import { responseHeaders } from "./forwarded-headers.ts";
import { RefusedError, refusals } from "./refusal.ts";
import type { RouteTarget } from "./proxied-applications.ts";
import type { Routed } from "./routing.ts";
import type { Upstreams } from "./upstreams.ts";
import { parseJson } from "../../kit/json/parse-json.ts";

/** The dependencies of a `FunctionCaller`. */
export interface FunctionSettings {
  /** Base address of the Invoke API. Undefined: no functions are called. */
  readonly address: string | undefined;
  readonly upstreams: Upstreams;
  readonly clock: Clock;
}

/** Whether a function can be called. */
export type FunctionState = { readonly isReady: true } | { readonly isReady: false; readonly problem: string };

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

  constructor(settings: FunctionSettings) {
    this.#settings = settings;
  }

  /**
   * Checks whether a function can be called: it must exist and not have failed. One that is inactive because nobody
   * called it for long is provisioned by an update of its configuration that changes nothing.
   */
  async check(functionArn: string, signal: AbortSignal): Promise<FunctionState> {
    if (this.#settings.address === undefined) return { isReady: false, problem: "no address for functions is set" };
    const { status, body } = await this.#send("GET", `/2015-03-31/functions/${nameOf(functionArn)}`, undefined, signal);
    if (status === 404) return { isReady: false, problem: "the function does not exist" };
    if (status !== 200) return { isReady: false, problem: `the functions' address answers ${status}` };
    const state = stateIn(body);
    if (state === "Inactive") {
      const path = `/2015-03-31/functions/${unqualifiedNameOf(functionArn)}/configuration`;
      const updated = await this.#send("PUT", path, "{}", signal);
      if (updated.status !== 200)
        return { isReady: false, problem: `the update of the inactive function is answered ${updated.status}` };
    }
    return state === "Failed" ? { isReady: false, problem: "the function is in the state Failed" } : { isReady: true };
  }

  /** Answers a request with the function's answer. Rejects with RefusedError and network errors. */
  async call(exchange: FunctionExchange): Promise<void> {
    if (this.#settings.address === undefined) throw new RefusedError(refusals.functionsNotConfigured);
    const { request, response, target, application } = exchange;
    if (exchange.expectsContinue) response.writeContinue();
    const body = await readWhole(
      request.iterator({ destroyOnReturn: false }),
      () => new RefusedError(refusals.functionBodyTooLarge),
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
    const path = `/2015-03-31/functions/${nameOf(target.functionArn)}/invocations`;
    const invoked = await this.#send("POST", path, event, gone.signal);
    if (invoked.status !== 200 || invoked.functionError !== undefined) throw new RefusedError(refusals.functionFailed);
    const answer = readAnswer(invoked.body);
    const isFramed = new Set(["content-length", "transfer-encoding"]);
    const headers = responseHeaders(answer.headers).filter(
      (_text, index, all) => !isFramed.has((all[index - (index % 2)] as string).toLowerCase()),
    );
    response.writeHead(answer.status, [...headers, "content-length", String(answer.body.length)]);
    response.end(request.method === "HEAD" ? undefined : answer.body);
  }

  async #send(
    method: "GET" | "POST" | "PUT",
    path: string,
    body: string | undefined,
    signal: AbortSignal,
  ): Promise<{ status: number; functionError: string | undefined; body: string }> {
    const base = new URL(this.#settings.address as string);
    const { dispatcher } = await this.#settings.upstreams.acquire(base.origin);
    const answer = await dispatcher.request({
      origin: base.origin,
      path: base.pathname.replace(/\/$/, "") + path,
      method,
      headers: { "content-type": "application/json" },
      body: body ?? null,
      signal,
    });
    const content = await readWhole(answer.body, () => new RefusedError(refusals.functionAnswerMalformed));
    const functionError = answer.headers["x-amz-function-error"];
    return {
      status: answer.statusCode,
      functionError: Array.isArray(functionError) ? functionError[0] : functionError,
      body: content.toString("utf8"),
    };
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

const readWhole = async (stream: AsyncIterable<Uint8Array>, tooLarge: () => Error): Promise<Buffer> => {
  const bytes = new GatheredBytes();
  for await (const chunk of stream) {
    bytes.add(chunk);
    if (bytes.size > functionBodyBytesMax) throw tooLarge();
  }
  return bytes.take();
};

/** Name and qualifier as one text, as the Invoke API expects it: `orders`, `orders:live`. */
const nameOf = (functionArn: string): string => encodeURIComponent(functionArn.split(":").slice(6).join(":"));

/** The name alone: a configuration belongs to all versions and aliases. */
const unqualifiedNameOf = (functionArn: string): string => encodeURIComponent(functionArn.split(":")[6] ?? "");

const stateIn = (body: string): unknown => {
  try {
    return (parseJson(body) as { Configuration?: { State?: unknown } } | null)?.Configuration?.State;
  } catch {
    return undefined;
  }
};
