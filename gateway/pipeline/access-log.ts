import type { Caller } from "../../services/kit/identity/caller.ts";
import { clientGoneStatus } from "../../services/kit/metrics/request-tally.ts";
import type { Gateway } from "../gateway.ts";
import { withoutInputSecret } from "../reports/hidden-secrets.ts";
import { reportOf } from "../reports/report-of.ts";
import type { HttpExchange } from "./exchange.ts";
import type { BoundCall, Identity } from "./stages.ts";

/** How far a request went; undefined members were not reached before it was refused. */
export interface RequestProgress {
  /** The fallback API in the fallback dialect until the request is identified. */
  identity: Identity;
  caller: Caller | undefined;
  bound: BoundCall | undefined;
  /** On the monotonic clock. */
  readonly startedMs: number;
}

/**
 * Writes a request's line in the access log, counts it, and reports it to its service if that asked for it. The query
 * is in neither of the first two, because it holds signatures, tokens and the members of requests.
 */
export const logAnswer = (gateway: Gateway, exchange: HttpExchange, progress: RequestProgress): void => {
  const { request, response, requestId, work, forwarded } = exchange;
  const { identity, caller, bound, startedMs } = progress;
  const ms = performance.now() - startedMs;
  const status = response.headersSent ? response.statusCode : clientGoneStatus;
  const api = identity.binding.api.name;
  const dialect = identity.spelling.dialect.name;
  const operation = bound?.method.desc.name;
  const isCut = response.headersSent && !response.writableEnded;
  gateway.countRequest?.({ api, operation, dialect, status, ms });
  work.end(status >= 500 ? `status ${status}` : undefined, () => ({
    "http.response.status_code": status,
    "quartet.operation": operation ?? "unknown",
  }));
  const { report } = exchange;
  if (report !== undefined)
    identity.binding.reports?.add(reportOf(gateway, exchange, report, { caller, startedMs, status }));
  gateway.logRequest({
    method: request.method,
    path: withoutInputSecret(exchange.rawPath),
    api,
    operation,
    dialect,
    status,
    isCut: isCut ? true : undefined,
    ms: Math.round(ms * 100) / 100,
    account: caller?.accountId,
    client: forwarded?.sourceIp ?? request.socket.remoteAddress,
    requestId,
    trace_id: work.trace.traceId,
  });
};
