import { describe, expect, test } from "vitest";

import { reasonOf, refused } from "../support/refused.ts";
import { amz, svc } from "./brands.ts";
import { fixedAccessKeys } from "../../../services/kit/identity/access-keys.ts";
import type { Request } from "./signer.ts";
import { at, changed, emptyHash, exampleKey, presigned, signedByHeader, verifyExample } from "./signer.ts";

const header = signedByHeader;

describe("a request signed by header", () => {
  test("is the key owner's", () => {
    expect(verifyExample(header())).toMatchObject({
      form: "header",
      caller: { principalArn: "arn:aws:iam::123456789012:root", accessKeyId: "AKIAIOSFODNN7EXAMPLE" },
      payload: { kind: "exact", sha256: emptyHash },
      signedHeaders: ["host", "x-amz-content-sha256", "x-amz-date"],
    });
  });

  // what is wrong, the request, the reason, its metadata
  test.for<[string, Request, string, object]>([
    ["both forms", { ...header(), rawQuery: presigned().rawQuery }, "SEVERAL_SIGNATURES", {}],
    [
      "another algorithm",
      changed(header(), "HMAC-SHA256 ", "HMAC-SHA512 "),
      "UNSUPPORTED_ALGORITHM",
      { argument_name: "Authorization", argument_value: "AWS4-HMAC-SHA512" },
    ],
    [
      "version 2",
      changed(header(), /^AWS4.*/, "AWS AKIAIOSFODNN7EXAMPLE:c2lnbmF0dXJl"),
      "SUPERSEDED_SIGNATURE",
      { algorithm: "AWS4-HMAC-SHA256" },
    ],
    [
      "the other dialect",
      { ...header({ brand: svc }), brand: amz },
      "UNSUPPORTED_ALGORITHM",
      { argument_name: "Authorization", argument_value: "SVC4-HMAC-SHA256" },
    ],
    [
      "two authorizations",
      header({ unsigned: ["authorization", "AWS4-HMAC-SHA256 x"] }),
      "MALFORMED_AUTHORIZATION",
      { problem: "There is more than one." },
    ],
    [
      "a part without a name",
      changed(header(), ",SignedHeaders=", ",SignedHeaders:"),
      "MALFORMED_AUTHORIZATION",
      { problem: "Its parts must be name=value, each name once." },
    ],
    [
      "a part given twice",
      changed(header(), ",SignedHeaders=", ",Credential=x,SignedHeaders="),
      "MALFORMED_AUTHORIZATION",
      { problem: "Its parts must be name=value, each name once." },
    ],
    [
      "no credential",
      changed(header(), "Credential=", "Credentials="),
      "MALFORMED_AUTHORIZATION",
      { problem: "It must have a Credential." },
    ],
    [
      "a credential without region",
      changed(header(), "/us-east-1", ""),
      "MALFORMED_AUTHORIZATION",
      { problem: "The Credential must be <access key id>/<yyyymmdd>/<region>/<service>/aws4_request." },
    ],
    [
      "no signed headers",
      changed(header(), /SignedHeaders=[^,]*/, "SignedHeaders="),
      "MALFORMED_AUTHORIZATION",
      { problem: "It must have a SignedHeaders." },
    ],
    [
      "no signature",
      changed(header(), /,Signature=.*/, ""),
      "MALFORMED_AUTHORIZATION",
      { problem: "It must have a Signature." },
    ],
    [
      "another terminator",
      changed(header(), "/aws4_request", "/aws5_request"),
      "WRONG_SCOPE",
      { part: "terminator", given: "aws5_request", expected: "aws4_request" },
    ],
    [
      "a scope without a date",
      changed(header(), "/20130524/", "/today/"),
      "WRONG_SCOPE",
      { part: "date", given: "today", expected: "yyyymmdd" },
    ],
    [
      "another service",
      changed(header(), "/s3/", "/events/"),
      "WRONG_SCOPE",
      { part: "service", given: "events", expected: "s3" },
    ],
    [
      "another region",
      changed(header(), "/us-east-1/", "/eu-west-1/"),
      "WRONG_SCOPE",
      { part: "region", given: "eu-west-1", expected: "us-east-1" },
    ],
    ["no date", changed(header(), "x-amz-date", "x-other-date"), "MISSING_DATE", {}],
    ["a date that is none", changed(header(), "20130524T000000Z", "20131324T000000Z"), "MISSING_DATE", {}],
    [
      "another date than the scope's",
      changed(header(), "/20130524/", "/20130525/"),
      "WRONG_SCOPE",
      { part: "date", given: "20130525", expected: "20130524" },
    ],
    [
      "an unknown key",
      changed(header(), "AKIAIOSFODNN7EXAMPLE", "AKIANOBODY"),
      "UNKNOWN_ACCESS_KEY",
      { access_key_id: "AKIANOBODY" },
    ],
    [
      "a security token",
      header({ headers: { "x-amz-security-token": "FwoGZ" } }),
      "INVALID_SECURITY_TOKEN",
      { access_key_id: "AKIAIOSFODNN7EXAMPLE" },
    ],
    [
      "a time 15 minutes and a millisecond ago",
      at(header(), 900_001),
      "CLOCK_SKEW",
      {
        request_time: "2013-05-24T00:00:00.000Z",
        server_time: "2013-05-24T00:15:00.001Z",
        max_allowed_skew_milliseconds: "900000",
      },
    ],
    ["a time more than 15 minutes ahead", at(header(), -900_001), "CLOCK_SKEW", {}],
    [
      "an unsigned host",
      changed(header(), "SignedHeaders=host;", "SignedHeaders="),
      "UNSIGNED_HEADERS",
      { headers_not_signed: "host" },
    ],
    [
      "a header of the dialect that is not signed",
      header({ unsigned: ["X-Amz-Acl", "public-read"] }),
      "UNSIGNED_HEADERS",
      { headers_not_signed: "x-amz-acl" },
    ],
    [
      "no payload hash",
      changed(header(), "x-amz-content-sha256", "x-other"),
      "MISSING_PAYLOAD_HASH",
      { argument_name: "x-amz-content-sha256" },
    ],
    [
      "a payload hash that is none",
      header({ payloadHash: "e3b0" }),
      "INVALID_PAYLOAD_HASH",
      { argument_name: "x-amz-content-sha256", argument_value: "e3b0" },
    ],
    [
      "a streaming form of the other dialect",
      header({ payloadHash: "STREAMING-SVC4-HMAC-SHA256-PAYLOAD" }),
      "INVALID_PAYLOAD_HASH",
      {},
    ],
    [
      "an asymmetric streaming form",
      header({ payloadHash: "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD" }),
      "INVALID_PAYLOAD_HASH",
      {},
    ],
    [
      "chunks of unknown length",
      header({ payloadHash: "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" }),
      "MISSING_DECODED_LENGTH",
      {},
    ],
    [
      "chunks of negative length",
      header({ payloadHash: "STREAMING-UNSIGNED-PAYLOAD-TRAILER", headers: { "x-amz-decoded-content-length": "-1" } }),
      "MISSING_DECODED_LENGTH",
      {},
    ],
    [
      "another method",
      { ...header(), method: "DELETE" },
      "SIGNATURE_MISMATCH",
      { access_key_id: "AKIAIOSFODNN7EXAMPLE" },
    ],
    ["another path", { ...header(), rawPath: "/test.txt2" }, "SIGNATURE_MISMATCH", {}],
    ["another query", { ...header(), rawQuery: "acl" }, "SIGNATURE_MISMATCH", {}],
    ["another host", changed(header(), "examplebucket", "otherbucket"), "SIGNATURE_MISMATCH", {}],
    ["another payload hash", changed(header(), emptyHash, emptyHash.replace("e3", "e4")), "SIGNATURE_MISMATCH", {}],
    [
      "a signed header that has gone",
      changed(header({ headers: { range: "bytes=0-9" } }), /^range$/, "x-gone"),
      "SIGNATURE_MISMATCH",
      {},
    ],
    ["a cut signature", changed(header(), /(Signature=.*).$/, "$1"), "SIGNATURE_MISMATCH", {}],
    [
      "a signature in capitals",
      {
        ...header(),
        rawHeaders: header().rawHeaders.map((text) =>
          text.replace(/Signature=.*/, (all) => `Signature=${all.slice(10).toUpperCase()}`),
        ),
      },
      "SIGNATURE_MISMATCH",
      {},
    ],
    [
      "a body that is not the hash's",
      { ...header(), body: Buffer.from("x") },
      "PAYLOAD_MISMATCH",
      { client_computed_content_SHA256: emptyHash },
    ],
  ])("with %s is refused", ([, request, reason, metadata]) => {
    expect(() => verifyExample(request)).toThrow(refused(reason, metadata));
  });

  test("that does not match is told what was computed, but not the right signature", () => {
    expect(() => verifyExample({ ...header(), rawQuery: "acl" })).toThrow(
      expect.objectContaining({
        metadata: {
          access_key_id: "AKIAIOSFODNN7EXAMPLE",
          signature_provided: "df548e2ce037944d03f3e68682813b093763996d597cf890ca3d9037fd231eb4",
          string_to_sign:
            "AWS4-HMAC-SHA256\n20130524T000000Z\n20130524/us-east-1/s3/aws4_request\nd3eba503d99c89f6762e1987df91b8ac246920104cab8875442d0f303cb8d4a0",
          canonical_request: `GET\n/test.txt\nacl=\nhost:examplebucket.s3.amazonaws.com\nx-amz-content-sha256:${emptyHash}\nx-amz-date:20130524T000000Z\n\nhost;x-amz-content-sha256;x-amz-date\n${emptyHash}`,
        },
      }),
    );
  });

  test("is accepted 15 minutes early and late", () => {
    expect(verifyExample(at(header(), 900_000)).form).toBe("header");
    expect(verifyExample(at(header(), -900_000)).form).toBe("header");
  });

  test("may be for any region where none is asked for", () => {
    expect(verifyExample({ ...header(), region: undefined }).form).toBe("header");
  });
});

test("a chunked body that cannot be read is told before a signature that does not match", () => {
  const request = { ...header({ payloadHash: "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" }), rawPath: "/other.txt" };
  expect(reasonOfRequest(request)).toBe("MISSING_DECODED_LENGTH");
});

test("each signature is verified, also when the rest of the header is known", () => {
  const request = header();
  const forged = changed(request, /(Signature=)[0-9a-f]{64}$/, `$1${"0".repeat(64)}`);
  expect([reasonOfRequest(forged), reasonOfRequest(request), reasonOfRequest(forged)]).toEqual([
    "SIGNATURE_MISMATCH",
    "accepted",
    "SIGNATURE_MISMATCH",
  ]);
});

test("a key whose secret was replaced verifies with the new secret only", () => {
  const request = header();
  const replaced = fixedAccessKeys([{ ...exampleKey, secretAccessKey: "another secret" }]);
  expect([
    reasonOfRequest(request),
    reasonOfRequest({ ...request, accessKeys: replaced }),
    reasonOfRequest(request),
  ]).toEqual(["accepted", "SIGNATURE_MISMATCH", "accepted"]);
});

test("faults are told in one order, whatever else is wrong", () => {
  const broken = signedByHeader({
    payloadHash: "e3b0",
    headers: { "x-amz-security-token": "FwoGZ" },
    unsigned: ["x-amz-acl", "private"],
  });
  const repairs: readonly ((request: Request) => Request)[] = [
    (request) => ({ ...request, rawQuery: "" }),
    (request) => changed(request, "HMAC-SHA512", "HMAC-SHA256"),
    (request) => changed(request, "Signed=", "SignedHeaders="),
    (request) => changed(request, "/events/", "/s3/"),
    (request) => changed(request, "20131324T000000Z", "20130524T000000Z"),
    (request) => changed(request, "AKIANOBODY", "AKIAIOSFODNN7EXAMPLE"),
    (request) => changed(request, "x-amz-security-token", "x-token"),
    (request) => at(request, 0),
    (request) => changed(request, "x-amz-acl", "x-acl"),
    (request) => changed(request, /^e3b0$/, emptyHash),
  ];
  let request: Request = { ...broken, rawQuery: presigned().rawQuery };
  for (const [to, from] of [
    ["HMAC-SHA512 ", "HMAC-SHA256 "],
    ["Signed=", "SignedHeaders="],
    ["/events/", "/s3/"],
    ["20131324T000000Z", "20130524T000000Z"],
    ["AKIANOBODY", "AKIAIOSFODNN7EXAMPLE"],
  ] as const)
    request = { ...changed({ rawHeaders: request.rawHeaders }, from, to), rawQuery: request.rawQuery };
  request = at(request, 3_600_000);
  const reasons = [reasonOfRequest(request)];
  for (const repair of repairs) {
    request = repair(request);
    reasons.push(reasonOfRequest(request));
  }
  expect(reasons).toEqual([
    "SEVERAL_SIGNATURES",
    "UNSUPPORTED_ALGORITHM",
    "MALFORMED_AUTHORIZATION",
    "WRONG_SCOPE",
    "MISSING_DATE",
    "UNKNOWN_ACCESS_KEY",
    "INVALID_SECURITY_TOKEN",
    "CLOCK_SKEW",
    "UNSIGNED_HEADERS",
    "INVALID_PAYLOAD_HASH",
    "SIGNATURE_MISMATCH",
  ]);
});

const reasonOfRequest = (request: Request): string => {
  try {
    verifyExample(request);
    return "accepted";
  } catch (error) {
    return reasonOf(error);
  }
};

describe("a request without a signature", () => {
  test("is nobody's", () => {
    expect(verifyExample({ rawHeaders: ["Host", "localhost"] })).toEqual({
      caller: { accountId: "", principalArn: "", isRoot: false, isAnonymous: true, policies: [], issuer: "" },
      form: "anonymous",
      payload: { kind: "plain" },
      signedHeaders: [],
    });
  });

  test("may declare its body's hash", () => {
    expect(verifyExample({ rawHeaders: ["x-amz-content-sha256", emptyHash] }).payload).toEqual({
      kind: "exact",
      sha256: emptyHash,
    });
  });

  test("cannot have signed chunks", () => {
    const rawHeaders = [
      "x-amz-content-sha256",
      "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
      "x-amz-decoded-content-length",
      "0",
    ];
    expect(() => verifyExample({ rawHeaders })).toThrow(refused("INVALID_PAYLOAD_HASH"));
  });
});

describe("the documented dialect", () => {
  test("signs by header in its own spelling", () => {
    expect(verifyExample(signedByHeader({ brand: svc }))).toMatchObject({
      form: "header",
      signedHeaders: ["host", "x-svc-content-sha256", "x-svc-date"],
    });
  });

  test("presigns in its own spelling", () => {
    expect(verifyExample(presigned({}, svc)).form).toBe("presigned");
  });

  test("has signatures of its own", () => {
    const own = signedByHeader({ brand: svc }).rawHeaders.at(-1)?.slice(-64);
    const public_ = signedByHeader({ brand: amz }).rawHeaders.at(-1)?.slice(-64);
    expect(own).not.toBe(public_);
  });
});
