import type { IncomingMessage, ServerResponse } from "node:http";

import { TracedCall } from "../../services/kit/trace/traced-call.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import type { GatewayLimits } from "../http/limits.ts";
import type { IncomingBody } from "../http/incoming-body.ts";
import { openIncomingBody } from "../http/incoming-body.ts";
import type { RequestHead } from "../http/request-head.ts";
import { parseQuery } from "../http/query.ts";

/** One request and its answer, as HTTP has them. */
export interface HttpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: IncomingBody;
  readonly requestId: string;
  /** The request's place in its trace: the one that the client told, or the first of a new one. */
  readonly work: TracedCall;
  /** Aborted when the client goes away before its answer is out. */
  readonly signal: AbortSignal;
  readonly rawPath: string;
  readonly rawQuery: string;
}

/** Takes a request that was just received. */
export const openHttpExchange = (
  request: IncomingMessage,
  response: ServerResponse,
  expectsContinue: boolean,
  requestId: string,
  limits: GatewayLimits,
): HttpExchange => {
  const controller = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) controller.abort();
  });
  // A write that finds the connection gone is told by `close` as well; nobody else listens for it.
  response.on("error", () => {});
  const { rawPath, rawQuery } = splitTarget(request.url ?? "/");
  return {
    request,
    response,
    body: openIncomingBody(request, response, expectsContinue, limits),
    requestId,
    work: workOf(request, rawPath),
    signal: controller.signal,
    rawPath,
    rawQuery,
  };
};

const workOf = ({ headers, method = "GET" }: IncomingMessage, rawPath: string): TracedCall => {
  // Several `traceparent` lines are none; several `tracestate` lines are one list.
  const { traceparent, tracestate } = headers;
  return new TracedCall(
    method,
    "server",
    { traceparent: traceparent?.toString(), tracestate: tracestate?.toString() },
    () => ({ "http.request.method": method, "url.path": rawPath }),
  );
};

/** The head of a request. Throws GatewayRefusal for a target that is too long, MalformedUriError for a malformed one. */
export const readHead = (exchange: HttpExchange, limits: GatewayLimits): RequestHead => {
  const { request, rawPath, rawQuery } = exchange;
  if ((request.url ?? "").length > limits.targetLengthMax) throw refusal(ErrorReason.URI_TOO_LONG);
  return {
    method: request.method ?? "GET",
    rawPath,
    query: parseQuery(rawQuery),
    headers: request.headers,
    rawHeaders: request.rawHeaders,
  };
};

/** Splits a request target; one that names a whole URL, as a proxy's does, is cut to its path. */
const splitTarget = (target: string): { rawPath: string; rawQuery: string } => {
  const local = target.startsWith("/") ? target : target.replace(/^[a-z]+:\/\/[^/?]*/i, "");
  const mark = local.indexOf("?");
  const path = mark === -1 ? local : local.slice(0, mark);
  return { rawPath: path.startsWith("/") ? path : `/${path}`, rawQuery: mark === -1 ? "" : local.slice(mark + 1) };
};
