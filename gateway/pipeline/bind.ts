import { Protocol } from "../../gen/quartet/traits/v1/api_pb.ts";
import { throwViolations } from "../../services/kit/validation/validate.ts";
import { bindBody, bindRequestLine, streamsBody, takesBody } from "../bindings/bind-request.ts";
import { checkDocumentDigests } from "../bindings/document-digest.ts";
import type { Reading } from "../values/reading.ts";
import type { BoundHeaders } from "../bindings/request-headers.ts";
import { boundHeaders } from "../bindings/request-headers.ts";
import { replacedHeaders } from "../bindings/chunked-headers.ts";
import type { RouteMatch } from "../bindings/method-routes.ts";
import { refuseOtherSubresources } from "../bindings/subresources.ts";
import { streamedBody } from "../bindings/streamed-body.ts";
import type { HttpExchange } from "./exchange.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import type { ApiBinding } from "../api-binding.ts";
import type { RequestHead } from "../http/request-head.ts";
import { decodeBody } from "../signature/decode-body.ts";
import type { AuthenticatedRequest, BoundCall, Identity } from "./stages.ts";

/**
 * Finds the method that a request means and makes its request message. The line and the headers are bound before
 * anything of a body is taken, so that a client that waits to be asked for its body is asked only for a good request.
 * Throws GatewayRefusal, MalformedUriError, MalformedBodyError, SignatureRefusal and the service's ServiceError.
 */
export const bind = async (
  exchange: HttpExchange,
  head: RequestHead,
  identity: Identity,
  authenticated: AuthenticatedRequest,
): Promise<BoundCall> => {
  const { binding, spelling } = identity;
  const headers = boundHeaders(
    head.headers,
    head.query,
    spelling,
    replacedHeaders(head, authenticated.payload, spelling),
  );
  const { method, labels } = findMethod(binding, head, identity, headers);

  const reading: Reading = { spelling, violations: [] };
  const message = bindRequestLine(method, { labels, query: head.query, headers }, reading);
  if (streamsBody(method)) {
    if (head.headers["content-length"] === undefined && head.headers["transfer-encoding"] === undefined)
      throw refusal(ErrorReason.MISSING_CONTENT_LENGTH);
    throwViolations(binding.faults, reading.violations);
    const decoded = decodeBody(authenticated.payload, exchange.body.pieces());
    return { binding, method, message, more: streamedBody(method, decoded, reading) };
  }
  if (takesBody(method)) {
    const read = (source: AsyncIterable<Uint8Array>) => decodeBody(authenticated.payload, source);
    const body = authenticated.body ?? (await exchange.body.readWhole(read));
    if (binding.api.protocol === Protocol.REST_XML) checkDocumentDigests(headers, body);
    bindBody(method, message, body, binding.codec, reading);
  }
  throwViolations(binding.faults, reading.violations);
  return { binding, method, message, more: undefined };
};

const findMethod = (binding: ApiBinding, head: RequestHead, identity: Identity, headers: BoundHeaders): RouteMatch => {
  if (binding.api.protocol === Protocol.TARGET_JSON) return findTarget(binding, head, identity);
  const found = binding.routes.find({
    method: head.method,
    path: identity.path,
    query: head.query,
    hasHeader: (name) => headers.get(name) !== undefined,
  });
  if (binding.api.protocol === Protocol.REST_XML)
    refuseOtherSubresources(binding.subresources, head.query, found?.method);
  if (found !== undefined) return found;
  throw refusal(
    binding.routes.knowsPath(identity.path) ? ErrorReason.METHOD_NOT_ALLOWED : ErrorReason.UNKNOWN_OPERATION,
  );
};

/** `AWSEvents.PutEvents`: the word before the dot is the API's in the dialect, or the documented one. */
const findTarget = (binding: ApiBinding, head: RequestHead, identity: Identity): RouteMatch => {
  const { dialect } = identity.spelling;
  const target = String(head.headers[dialect.targetHeader] ?? "");
  const dot = target.indexOf(".");
  const prefixes = [dialect.targetPrefixes[binding.api.name], binding.api.targetPrefix];
  const method = prefixes.includes(target.slice(0, dot)) ? binding.operations.get(target.slice(dot + 1)) : undefined;
  if (method === undefined) throw refusal(ErrorReason.UNKNOWN_OPERATION);
  return { method, labels: {} };
};
