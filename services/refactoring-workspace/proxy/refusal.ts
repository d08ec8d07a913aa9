import type { ServerResponse } from "node:http";

import { discardBody } from "./request-body.ts";
import { certificateProblemOf } from "./trusted-authorities.ts";

/** An answer of the proxy itself, if no service answers. */
export interface ProxyRefusal {
  readonly status: number;
  readonly message: string;
}

export const refusals = {
  version: { status: 505, message: "The proxy speaks HTTP/1.1 and 1.0." },
  method: { status: 501, message: "The proxy takes neither CONNECT nor TRACE." },
  hosts: { status: 400, message: "The request must have one Host header." },
  host: { status: 400, message: "The Host header is not a host with an optional port." },
  coding: { status: 501, message: "The only transfer coding that the proxy takes is chunked." },
  codingOfOld: { status: 400, message: "A request of HTTP/1.0 can have no Transfer-Encoding." },
  expectation: { status: 417, message: "The proxy meets no expectation but 100-continue." },
  unknownApplication: { status: 404, message: "No application has this address." },
  noRoute: { status: 404, message: "No active route of the application takes this request." },
  functionUpgrade: { status: 400, message: "The route leads to a function, which takes no WebSocket." },
  clientStalled: { status: 408, message: "The rest of the request did not arrive in time." },
  functionBodyTooLarge: { status: 413, message: "The body is larger than a function takes." },
  functionsNotConfigured: { status: 502, message: "The installation calls no functions." },
  functionAnswerMalformed: { status: 502, message: "The function's answer is malformed." },
  functionLate: { status: 504, message: "The function did not answer in time." },
  functionFailed: { status: 502, message: "The function failed." },
  loop: { status: 508, message: "The request passed this proxy too often." },
  busy: { status: 503, message: "The proxy is busy; try again later." },
  tunnelShare: { status: 503, message: "Too many WebSockets are open from this address; try again later." },
  noConnection: { status: 503, message: "All connections to the service are in use; try again later." },
  stopping: { status: 503, message: "The proxy is stopping; try again later." },
  internal: { status: 500, message: "The proxy failed." },
} satisfies Readonly<Record<string, ProxyRefusal>>;

/** Ends a request with a refusal. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly refusal: ProxyRefusal;
  /** The application that was asked. Undefined: it was not found yet, or its route was found too. */
  readonly applicationId: string | undefined;

  constructor(refusal: ProxyRefusal, applicationId?: string) {
    super(refusal.message);
    this.refusal = refusal;
    this.applicationId = applicationId;
  }
}

/** The refusal for a failed connection to a service; the cause is only logged. */
export const upstreamRefusal = (error: unknown): ProxyRefusal => {
  const { code, name } = error as { code?: string; name?: string };
  if (name === "AddressRefusedError")
    return { status: 502, message: "The service has an address that is not allowed." };
  const certificateProblem = certificateProblemOf(error);
  if (certificateProblem !== undefined)
    return { status: 502, message: `The service's certificate ${certificateProblem}.` };
  if (code === "UND_ERR_HEADERS_TIMEOUT") return { status: 504, message: "The service did not answer in time." };
  if (code === "UND_ERR_CONNECT_TIMEOUT" || code === "ETIMEDOUT")
    return { status: 504, message: "The service could not be reached in time." };
  if (code === "UND_ERR_HEADERS_OVERFLOW")
    return { status: 502, message: "The header of the service's answer is too large." };
  if (code === "UND_ERR_SOCKET" || code === "ECONNRESET" || code === "EPIPE" || code?.startsWith("HPE_") === true)
    return { status: 502, message: "The service ended the connection without a valid answer." };
  return { status: 502, message: "The service could not be reached." };
};

/** The refusals of bytes that are no request, by their status. */
const brokenMessages: Readonly<Record<number, string>> = {
  408: "The header of the request did not arrive in time.",
  413: "The chunks of the body have too many extensions.",
  431: "The header of the request is too large.",
};

/** The refusal of bytes that are no request. */
export const brokenRefusal = (status: number): ProxyRefusal => ({
  status,
  message: brokenMessages[status] ?? "The request is not one of HTTP/1.1.",
});

/** The body of a refusal: JSON with `message` and `requestId`. */
export const refusalBody = (refusal: ProxyRefusal, requestId: string): string =>
  JSON.stringify({ message: refusal.message, requestId });

/** Answers with a refusal, or cuts the connection if an answer has begun. */
export const refuse = (response: ServerResponse, refusal: ProxyRefusal, requestId: string): void => {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const body = refusalBody(refusal, requestId);
  response.writeHead(refusal.status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    "x-request-id": requestId,
    ...(refusal.status === 503 ? { "retry-after": "1" } : {}),
  });
  response.end(body);
  discardBody(response.req);
};
