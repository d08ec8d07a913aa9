import { Protocol } from "../../gen/quartet/traits/v1/api_pb.ts";
import type { HttpExchange } from "./exchange.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import type { Gateway } from "../gateway.ts";
import type { RequestHead } from "../http/request-head.ts";
import { isItsOwnCanonicalPath } from "../signature/canonical.ts";
import { verifyRequest } from "../signature/verify.ts";
import type { AuthenticatedRequest, Identity } from "./stages.ts";

/**
 * Verifies a request's signature. Clients of the JSON APIs sign the hash of a body without telling it, so there the body
 * is read first; a request without any signature is refused there, and so is a path whose signature would do for others:
 * it is signed without dots and empty segments, and routed as it is. Object storage serves the public too, and its
 * bodies stay unread. Throws SignatureRefusal and GatewayRefusal.
 */
export const authenticate = async (
  gateway: Gateway,
  exchange: HttpExchange,
  head: RequestHead,
  identity: Identity,
): Promise<AuthenticatedRequest> => {
  const { dialect } = identity.spelling;
  const { api } = identity.binding;
  const isXml = api.protocol === Protocol.REST_XML;
  const isSigned =
    head.headers.authorization !== undefined || head.query.has(`${dialect.signature.queryPrefix}Signature`);
  if (!isXml && !isSigned) throw refusal(ErrorReason.MISSING_AUTHENTICATION);
  if (!isXml && !isItsOwnCanonicalPath(head.rawPath)) throw refusal(ErrorReason.NONCANONICAL_PATH);

  const body = isXml ? undefined : await exchange.body.readWhole();
  const verified = verifyRequest({
    method: head.method,
    rawPath: head.rawPath,
    query: head.query,
    rawHeaders: head.rawHeaders,
    brand: dialect.signature,
    accessKeys: gateway.accessKeys,
    clock: gateway.clock,
    signingNames: dialect.signingNames[api.name] ?? [],
    region: gateway.region,
    resource: isXml ? identity.path : undefined,
    doubleEncodePath: !isXml,
    body,
  });
  const { remoteAddress } = exchange.request.socket;
  const caller = remoteAddress === undefined ? verified.caller : { ...verified.caller, sourceIp: remoteAddress };
  return { caller, payload: verified.payload, body };
};
