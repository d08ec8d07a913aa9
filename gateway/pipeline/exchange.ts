import type { IncomingMessage, ServerResponse } from "node:http";
import type { TLSSocket } from "node:tls";

import type { ConnectError } from "@connectrpc/connect";

import type { ConnectionFacts } from "../../services/kit/identity/connection.ts";
import { TracedCall } from "../../services/kit/trace/traced-call.ts";
import type { Gateway } from "../gateway.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import type { GatewayLimits } from "../http/limits.ts";
import { withoutInputSecret } from "../reports/hidden-secrets.ts";
import type { ReportedExchange } from "../reports/report-draft.ts";
import type { IncomingBody } from "../http/incoming-body.ts";
import { openIncomingBody } from "../http/incoming-body.ts";
import type { RequestHead } from "../http/request-head.ts";
import { parseQuery } from "../http/query.ts";

/** One HTTP request and its answer. */
export interface HttpExchange extends ReportedExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: IncomingBody;
  readonly requestId: string;
  /** What the Server header of the answer says. Undefined: there is none. */
  readonly serverName: string | undefined;
  /** The request's span: in the trace of its `traceparent`, or the first of a new trace. */
  readonly work: TracedCall;
  /** Aborted when the client goes away before its answer was sent, and when the work for it is given up. */
  readonly signal: AbortSignal;
  /** Aborts the signal. */
  giveUp(reason: ConnectError): void;
  readonly rawPath: string;
  readonly rawQuery: string;
  /** What a trusted proxy says of the client. Undefined: the request came from the client itself. */
  readonly forwarded: ConnectionFacts | undefined;
}

/** Opens the exchange of a request that was just received. */
export const openHttpExchange = (
  request: IncomingMessage,
  response: ServerResponse,
  { expectsContinue, serverName }: { readonly expectsContinue: boolean; readonly serverName?: string | undefined },
  {
    ids,
    limits,
    bodiesBudget,
    readingTurns,
    trustedProxies,
  }: Pick<Gateway, "ids" | "limits" | "bodiesBudget" | "readingTurns" | "trustedProxies">,
): HttpExchange => {
  const controller = new AbortController();
  response.on("close", () => {
    if (!response.writableFinished) controller.abort();
  });
  // A write to a closed connection is reported by `close` as well; without a listener it would end the process.
  response.on("error", () => {});
  const { rawPath, rawQuery } = splitTarget(request.url ?? "/");
  return {
    request,
    response,
    body: openIncomingBody(request, response, expectsContinue, limits, bodiesBudget, readingTurns),
    requestId: ids.uuid(),
    serverName,
    work: workOf(request, rawPath),
    signal: controller.signal,
    giveUp: (reason) => controller.abort(reason),
    rawPath,
    rawQuery,
    forwarded: trustedProxies.readFacts(request.headers, request.socket),
    report: undefined,
  };
};

const workOf = ({ headers, method = "GET" }: IncomingMessage, rawPath: string): TracedCall => {
  // Several `traceparent` lines count as absent; several `tracestate` lines are one list.
  const { traceparent, tracestate } = headers;
  return new TracedCall(
    method,
    "server",
    { traceparent: traceparent?.toString(), tracestate: tracestate?.toString() },
    () => ({ "http.request.method": method, "url.path": withoutInputSecret(rawPath) }),
  );
};

/** The head of a request. Throws URI_TOO_LONG and MALFORMED_URI. */
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

/** The URL of a request without its query, as its caller wrote it: its host may be a bucket's. */
export const requestUrl = (exchange: Pick<HttpExchange, "request" | "rawPath" | "forwarded">): string =>
  `${arrivedOverTls(exchange) ? "https" : "http"}://${exchange.request.headers.host ?? ""}${exchange.rawPath}`;

/** Whether a request left its client over TLS. */
export const arrivedOverTls = ({ request, forwarded }: Pick<HttpExchange, "request" | "forwarded">): boolean =>
  forwarded?.isSecureTransport ?? (request.socket as Partial<TLSSocket>).encrypted === true;

/** The scheme and the host of a request target that is a whole URL, as proxies send it. */
export const targetOrigin = /^[a-z]+:\/\/([^/?]*)/i;

/** Splits a request target into path and query; of a whole URL, which proxies send, the origin is dropped. */
const splitTarget = (target: string): { rawPath: string; rawQuery: string } => {
  const local = target.startsWith("/") ? target : target.replace(targetOrigin, "");
  const mark = local.indexOf("?");
  const path = mark === -1 ? local : local.slice(0, mark);
  return { rawPath: path.startsWith("/") ? path : `/${path}`, rawQuery: mark === -1 ? "" : local.slice(mark + 1) };
};
