import { Protocol } from "../../gen/quartet/traits/v1/api_pb.ts";
import type { HttpFault } from "./http-fault.ts";

/** Why the gateway itself refuses a request, before any service saw it. */
export type RefusalKind =
  | "malformed-uri"
  | "uri-too-long"
  | "malformed-body"
  | "body-too-large"
  | "invalid-digest"
  | "invalid-checksum"
  | "bad-digest"
  | "missing-content-length"
  | "slow-body"
  | "incomplete-body"
  | "no-form"
  | "malformed-form"
  | "form-too-large"
  | "entity-too-large"
  | "entity-too-small"
  | "missing-authentication"
  | "unknown-operation"
  | "method-not-allowed"
  | "not-offered"
  | "preflight-without-origin"
  | "cross-origin-forbidden";

/** A refusal of the gateway itself; its message is for the caller. */
export class GatewayRefusal extends Error {
  override readonly name = "GatewayRefusal";
  readonly kind: RefusalKind;

  constructor(kind: RefusalKind, message: string = refusals[kind].message) {
    super(message);
    this.kind = kind;
  }
}

interface RefusalWords {
  readonly xml: readonly [name: string, status: number];
  readonly json: readonly [name: string, status: number];
  readonly message: string;
}

const words = (xml: readonly [string, number], json: readonly [string, number], message: string): RefusalWords => ({
  xml,
  json,
  message,
});

const serialization = ["SerializationException", 400] as const;

const refusals: Readonly<Record<RefusalKind, RefusalWords>> = {
  "malformed-uri": words(["InvalidURI", 400], serialization, "Couldn't parse the specified URI."),
  "uri-too-long": words(["RequestURITooLong", 414], ["RequestUriTooLongException", 414], "The URI is too long."),
  "malformed-body": words(["MalformedXML", 400], serialization, "The body is not well-formed."),
  "body-too-large": words(
    ["MaxMessageLengthExceeded", 400],
    ["RequestEntityTooLargeException", 413],
    "Your request was too big.",
  ),
  "invalid-digest": words(["InvalidDigest", 400], serialization, "The Content-MD5 you specified is not valid."),
  "invalid-checksum": words(["InvalidRequest", 400], serialization, "The value of a checksum header is not valid."),
  "bad-digest": words(["BadDigest", 400], serialization, "A digest you specified did not match what we received."),
  "missing-content-length": words(
    ["MissingContentLength", 411],
    ["MissingContentLengthException", 411],
    "You must provide the Content-Length HTTP header.",
  ),
  "slow-body": words(
    ["RequestTimeout", 400],
    ["RequestTimeoutException", 408],
    "Your socket connection to the server was not read from or written to within the timeout period.",
  ),
  "incomplete-body": words(
    ["IncompleteBody", 400],
    ["SerializationException", 400],
    "You did not provide the number of bytes specified by the Content-Length HTTP header.",
  ),
  "no-form": words(
    ["PreconditionFailed", 412],
    serialization,
    "Bucket POST must be of the enclosure-type multipart/form-data",
  ),
  "malformed-form": words(
    ["MalformedPOSTRequest", 400],
    serialization,
    "The body of your POST request is not well-formed multipart/form-data.",
  ),
  "form-too-large": words(
    ["MaxPostPreDataLengthExceeded", 400],
    serialization,
    "Your POST request fields preceding the upload file were too large.",
  ),
  "entity-too-large": words(
    ["EntityTooLarge", 400],
    serialization,
    "Your proposed upload exceeds the maximum allowed object size.",
  ),
  "entity-too-small": words(
    ["EntityTooSmall", 400],
    serialization,
    "Your proposed upload is smaller than the minimum allowed object size.",
  ),
  "missing-authentication": words(
    ["AccessDenied", 403],
    ["MissingAuthenticationTokenException", 403],
    "Missing Authentication Token",
  ),
  "unknown-operation": words(
    ["MethodNotAllowed", 405],
    ["UnknownOperationException", 404],
    "The operation that was asked for is not known.",
  ),
  "method-not-allowed": words(
    ["MethodNotAllowed", 405],
    ["UnknownOperationException", 404],
    "The specified method is not allowed against this resource.",
  ),
  "not-offered": words(
    ["NotImplemented", 501],
    ["UnknownOperationException", 404],
    "A parameter you provided implies functionality that is not implemented.",
  ),
  "preflight-without-origin": words(
    ["BadRequest", 400],
    ["BadRequestException", 400],
    "Insufficient information. Origin request header needed.",
  ),
  "cross-origin-forbidden": words(
    ["AccessForbidden", 403],
    ["AccessDeniedException", 403],
    "Scripts of this origin are not allowed to send this request.",
  ),
};

/** Words a refusal of the gateway for a protocol. */
export const gatewayFault = (refusal: GatewayRefusal, protocol: Protocol): HttpFault => {
  const facts = refusals[refusal.kind];
  const [name, status] = protocol === Protocol.REST_XML ? facts.xml : facts.json;
  return {
    name,
    publicName: name,
    status: targetStatus(name, status, protocol),
    message: refusal.message,
    members: [],
    headers: {},
  };
};

/** The API with a target header tells these with 400, where the others have a status of their own. */
export const targetStatus = (name: string, status: number, protocol: Protocol): number =>
  protocol === Protocol.TARGET_JSON && (name === "UnknownOperationException" || name === "AccessDeniedException")
    ? 400
    : status;
