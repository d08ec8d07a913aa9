/**
 * Answers browsers that ask for scripts of other origins. A request with an `Origin` header gets the headers that the
 * rules allow, whatever its answer turns out to be; a preflight request is answered here, before anybody is
 * authenticated, because browsers send none of their credentials with it.
 */
import { Protocol } from "../../gen/quartet/traits/v1/api_pb.ts";
import type { HttpExchange } from "./exchange.ts";
import { GatewayRefusal } from "../faults/gateway-refusal.ts";
import type { Gateway } from "../gateway.ts";
import { sendWhole, settleUnread } from "../http/send.ts";
import type { RequestHead } from "../http/request-head.ts";
import { answerContext } from "./render.ts";
import type { CrossOriginRequest } from "../cross-origin/origin-rule.ts";
import { findOriginRule, originHeaders } from "../cross-origin/origin-rule.ts";
import type { OriginRules } from "../cross-origin/origin-source.ts";
import type { Identity } from "./stages.ts";

/** Whether a request only asks what others may do. The JSON APIs have no resource of their own that takes OPTIONS. */
export const isPreflight = (head: RequestHead): boolean => head.method === "OPTIONS";

/** Answers a preflight request. Throws GatewayRefusal, MalformedUriError and the service's ConnectError. */
export const answerPreflight = async (
  gateway: Gateway,
  exchange: HttpExchange,
  head: RequestHead,
  identity: Identity,
): Promise<void> => {
  const request = readRequest(head);
  if (request === undefined) throw new GatewayRefusal("preflight-without-origin");
  const found = await findRules(gateway, identity);
  if (found.kind !== "rules") throw forbidden(identity, words[found.kind]);
  const rule = findOriginRule(found.rules, request, true);
  if (rule === undefined) throw forbidden(identity, noRuleFits);

  const { codec } = identity.binding;
  const headers = {
    ...codec.identityHeaders(answerContext(gateway, exchange, identity)),
    ...originHeaders(rule, request),
  };
  settleUnread(exchange.request, exchange.response, exchange.body);
  sendWhole(exchange.response, { status: 200, headers }, undefined);
};

/**
 * Puts the headers of the rules on the answer to come, as far as a rule fits. Rules that cannot be found out leave the
 * answer as it is: the request itself will tell what is wrong. Never rejects.
 */
export const admitOrigin = async (
  gateway: Gateway,
  exchange: HttpExchange,
  head: RequestHead,
  identity: Identity,
): Promise<void> => {
  const request = readRequest(head);
  if (request === undefined) return;
  try {
    const found = await findRules(gateway, identity);
    const rule = found.kind === "rules" ? findOriginRule(found.rules, request, false) : undefined;
    if (rule === undefined || exchange.response.headersSent) return;
    for (const [name, value] of Object.entries(originHeaders(rule, request))) exchange.response.setHeader(name, value);
  } catch (error) {
    gateway.log.debug({ err: error, requestId: exchange.requestId }, "no rules for other origins were found");
  }
};

const findRules = (gateway: Gateway, identity: Identity): Promise<OriginRules> =>
  gateway.originSources.get(identity.binding.api.name)?.find(identity.path) ?? Promise.resolve({ kind: "no-rules" });

const readRequest = ({ headers, method }: RequestHead): CrossOriginRequest | undefined => {
  const { origin } = headers;
  if (origin === undefined) return undefined;
  return {
    origin,
    method: headers["access-control-request-method"] ?? method,
    headers: headers["access-control-request-headers"],
  };
};

const words = {
  "no-rules": "CORSResponse: CORS is not enabled for this bucket.",
  "no-resource": "CORSResponse: Bucket not found",
} as const;

const noRuleFits =
  "CORSResponse: This CORS request is not allowed. This is usually because the evaluation of Origin, request method / " +
  "Access-Control-Request-Method or Access-Control-Request-Headers are not whitelisted by the resource's CORS spec.";

/** Only object storage has rules that a caller can change, so only there is it said which of them is missing. */
const forbidden = ({ binding }: Identity, message: string): GatewayRefusal =>
  binding.api.protocol === Protocol.REST_XML
    ? new GatewayRefusal("cross-origin-forbidden", message)
    : new GatewayRefusal("cross-origin-forbidden");
