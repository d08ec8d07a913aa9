import { METHODS } from "node:http";

/**
 * Cross-origin requests. The answer to a request with an `Origin` header has the headers that the rules allow, also if
 * the request is refused. A preflight request is answered before authentication, because browsers send it without
 * credentials.
 */
import type { HttpExchange } from "./exchange.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import { resourceType } from "../faults/resource-type.ts";
import type { Gateway } from "../gateway.ts";
import type { RequestHead } from "../http/request-head.ts";
import { idHeaders, sendAnswer } from "./render.ts";
import type { CrossOriginRequest } from "../cross-origin/origin-rule.ts";
import { findOriginRule, originHeaders } from "../cross-origin/origin-rule.ts";
import type { OriginRules } from "../cross-origin/origin-source.ts";
import type { Identity } from "./stages.ts";

/** Whether a request is a preflight request; no operation has the method OPTIONS. */
export const isPreflight = (head: RequestHead): boolean => head.method === "OPTIONS";

/** Answers a preflight request. Rejects with the gateway's refusals and the service's ConnectError. */
export const answerPreflight = async (
  gateway: Gateway,
  exchange: HttpExchange,
  head: RequestHead,
  identity: Identity,
): Promise<void> => {
  const request = readRequest(head);
  if (request === undefined) throw refusal(ErrorReason.PREFLIGHT_WITHOUT_ORIGIN);
  checkPreflight(head);
  const found = await findRules(gateway, identity);
  const asked = { method: request.method, resource_type: resourceType(identity.path) };
  if (found.kind !== "rules") throw refusal(unruled[found.kind], asked);
  const rule = findOriginRule(found.rules, request, true);
  if (rule === undefined) throw refusal(ErrorReason.CROSS_ORIGIN_FORBIDDEN, asked);

  const headers = { ...idHeaders(gateway, exchange, identity), ...originHeaders(rule, request) };
  sendAnswer(exchange, { status: 200, headers });
};

/**
 * Sets the headers of the first rule that allows the request on the answer. If the rules cannot be read, none are set;
 * the request itself reports what is wrong. Never rejects. Undefined: the request has no origin, as most have none.
 */
export const admitOrigin = (
  gateway: Gateway,
  exchange: HttpExchange,
  head: RequestHead,
  identity: Identity,
): Promise<void> | undefined => {
  const request = readRequest(head);
  return request && admitRequest(gateway, exchange, request, identity);
};

const admitRequest = async (
  gateway: Gateway,
  exchange: HttpExchange,
  request: CrossOriginRequest,
  identity: Identity,
): Promise<void> => {
  try {
    const found = await findRules(gateway, identity);
    const rule = found.kind === "rules" ? findOriginRule(found.rules, request, false) : undefined;
    if (rule === undefined || exchange.response.headersSent) return;
    for (const [name, value] of Object.entries(originHeaders(rule, request))) exchange.response.setHeader(name, value);
  } catch (error) {
    gateway.log.debug({ err: error, requestId: exchange.requestId }, "no rules for other origins were found");
  }
};

/** Throws MALFORMED_PREFLIGHT for a method or a header name that no request can have. */
const checkPreflight = ({ headers }: RequestHead): void => {
  const method = headers["access-control-request-method"] ?? "null";
  if (!METHODS.includes(method))
    throw refusal(ErrorReason.MALFORMED_PREFLIGHT, { problem: `Invalid Access-Control-Request-Method: ${method}` });
  const names = headers["access-control-request-headers"] ?? "";
  if (!names.split(",").every((name) => headerName.test(name.trim())))
    throw refusal(ErrorReason.MALFORMED_PREFLIGHT, { problem: `Invalid Access-Control-Request-Headers: ${names}` });
};

/** Nothing, too: a list may be empty. */
const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]*$/;

const findRules = (gateway: Gateway, identity: Identity): Promise<OriginRules> =>
  gateway.originSources.get(identity.binding.api.name)?.find(identity.path) ?? Promise.resolve({ kind: "no-rules" });

const readRequest = ({ headers, method }: RequestHead): CrossOriginRequest | undefined => {
  const { origin } = headers;
  if (origin === undefined || origin === "") return undefined;
  return {
    origin,
    method: headers["access-control-request-method"] ?? method,
    headers: headers["access-control-request-headers"],
  };
};

const unruled = {
  "no-rules": ErrorReason.CROSS_ORIGIN_NOT_CONFIGURED,
  "no-resource": ErrorReason.CROSS_ORIGIN_WITHOUT_BUCKET,
} as const;
