import type { HttpExchange } from "./exchange.ts";
import type { Gateway } from "../gateway.ts";
import type { Identity } from "./stages.ts";

/** What is known about a request when its answer is out; undefined members were not found out before it was refused. */
export interface Outcome {
  readonly identity: Identity;
  readonly operation: string | undefined;
  readonly accountId: string | undefined;
  readonly startedMs: number;
}

/** The status that is noted for a client who went away before it was answered. */
const clientGoneStatus = 499;

/**
 * Writes a request's line in the access log and counts it. The query stays out of both: signatures, tokens and the members
 * of requests stand there.
 */
export const noteAnswer = (gateway: Gateway, exchange: HttpExchange, outcome: Outcome): void => {
  const { request, response, requestId, work } = exchange;
  const { identity, operation } = outcome;
  const ms = performance.now() - outcome.startedMs;
  const status = response.headersSent ? response.statusCode : clientGoneStatus;
  const dialect = identity.spelling.dialect.name;
  const isCut = response.headersSent && !response.writableEnded;
  gateway.countRequest?.({ api: identity.binding.api.name, operation, dialect, status, ms });
  work.end(status >= 500 ? `status ${status}` : undefined, () => ({
    "http.response.status_code": status,
    "quartet.operation": operation ?? "unknown",
  }));
  gateway.log.info(
    {
      method: request.method,
      path: exchange.rawPath,
      api: identity.binding.api.name,
      operation,
      dialect,
      status,
      ...(isCut ? { isCut } : {}),
      ms: Math.round(ms * 100) / 100,
      account: outcome.accountId,
      requestId,
      trace_id: work.trace.traceId,
    },
    "request",
  );
};
