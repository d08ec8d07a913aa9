import type { ErrorReason } from "../../../gen/quartet/gateway/v1/error_reason_pb.ts";
import type { Requests } from "./requests.ts";
import { list, readers } from "./requests.ts";
import type { TestResponse } from "./signing-client.ts";

/** Sends the request that is refused, to a gateway, to one that waits for little, or to one that is full. */
type Ask = (to: Requests, slow: Requests, full: Requests) => Promise<TestResponse>;
export type Row = readonly [
  reason: keyof typeof ErrorReason,
  request: Ask,
  status: number,
  name: string,
  message: string,
];

/** The refusals over JSON. */
export const overJson: readonly Row[] = [
  // reason, request, status, name, message; in the order in which the gateway checks
  [
    "MALFORMED_URI",
    (to) => to.json({ method: "POST", target: "/readers/%FF", body: "{}" }),
    400,
    "SerializationException",
    "Couldn't parse the specified URI.",
  ],
  ["BUSY", (_to, _slow, busy) => busy.json(readers), 503, "ThrottlingException", "Please reduce your request rate."],
  [
    "INVALID_HOST",
    (to) => to.unsigned({ method: "POST", target: "/customer-profile/readers" }, { host: "a/b" }),
    400,
    "ValidationException",
    "The Host header must name one host, and the target no other.",
  ],
  [
    "PREFLIGHT_WITHOUT_ORIGIN",
    (to) => to.unsigned({ method: "OPTIONS", target: "/customer-profile" }),
    400,
    "BadRequestException",
    "Insufficient information. Origin request header needed.",
  ],
  [
    "CROSS_ORIGIN_NOT_CONFIGURED",
    (to) => to.preflight("/customer-profile/readers"),
    403,
    "AccessDeniedException",
    "Scripts of this origin are not allowed to send this request.",
  ],
  [
    "CROSS_ORIGIN_NOT_CONFIGURED",
    (to) => to.preflight("/event-bus"),
    400,
    "AccessDeniedException",
    "Scripts of this origin are not allowed to send this request.",
  ],
  [
    "MISSING_AUTHENTICATION",
    (to) => to.unsigned({ method: "GET", target: "/customer-profile/readers" }),
    403,
    "MissingAuthenticationTokenException",
    "Missing Authentication Token",
  ],
  [
    "NONCANONICAL_PATH",
    (to) =>
      to.unsigned(
        { method: "GET", target: "/customer-profile/./readers" },
        to.fixture.sign("customer-profile", "amz", list),
      ),
    400,
    "SerializationException",
    "The path has a segment that is empty or made of dots alone.",
  ],
  [
    "WRONG_SCOPE",
    (to) => to.json(readers, [/us-east-1/, "eu-west-1"]),
    403,
    "InvalidSignatureException",
    'The credential scope of the signature is wrong: its region is "eu-west-1", expected is us-east-1.',
  ],
  [
    "UNKNOWN_ACCESS_KEY",
    (to) => to.json(readers, [/QKIA\w+/, "QKIANOBODY"]),
    403,
    "UnrecognizedClientException",
    "The access key id you provided does not exist in our records.",
  ],
  [
    "MISSING_DATE",
    (to) => to.json(readers, [/never/, ""], { "x-amz-date": "today" }),
    400,
    "IncompleteSignatureException",
    "A signed request requires a valid date header.",
  ],
  [
    "SIGNATURE_MISMATCH",
    (to) => to.json(readers, [/Signature=..../, "Signature=0000"]),
    403,
    "InvalidSignatureException",
    "The request signature we calculated does not match the signature you provided. Check your key and signing method.",
  ],
  [
    "UNKNOWN_OPERATION",
    (to) => to.json({ method: "GET", target: "/writers" }),
    404,
    "UnknownOperationException",
    "The operation that was asked for is not known.",
  ],
  [
    "UNKNOWN_OPERATION",
    (to) => to.bus("/", { "x-amz-target": "AWSEvents.PutNothing" }),
    400,
    "UnknownOperationException",
    "The operation that was asked for is not known.",
  ],
  [
    "METHOD_NOT_ALLOWED",
    (to) => to.json({ method: "PATCH", target: "/readers" }),
    404,
    "UnknownOperationException",
    "The specified method is not allowed against this resource.",
  ],
  [
    "REPEATED_PARAMETER",
    (to) => to.json({ method: "GET", target: "/readers?a=1&a=2" }),
    400,
    "SerializationException",
    'The query parameter "a" is given more than once.',
  ],
  [
    "BODY_TOO_LARGE",
    (to) => to.json({ method: "POST", target: "/readers/Ada", body: "x".repeat(4 * 1024 * 1024 + 1) }),
    413,
    "RequestEntityTooLargeException",
    "Your request was too big.",
  ],
  [
    "MALFORMED_BODY",
    (to) => to.json({ method: "POST", target: "/readers/Ada", body: "{" }),
    400,
    "SerializationException",
    "The body is not well-formed JSON.",
  ],
  [
    "UNSUPPORTED_MEDIA_TYPE",
    (to) => to.bus("/event-bus/cloudevents", { "content-type": "application/json" }),
    415,
    "UnsupportedMediaTypeException",
    "The content type application/json is not that of CloudEvents in JSON, and there is no header ce-specversion.",
  ],
];
