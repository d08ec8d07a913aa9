import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { ErrorReason } from "../../gen/quartet/gateway/v1/error_reason_pb.ts";
import { Protocol } from "../../gen/quartet/traits/v1/api_pb.ts";
import { parseXml } from "../../gateway/codecs/xml-tree.ts";
import { gatewayFaults } from "../../gateway/refusal.ts";
import { faultNaming } from "../../services/kit/faults/service-error.ts";
import type { Fixture } from "./support/fixture.ts";
import { dialects, startFixture } from "./support/fixture.ts";
import { boundary, formPart, signedFields, signPolicy } from "./support/form.ts";
import type { Row } from "./support/refusal-rows.ts";
import { overJson } from "./support/refusal-rows.ts";
import { book, list, onlyReaders, requestsTo, rules } from "./support/requests.ts";

let fixture: Fixture;
let impatient: Fixture;
let full: Fixture;
beforeAll(async () => {
  fixture = await startFixture({}, { originSources: new Map([["object-storage", onlyReaders]]) });
  impatient = await startFixture({ stallTimeoutMs: 50 });
  full = await startFixture({ requestsMax: 0 });
});
afterAll(() => Promise.all([fixture, impatient, full].map((each) => each.stop())));
const versionTwo = "AWSAccessKeyId=QKIATESTTESTTESTTEST&Signature=AAAA";

const overXml: readonly Row[] = [
  // reason, request, status, name, message; in the order in which the gateway checks
  [
    "MALFORMED_URI",
    (to) => to.signed({ method: "GET", target: "/novels/%FF" }),
    400,
    "InvalidURI",
    "Couldn't parse the specified URI.",
  ],
  [
    "URI_TOO_LONG",
    (to) => to.signed({ method: "GET", target: `/novels/${"a".repeat(17_000)}` }),
    414,
    "RequestURITooLong",
    "The URI is too long.",
  ],
  [
    "BUSY",
    (_to, _slow, busy) => busy.unsigned({ method: "GET", target: "/novels" }),
    503,
    "SlowDown",
    "Please reduce your request rate.",
  ],
  [
    "INVALID_HOST",
    (to) => to.unsigned({ method: "GET", target: "/novels" }, { host: "a b" }),
    400,
    "InvalidRequest",
    "The Host header must name one host, and the target no other.",
  ],
  [
    "PREFLIGHT_WITHOUT_ORIGIN",
    (to) => to.unsigned({ method: "OPTIONS", target: "/novels" }),
    400,
    "BadRequest",
    "Insufficient information. Origin request header needed.",
  ],
  [
    "MALFORMED_PREFLIGHT",
    (to) => to.unsigned({ method: "OPTIONS", target: "/novels" }, { origin: "https://ada.example" }),
    400,
    "BadRequest",
    "Invalid Access-Control-Request-Method: null",
  ],
  [
    "CROSS_ORIGIN_NOT_CONFIGURED",
    (_to, slow) => slow.preflight("/novels"),
    403,
    "AccessForbidden",
    "CORSResponse: CORS is not enabled for this bucket.",
  ],
  [
    "CROSS_ORIGIN_WITHOUT_BUCKET",
    (to) => to.preflight("/plays"),
    403,
    "AccessForbidden",
    "CORSResponse: Bucket not found",
  ],
  [
    "CROSS_ORIGIN_FORBIDDEN",
    (to) => to.preflight("/novels"),
    403,
    "AccessForbidden",
    "CORSResponse: This CORS request is not allowed. This is usually because the evaluation of Origin, request method / Access-Control-Request-Method or Access-Control-Request-Headers are not whitelisted by the resource's CORS spec.",
  ],
  [
    "SEVERAL_SIGNATURES",
    (to) => to.changed({ ...list, target: "/novels?X-Amz-Signature=00" }, {}),
    400,
    "InvalidArgument",
    "Only one authentication mechanism is allowed: the authorization header or the query parameters.",
  ],
  [
    "UNSUPPORTED_ALGORITHM",
    (to) => to.authorized("AWS4-HMAC-SHA256", "AWS4-HMAC-SHA512"),
    400,
    "InvalidArgument",
    "Unsupported Authorization Type",
  ],
  [
    "SUPERSEDED_SIGNATURE",
    (to) => to.authorized(/^AWS4-.*/, "AWS QKIATESTTESTTESTTEST:c2lnbmF0dXJl"),
    400,
    "InvalidRequest",
    "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.",
  ],
  [
    "MALFORMED_AUTHORIZATION",
    (to) => to.authorized("SignedHeaders=", "Signed="),
    400,
    "AuthorizationHeaderMalformed",
    "The authorization header that you provided is not valid. It must have a SignedHeaders.",
  ],
  [
    "MALFORMED_SIGNATURE_QUERY",
    (to) => to.presigned({ "X-Amz-Expires": "0" }),
    400,
    "AuthorizationQueryParametersError",
    "The authorization query parameters that you provided are not valid. X-Amz-Expires must be a number of seconds from 1 to 604800.",
  ],
  [
    "INCOMPLETE_SIGNATURE_QUERY",
    (to) => to.unsigned({ method: "GET", target: `/novels?${versionTwo}` }),
    403,
    "AccessDenied",
    "Query-string authentication requires one Signature, one Expires and one access key id.",
  ],
  [
    "WRONG_SCOPE",
    (to) => to.authorized("us-east-1", "eu-west-1"),
    400,
    "AuthorizationHeaderMalformed",
    'The credential scope of the signature is wrong: its region is "eu-west-1", expected is us-east-1.',
  ],
  [
    "WRONG_QUERY_SCOPE",
    (to) => to.presigned({ "X-Amz-Date": "20260103T030405Z" }),
    400,
    "AuthorizationQueryParametersError",
    'The credential scope of the signature is wrong: its date is "20260102", expected is 20260103.',
  ],
  [
    "MISSING_DATE",
    (to) => to.changed(list, { "x-amz-date": "today" }),
    403,
    "AccessDenied",
    "A signed request requires a valid date header.",
  ],
  [
    "UNKNOWN_ACCESS_KEY",
    (to) => to.authorized("QKIATESTTESTTESTTEST", "QKIANOBODY"),
    403,
    "InvalidAccessKeyId",
    "The access key id you provided does not exist in our records.",
  ],
  [
    "INVALID_SECURITY_TOKEN",
    (to) => to.signed({ ...list, headers: { "x-amz-security-token": "FwoGZ" } }),
    400,
    "InvalidToken",
    "The security token included in the request is invalid.",
  ],
  ["EXPIRED_SECURITY_TOKEN", (to) => to.expired(), 400, "ExpiredToken", "The provided token has expired."],
  [
    "CLOCK_SKEW",
    (to) => to.signedAs({ offsetMs: -16 * 60_000 }),
    403,
    "RequestTimeTooSkewed",
    "The difference between the request time and the current time is too large.",
  ],
  [
    "NOT_YET_VALID",
    (to) => to.presigned({ "X-Amz-Date": "20260102T040405Z" }),
    403,
    "AccessDenied",
    "Request is not yet valid",
  ],
  ["EXPIRED", (to) => to.presigned({ "X-Amz-Date": "20260102T030304Z" }), 403, "AccessDenied", "Request has expired"],
  [
    "UNSIGNED_HEADERS",
    (to) => to.changed(list, { "x-amz-acl": "private" }),
    403,
    "AccessDenied",
    "There were headers present in the request which were not signed",
  ],
  [
    "MISSING_PAYLOAD_HASH",
    (to) => to.signedAs({ tellsHash: false }),
    400,
    "InvalidRequest",
    "The header with the hash of the payload is missing.",
  ],
  [
    "INVALID_PAYLOAD_HASH",
    (to) => to.changed(list, { "x-amz-content-sha256": "e3b0" }),
    400,
    "InvalidArgument",
    "The header with the hash of the payload must be UNSIGNED-PAYLOAD, the name of a streaming form, or a valid SHA-256 value.",
  ],
  [
    "MISSING_DECODED_LENGTH",
    (to) => to.chunked("signed", "", ""),
    411,
    "MissingContentLength",
    "A chunked payload needs the header with its decoded length.",
  ],
  [
    "SIGNATURE_MISMATCH",
    (to) => to.authorized(/Signature=..../, "Signature=0000"),
    403,
    "SignatureDoesNotMatch",
    "The request signature we calculated does not match the signature you provided. Check your key and signing method.",
  ],
  [
    "PAYLOAD_MISMATCH",
    (to) => to.changed(book, {}, "Anna"),
    400,
    "XAmzContentSHA256Mismatch",
    "The provided hash of the payload does not match what was computed.",
  ],
  [
    "UNKNOWN_OPERATION",
    (to) => to.signed({ method: "GET", target: "//" }),
    405,
    "MethodNotAllowed",
    "The operation that was asked for is not known.",
  ],
  [
    "METHOD_NOT_ALLOWED",
    (to) => to.signed({ method: "PATCH", target: "/novels" }),
    405,
    "MethodNotAllowed",
    "The specified method is not allowed against this resource.",
  ],
  [
    "SUBRESOURCE_NOT_OFFERED",
    (to) => to.signed({ method: "GET", target: "/novels?policy" }),
    501,
    "NotImplemented",
    'The parameter "policy" implies functionality that is not implemented.',
  ],
  [
    "REPEATED_PARAMETER",
    (to) => to.signed({ method: "GET", target: "/novels?marker=a&marker=b" }),
    400,
    "InvalidArgument",
    'The query parameter "marker" is given more than once.',
  ],
  [
    "MISSING_CONTENT_LENGTH",
    (to) => to.lengthless(),
    411,
    "MissingContentLength",
    "You must provide the Content-Length HTTP header.",
  ],
  [
    "BODY_TOO_LARGE",
    (to) => to.signed(rules({}, "x".repeat(4 * 1024 * 1024 + 1))),
    400,
    "MaxMessageLengthExceeded",
    "Your request was too big.",
  ],
  [
    "SLOW_BODY",
    (_to, slow) => slow.stalled(),
    400,
    "RequestTimeout",
    "Your socket connection to the server was not read from or written to within the timeout period.",
  ],
  [
    "MALFORMED_BODY",
    (to) => to.signed(rules({}, "<Tagging/>")),
    400,
    "MalformedXML",
    "The XML you provided has the root Tagging, but ShelfRules is expected.",
  ],
  [
    "INVALID_CONTENT_MD5",
    (to) => to.signed(rules({ "content-md5": "AAAA" })),
    400,
    "InvalidDigest",
    "The Content-MD5 you specified is not valid.",
  ],
  [
    "INVALID_CHECKSUM",
    (to) => to.signed(rules({ "x-amz-checksum-crc32": "AAAA" })),
    400,
    "InvalidRequest",
    "Value for the CRC32 checksum is invalid.",
  ],
  [
    "BAD_DIGEST",
    (to) => to.signed(rules({ "x-amz-checksum-crc32": "AAAAAA==" })),
    400,
    "BadDigest",
    "The CRC32 you specified did not match what we received.",
  ],
  [
    "CHUNK_SIGNATURE_MISMATCH",
    (to) => to.chunked("signed", "4;chunk-signature=00\r\nEmma\r\n0;chunk-signature=00\r\n\r\n"),
    403,
    "SignatureDoesNotMatch",
    "The signature of a chunk of the payload does not match.",
  ],
  [
    "CHUNK_TOO_SMALL",
    (to) => to.chunked("trailer", "2\r\nEm\r\n2\r\nma\r\n0\r\n\r\n"),
    400,
    "InvalidChunkSizeError",
    "Only the last chunk is allowed to have a size less than 8192 bytes",
  ],
  [
    "WRONG_BODY_LENGTH",
    (to) => to.chunked("trailer", "3\r\nEmm\r\n0\r\n\r\n"),
    400,
    "IncompleteBody",
    "The request body does not have the declared number of decoded bytes.",
  ],
  [
    "MALFORMED_CHUNK",
    (to) => to.chunked("trailer", "Emma\r\n"),
    400,
    "IncompleteBody",
    "The chunked payload is not well-formed. A chunk's size is not a hexadecimal number.",
  ],
  [
    "MALFORMED_TRAILER",
    (to) => to.chunked("trailer", "4\r\nEmma\r\n0\r\na:b\r\n\r\n"),
    400,
    "MalformedTrailerError",
    "The request contained trailing data that was not well-formed or did not conform to our published schema. One was not announced.",
  ],
  [
    "NOT_A_FORM",
    (to) => to.formOf("key=emma", {}),
    412,
    "PreconditionFailed",
    "At least one of the pre-conditions you specified did not hold",
  ],
  [
    "MALFORMED_FORM",
    (to) => to.formOf("Emma"),
    400,
    "MalformedPOSTRequest",
    "The body of your POST request is not well-formed multipart/form-data.",
  ],
  [
    "FORM_TOO_LARGE",
    (to) => to.form({ key: "x".repeat(70_000) }),
    400,
    "MaxPostPreDataLengthExceeded",
    "Your POST request fields preceding the upload file were too large.",
  ],
  [
    "FORM_WITHOUT_FILE",
    (to) => to.formOf(`${formPart("key", "emma")}--${boundary}--\r\n`),
    400,
    "InvalidArgument",
    "POST requires exactly one file upload per request.",
  ],
  [
    "FORM_WITHOUT_KEY",
    (to) => to.form({}),
    400,
    "InvalidArgument",
    "Bucket POST must contain a field named 'key'. If it is specified, please check the order of the fields.",
  ],
  [
    "FORM_FIELD_NOT_OFFERED",
    (to) => to.form({ key: "emma", "x-amz-checksum-crc33": "x" }),
    501,
    "NotImplemented",
    "A field you provided implies functionality that is not implemented: x-amz-checksum-crc33",
  ],
  [
    "MALFORMED_FORM_SIGNATURE",
    (to) => to.form({ key: "emma", policy: "e30=" }),
    400,
    "InvalidArgument",
    "The form does not have the fields of a signed form. It must contain a field named 'x-amz-algorithm' before the file.",
  ],
  [
    "MALFORMED_POLICY",
    (to) => to.form(signPolicy(dialects.amz, "e30=")),
    400,
    "InvalidPolicyDocument",
    "Invalid Policy: Its expiration is not an instant like 2007-12-01T12:00:00.000Z.",
  ],
  [
    "POLICY_EXPIRED",
    (to) => to.form(signedFields(dialects.amz, {}, [], "2026-01-01T00:00:00.000Z")),
    403,
    "AccessDenied",
    "Invalid according to Policy: Policy expired.",
  ],
  [
    "POLICY_VIOLATED",
    (to) => to.form(signedFields(dialects.amz, { acl: "private" })),
    403,
    "AccessDenied",
    "Invalid according to Policy: Extra input fields: acl",
  ],
  [
    "ENTITY_TOO_LARGE",
    (to) => to.form(signedFields(dialects.amz), "123456789"),
    400,
    "EntityTooLarge",
    "Your proposed upload exceeds the maximum allowed object size.",
  ],
  [
    "ENTITY_TOO_SMALL",
    (to) => to.form(signedFields(dialects.amz), "1"),
    400,
    "EntityTooSmall",
    "Your proposed upload is smaller than the minimum allowed object size.",
  ],
];

/** Whether a message is of this reason's template. */
const isOfTemplate = (template: string, message: string): boolean =>
  new RegExp(`^${RegExp.escape(template).replaceAll(/\\\{[a-z_]+\\\}/g, ".+")}$`).test(message);

describe("a refusal of the gateway", () => {
  test.for(overXml)("%s over XML", async ([reason, request, status, name, message]) => {
    const response = await request(requestsTo(fixture), requestsTo(impatient), requestsTo(full));
    const { children } = parseXml(response.body);
    const text = (each: string): string | undefined => children.find((child) => child.name === each)?.text;
    expect([response.status, text("Code"), text("Message")]).toEqual([status, name, message]);
    const { message: template } = faultNaming(gatewayFaults.byNumber(ErrorReason[reason]), Protocol.REST_XML);
    expect(isOfTemplate(template, message)).toBe(true);
  });

  test.for(overJson)("%s over JSON", async ([reason, request, status, name, message]) => {
    const response = await request(requestsTo(fixture), requestsTo(impatient), requestsTo(full));
    expect(response.status).toBe(status);
    expect(JSON.parse(response.body)).toEqual({
      __type: name,
      message,
      ...(response.headers["content-type"] === "application/json" ? { Message: message } : {}),
    });
    expect(isOfTemplate(gatewayFaults.byNumber(ErrorReason[reason]).message, message)).toBe(true);
  });
});

describe("the declared reasons", () => {
  test("are each produced above, but INCOMPLETE_BODY, which nobody receives, and HEADER_NOT_OFFERED of S3 Control", () => {
    const produced = [...overXml, ...overJson].map(([reason]) => reason as string);
    const declared = gatewayFaults.all().map(({ reason }) => reason);
    expect(new Set([...produced, "INCOMPLETE_BODY", "HEADER_NOT_OFFERED"])).toEqual(new Set(declared));
  });

  test("have one status for each name over each protocol", () => {
    for (const protocol of [Protocol.REST_XML, Protocol.REST_JSON, Protocol.TARGET_JSON]) {
      const statuses = new Map<string, Set<number>>();
      for (const facts of gatewayFaults.all()) {
        if (facts.protocols.length > 0 && !facts.protocols.includes(protocol)) continue;
        const { name, httpStatus } = faultNaming(facts, protocol);
        statuses.set(name, new Set([...(statuses.get(name) ?? []), httpStatus]));
      }
      expect([...statuses].filter(([, each]) => each.size > 1)).toEqual([]);
    }
  });

  test("vary only in the metadata that their messages name or that is declared", async () => {
    const undeclared = gatewayFaults.all().flatMap(({ reason, message, furtherMetadata, hiddenMembers }) => {
      const keys = [...message.matchAll(/\{([a-z_]+)\}/g)].map((match) => match[1]);
      const unknown = hiddenMembers.filter((key) => !keys.includes(key) && !furtherMetadata.includes(key));
      return unknown.map((key) => [reason, key]);
    });
    expect(undeclared).toEqual([]);
  });
});
