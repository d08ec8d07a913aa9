/**
 * Why a signed request is refused. In the order in which the checks are made; what arrives with the body comes last.
 *
 * Details, all optional unless said otherwise:
 * - `malformed-authorization`, `malformed-query`: `reason` (always), a sentence.
 * - `wrong-scope`, `wrong-query-scope`: `part` (`region` | `service` | `terminator` | `date`), `given`, `expected`.
 * - `unknown-access-key`, `invalid-security-token`: `accessKeyId`.
 * - `clock-skew`: `requestTime`, `serverTime`, `skewMsMax`.
 * - `not-yet-valid`, `expired`: `expires` (seconds), `expiresDate`, `serverTime`.
 * - `unsigned-headers`: `headers`, comma separated.
 * - `invalid-payload-hash`: `header`, `value`.
 * - `signature-mismatch`: `accessKeyId`, `signature` (the one given), `stringToSign`, `canonicalRequest`.
 * - `payload-mismatch`: `given`, `computed`.
 * - `chunk-too-small`: `chunk` (counted from 1), `size`.
 * - `body-length`: `expected`, `received`.
 * - `malformed-chunk`, `malformed-trailer`, `malformed-form`, `malformed-policy`, `policy-violated`: `reason` (always), a sentence.
 */
export type RefusalKind =
  | "several-forms"
  | "unsupported-algorithm"
  | "malformed-authorization"
  | "malformed-query"
  | "incomplete-query"
  | "wrong-scope"
  | "wrong-query-scope"
  | "missing-date"
  | "unknown-access-key"
  | "invalid-security-token"
  | "clock-skew"
  | "not-yet-valid"
  | "expired"
  | "unsigned-headers"
  | "missing-payload-hash"
  | "invalid-payload-hash"
  | "missing-decoded-length"
  | "signature-mismatch"
  | "payload-mismatch"
  | "chunk-signature-mismatch"
  | "chunk-too-small"
  | "body-length"
  | "malformed-chunk"
  | "malformed-trailer"
  | "malformed-form"
  | "malformed-policy"
  | "policy-expired"
  | "policy-violated";

export type RefusalDetails = Readonly<Record<string, string>>;

/** How a refusal is called by the XML API and by the JSON APIs. */
export interface RefusalFacts {
  readonly xmlCode: string;
  readonly xmlStatus: number;
  readonly jsonName: string;
  readonly jsonStatus: number;
  /** For callers; says nothing about secrets. */
  readonly message: string;
}

/** A request whose signature, or whose body's signature, is not accepted. */
export class SignatureRefusal extends Error {
  override readonly name = "SignatureRefusal";
  readonly kind: RefusalKind;
  readonly details: RefusalDetails;
  readonly facts: RefusalFacts;

  constructor(kind: RefusalKind, details: RefusalDetails = {}) {
    const facts = refusalFacts[kind];
    super(details["reason"] === undefined ? facts.message : `${facts.message} ${details["reason"]}`);
    this.kind = kind;
    this.details = details;
    this.facts = facts;
  }
}

const facts = (
  xmlCode: string,
  xmlStatus: number,
  jsonName: string,
  jsonStatus: number,
  message: string,
): RefusalFacts => ({ xmlCode, xmlStatus, jsonName, jsonStatus, message });

const incomplete = "IncompleteSignatureException";
const invalid = "InvalidSignatureException";
const unrecognized = "UnrecognizedClientException";

export const refusalFacts: Readonly<Record<RefusalKind, RefusalFacts>> = {
  "several-forms": facts(
    "InvalidArgument",
    400,
    incomplete,
    400,
    "Only one authentication mechanism is allowed: the authorization header or the query parameters.",
  ),
  "unsupported-algorithm": facts(
    "InvalidRequest",
    400,
    incomplete,
    400,
    "The authorization mechanism you have provided is not supported.",
  ),
  "malformed-authorization": facts(
    "AuthorizationHeaderMalformed",
    400,
    incomplete,
    400,
    "The authorization header that you provided is not valid.",
  ),
  "malformed-query": facts(
    "AuthorizationQueryParametersError",
    400,
    incomplete,
    400,
    "The authorization query parameters that you provided are not valid.",
  ),
  "incomplete-query": facts(
    "AccessDenied",
    403,
    incomplete,
    400,
    "Query-string authentication requires one Signature, one Expires and one access key id.",
  ),
  "wrong-scope": facts(
    "AuthorizationHeaderMalformed",
    400,
    invalid,
    403,
    "The credential scope of the signature is wrong.",
  ),
  "wrong-query-scope": facts(
    "AuthorizationQueryParametersError",
    400,
    invalid,
    403,
    "The credential scope of the signature is wrong.",
  ),
  "missing-date": facts("AccessDenied", 403, incomplete, 400, "A signed request requires a valid date header."),
  "unknown-access-key": facts(
    "InvalidAccessKeyId",
    403,
    unrecognized,
    403,
    "The access key id you provided does not exist in our records.",
  ),
  "invalid-security-token": facts(
    "InvalidToken",
    400,
    unrecognized,
    403,
    "The security token included in the request is invalid.",
  ),
  "clock-skew": facts(
    "RequestTimeTooSkewed",
    403,
    invalid,
    403,
    "The difference between the request time and the current time is too large.",
  ),
  "not-yet-valid": facts("AccessDenied", 403, invalid, 403, "Request is not yet valid"),
  expired: facts("AccessDenied", 403, invalid, 403, "Request has expired"),
  "unsigned-headers": facts(
    "AccessDenied",
    403,
    invalid,
    403,
    "There were headers present in the request which were not signed",
  ),
  "missing-payload-hash": facts(
    "InvalidRequest",
    400,
    incomplete,
    400,
    "The header with the hash of the payload is missing.",
  ),
  "invalid-payload-hash": facts(
    "InvalidArgument",
    400,
    incomplete,
    400,
    "The header with the hash of the payload must be UNSIGNED-PAYLOAD, the name of a streaming form, or a valid SHA-256 value.",
  ),
  "missing-decoded-length": facts(
    "MissingContentLength",
    411,
    incomplete,
    400,
    "A chunked payload needs the header with its decoded length.",
  ),
  "signature-mismatch": facts(
    "SignatureDoesNotMatch",
    403,
    invalid,
    403,
    "The request signature we calculated does not match the signature you provided. Check your key and signing method.",
  ),
  "payload-mismatch": facts(
    "XAmzContentSHA256Mismatch",
    400,
    invalid,
    403,
    "The provided hash of the payload does not match what was computed.",
  ),
  "chunk-signature-mismatch": facts(
    "SignatureDoesNotMatch",
    403,
    invalid,
    403,
    "The signature of a chunk of the payload does not match.",
  ),
  "chunk-too-small": facts(
    "InvalidChunkSizeError",
    400,
    invalid,
    400,
    "Only the last chunk is allowed to have a size less than 8192 bytes",
  ),
  "body-length": facts(
    "IncompleteBody",
    400,
    invalid,
    400,
    "The request body does not have the declared number of decoded bytes.",
  ),
  "malformed-chunk": facts("InvalidRequest", 400, invalid, 400, "The chunked payload is not well-formed."),
  "malformed-trailer": facts(
    "MalformedTrailerError",
    400,
    invalid,
    400,
    "The request contained trailing data that was not well-formed or did not conform to our published schema.",
  ),
  "malformed-form": facts(
    "InvalidArgument",
    400,
    incomplete,
    400,
    "The form does not have the fields of a signed form.",
  ),
  "malformed-policy": facts("InvalidPolicyDocument", 400, incomplete, 400, "Invalid Policy:"),
  "policy-expired": facts("AccessDenied", 403, invalid, 403, "Invalid according to Policy: Policy expired."),
  "policy-violated": facts("AccessDenied", 403, invalid, 403, "Invalid according to Policy:"),
};
