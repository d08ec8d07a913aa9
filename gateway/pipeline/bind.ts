import type { Message } from "@bufbuild/protobuf";

import { Protocol } from "../../gen/quartet/traits/v1/api_pb.ts";
import type { MethodContract } from "../../services/kit/contract/contract.ts";
import { throwViolations } from "../../services/kit/validation/validate.ts";
import type { Believed } from "./authenticate.ts";
import { bindBody, bindParts, streamsBody, takesBody } from "../bindings/bind-request.ts";
import { checkDocumentDigests } from "../bindings/document-digest.ts";
import type { Reading } from "../bindings/reading.ts";
import type { BoundHeaders } from "../bindings/request-headers.ts";
import { boundHeaders } from "../bindings/request-headers.ts";
import { requestOverrides } from "../bindings/chunked-headers.ts";
import type { Match } from "../bindings/route-table.ts";
import { refuseUnoffered } from "../bindings/subresources.ts";
import { streamedBody } from "../bindings/streamed-body.ts";
import type { Exchange } from "./exchange.ts";
import { GatewayRefusal } from "../faults/gateway-refusal.ts";
import type { Gateway } from "../gateway.ts";
import { bindingOf } from "../gateway.ts";
import type { Identity, RequestHead } from "./identify.ts";
import type { ServiceBinding } from "../service-binding.ts";
import { decodeBody } from "../signature/decode-body.ts";

/** A call that a request stands for. */
export interface BoundCall {
  readonly binding: ServiceBinding;
  readonly method: MethodContract;
  /** The request; of a method that streams its request, the first message of the stream. */
  readonly message: Message;
  /** The messages after the first, of a method that streams its request. */
  readonly more: AsyncIterable<Message> | undefined;
}

/**
 * Finds the method that a request means and makes its request message. The line and the headers are bound before
 * anything of a body is taken, so that a client that waits to be asked for its body is asked only for a good request.
 * Throws GatewayRefusal, MalformedUriError, MalformedBodyError, SignatureRefusal and the service's ServiceError.
 */
export const bind = async (
  gateway: Gateway,
  exchange: Exchange,
  head: RequestHead,
  identity: Identity,
  believed: Believed,
): Promise<BoundCall> => {
  const { spelling } = identity;
  const binding = bindingOf(gateway, identity);
  const headers = boundHeaders(head.headers, head.query, spelling, requestOverrides(head, believed.payload, spelling));
  const { method, labels } = findMethod(binding, head, identity, headers);

  const reading: Reading = { spelling, violations: [] };
  const message = bindParts(method, { labels, query: head.query, headers }, reading);
  if (streamsBody(method)) {
    if (head.headers["content-length"] === undefined && head.headers["transfer-encoding"] === undefined)
      throw new GatewayRefusal("missing-content-length");
    throwViolations(binding.faults, reading.violations);
    const decoded = decodeBody(believed.payload, exchange.body.pieces());
    return { binding, method, message, more: streamedBody(method, decoded, reading) };
  }
  if (takesBody(method)) {
    const read = (source: AsyncIterable<Uint8Array>) => decodeBody(believed.payload, source);
    const body = believed.body ?? (await exchange.body.readWhole(read));
    if (binding.api.protocol === Protocol.REST_XML) checkDocumentDigests(headers, body);
    bindBody(method, message, body, binding.codec, reading);
  }
  throwViolations(binding.faults, reading.violations);
  return { binding, method, message, more: undefined };
};

const findMethod = (binding: ServiceBinding, head: RequestHead, identity: Identity, headers: BoundHeaders): Match => {
  if (binding.api.protocol === Protocol.TARGET_JSON) return findTarget(binding, head, identity);
  const found = binding.routes.find({
    method: head.method,
    path: identity.path,
    query: head.query,
    hasHeader: (name) => headers.get(name) !== undefined,
  });
  if (binding.api.protocol === Protocol.REST_XML) refuseUnoffered(head.query, found?.method);
  if (found !== undefined) return found;
  throw new GatewayRefusal(binding.routes.knowsPath(identity.path) ? "method-not-allowed" : "unknown-operation");
};

/** `AWSEvents.PutEvents`: the word before the dot is the API's in the dialect, or the documented one. */
const findTarget = (binding: ServiceBinding, head: RequestHead, identity: Identity): Match => {
  const { dialect } = identity.spelling;
  const target = String(head.headers[dialect.targetHeader] ?? "");
  const dot = target.indexOf(".");
  const prefixes = [dialect.targetPrefixes[binding.api.name], binding.api.targetPrefix];
  const method = prefixes.includes(target.slice(0, dot)) ? binding.operations.get(target.slice(dot + 1)) : undefined;
  if (method === undefined) throw new GatewayRefusal("unknown-operation");
  return { method, labels: {} };
};
