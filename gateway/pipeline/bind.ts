import type { Message } from "@bufbuild/protobuf";

import { Protocol } from "../../gen/quartet/traits/v1/api_pb.ts";
import type { MethodContract } from "../../services/kit/contract/contract.ts";
import type { ServiceError } from "../../services/kit/faults/service-error.ts";
import type { ApiBinding } from "../api-binding.ts";
import { bindBody, bindRequestLine, streamsBody, takesBody } from "../bindings/bind-request.ts";
import { replacedHeaders } from "../bindings/chunked-headers.ts";
import { checkDocumentDigests } from "../bindings/document-digest.ts";
import type { MethodMatch, RouteQuestion } from "../bindings/method-routes.ts";
import { refuseRepeated } from "../bindings/repeated-parameters.ts";
import { boundHeaders } from "../bindings/request-headers.ts";
import type { StreamedBody } from "../bindings/streamed-body.ts";
import { streamedBody, wholeBody } from "../bindings/streamed-body.ts";
import { refuseOtherSubresources } from "../bindings/subresources.ts";
import type { Dialect } from "../dialects/dialect.ts";
import { resourceType } from "../faults/resource-type.ts";
import { throwMisread } from "../faults/violations.ts";
import type { RequestHead } from "../http/request-head.ts";
import { ErrorReason, malformedBody, refusal } from "../refusal.ts";
import { bindQuery } from "./bind-query.ts";
import type { DecodedBody } from "../signature/decode-body.ts";
import { decodeBody, decodeWhole } from "../signature/decode-body.ts";
import type { Payload } from "../signature/payload.ts";
import type { Reading } from "../values/reading.ts";
import type { HttpExchange } from "./exchange.ts";
import type { AuthenticatedRequest, BoundCall, Identity } from "./stages.ts";

/**
 * Finds the method of a request and creates its request message. The request line and the headers are bound before
 * anything of the body is read, so that only a good request is answered with `100 Continue`. Whether an anonymous
 * caller could be allowed to send a document is asked before it is read: `ask` rejects with the refusal. Rejects with
 * the gateway's refusals and with the service's refusal of invalid input.
 */
export const bind = async (
  exchange: HttpExchange,
  head: RequestHead,
  identity: Identity,
  authenticated: AuthenticatedRequest,
  ask: (bound: BoundCall) => Promise<void>,
): Promise<BoundCall> => {
  const { binding, spelling } = identity;
  const { payload, caller } = authenticated;
  if (binding.api.protocol === Protocol.QUERY) return bindQuery(head, identity, authenticated);
  const headers = boundHeaders(head, spelling, replacedHeaders(head, payload, spelling));
  const hasHeader = (name: string): boolean => headers.get(name) !== undefined;
  const { method, labels } =
    binding.api.protocol === Protocol.TARGET_JSON
      ? findTarget(binding, head, spelling.dialect)
      : matchRoute(binding, { method: head.method, path: identity.path, query: head.query, hasHeader });

  refuseRepeated(method, head.query, spelling.dialect);

  const reading: Reading = { spelling, violations: [] };
  const message = bindRequestLine(method, { labels, query: head.query, headers }, reading);
  if (streamsBody(method)) {
    if (head.headers["content-length"] === undefined && head.headers["transfer-encoding"] === undefined)
      throw refusal(ErrorReason.MISSING_CONTENT_LENGTH);
    throwMisread(binding, reading, method, message);
    if (!exchange.body.isSmall || method.desc.methodKind !== "client_streaming")
      return streamedCall(binding, method, message, openerOf(exchange, payload), shapeOf(head, payload), reading);
    const { bytes, trailers } = decodeWhole(payload, await exchange.body.readSmall());
    return { binding, method, message, more: wholeBody(method, message, bytes, trailers, reading) };
  }
  if (takesBody(method)) {
    if (caller.isAnonymous && !exchange.body.isAbsent) await ask({ binding, method, message, more: undefined });
    const read = (source: AsyncIterable<Uint8Array>) => decodeBody(payload, source);
    const body = authenticated.body ?? (await exchange.body.readWhole(read, !caller.isAnonymous));
    if (binding.api.protocol === Protocol.REST_XML) await checkDocumentDigests(method, headers, body);
    const ofHead = reading.violations.length;
    bindBody(method, message, body, binding.codec, reading);
    if (binding.api.protocol === Protocol.REST_XML && ofHead === 0 && reading.violations.length > 0)
      throw malformedBody(otherSchema);
  }
  throwMisread(binding, reading, method, message);
  return { binding, method, message, more: undefined };
};

/** What the public service says of every document that has a value of another type, or one that is no value. */
const otherSchema = "The XML you provided was not well-formed or did not validate against our published schema";

/**
 * Finds the method of a route. Throws HEADER_NOT_OFFERED, UNKNOWN_OPERATION, METHOD_NOT_ALLOWED and
 * SUBRESOURCE_NOT_OFFERED.
 */
export const matchRoute = (binding: ApiBinding, question: RouteQuestion): MethodMatch => {
  const { routes, subresources } = binding;
  if (routes.isBesideFixedPaths(question)) throw refusal(ErrorReason.HEADER_NOT_OFFERED);
  const found = routes.find(question);
  if (binding.api.protocol === Protocol.REST_XML)
    refuseOtherSubresources(subresources, question.query, question.method, found?.method);
  if (found !== undefined) return found;
  if (!routes.knowsPath(question.path)) throw refusal(ErrorReason.UNKNOWN_OPERATION);
  throw methodNotAllowed(question);
};

/** The refusal of a method that a path does not have. */
export const methodNotAllowed = ({ method, path }: Pick<RouteQuestion, "method" | "path">): ServiceError =>
  refusal(ErrorReason.METHOD_NOT_ALLOWED, { method, resource_type: resourceType(path) });

/** The call of a method that streams its body. Throws if a member is not of its type. */
export const streamedCall = (
  binding: ApiBinding,
  method: MethodContract,
  message: Message,
  openBody: () => DecodedBody,
  shape: Pick<StreamedBody, "sizeBytes" | "hasTrailers">,
  reading: Reading,
): BoundCall => {
  throwMisread(binding, reading, method, message);
  return { binding, method, message, more: streamedBody(method, openBody, shape, reading) };
};

/** What the headers say of a body: its size after decoding, if they do, and whether trailers follow it. */
const shapeOf = ({ headers }: RequestHead, payload: Payload): Pick<StreamedBody, "sizeBytes" | "hasTrailers"> => {
  if (payload.kind === "chunked") return { sizeBytes: payload.decodedLength, hasTrailers: payload.hasTrailer };
  const isKnown = headers["transfer-encoding"] === undefined;
  return { sizeBytes: isKnown ? Number(headers["content-length"]) : undefined, hasTrailers: false };
};

/** Opens a body at once, or not before it is asked for if its client waits to be told that it is wanted. */
const openerOf = ({ body }: HttpExchange, payload: Payload): (() => DecodedBody) => {
  const open = (): DecodedBody => decodeBody(payload, body.lentPieces());
  if (body.isAwaited()) return open;
  const opened = open();
  return () => opened;
};

/** `AWSEvents.PutEvents`: the part before the dot is the API's prefix in the dialect, or the documented one. */
const findTarget = (binding: ApiBinding, head: RequestHead, dialect: Dialect): MethodMatch => {
  const target = String(head.headers[dialect.targetHeader] ?? "");
  const dot = target.indexOf(".");
  const prefixes = [dialect.targetPrefixes[binding.api.name], binding.api.targetPrefix];
  const method = prefixes.includes(target.slice(0, dot)) ? binding.operations.get(target.slice(dot + 1)) : undefined;
  if (method === undefined) throw refusal(ErrorReason.UNKNOWN_OPERATION);
  return { method, labels: {} };
};
