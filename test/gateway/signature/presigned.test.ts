import { describe, expect, test } from "vitest";

import { refused } from "../support/refused.ts";
import type { Request } from "./signer.ts";
import { at, changed, presigned, verifyExample } from "./signer.ts";

const parameter = (name: string, value: string) => presigned({ [`X-Amz-${name}`]: value });

describe("a presigned request", () => {
  // what is wrong, the request, the reason, its metadata
  test.for<[string, Request, string, object]>([
    [
      "another algorithm",
      parameter("Algorithm", "AWS4-HMAC-SHA512"),
      "MALFORMED_SIGNATURE_QUERY",
      { problem: 'X-Amz-Algorithm only supports "AWS4-HMAC-SHA256 and AWS4-ECDSA-P256-SHA256".' },
    ],
    [
      "version 2",
      { rawQuery: "AWSAccessKeyId=AKIAIOSFODNN7EXAMPLE&Expires=1175139620&Signature=vjbyPxybdZaNmGa" },
      "UNSUPPORTED_ALGORITHM",
      {},
    ],
    [
      "no algorithm",
      changed(presigned(), /X-Amz-Algorithm=[^&]*&/, ""),
      "MALFORMED_SIGNATURE_QUERY",
      { problem: "There must be one X-Amz-Algorithm." },
    ],
    [
      "no credential",
      changed(presigned(), /X-Amz-Credential=[^&]*&/, ""),
      "MALFORMED_SIGNATURE_QUERY",
      { problem: "There must be one X-Amz-Credential." },
    ],
    [
      "two credentials",
      changed(presigned(), "X-Amz-Credential", "X-Amz-Credential=x&X-Amz-Credential"),
      "MALFORMED_SIGNATURE_QUERY",
      { problem: "There must be one X-Amz-Credential." },
    ],
    ["a short credential", parameter("Credential", "AKIAIOSFODNN7EXAMPLE/20130524"), "MALFORMED_SIGNATURE_QUERY", {}],
    [
      "no signed headers",
      changed(presigned(), /&X-Amz-SignedHeaders=[^&]*/, ""),
      "MALFORMED_SIGNATURE_QUERY",
      { problem: "There must be one X-Amz-SignedHeaders." },
    ],
    [
      "no signature",
      changed(presigned(), /&X-Amz-Signature=.*/, ""),
      "MALFORMED_SIGNATURE_QUERY",
      { problem: "There must be one X-Amz-Signature." },
    ],
    [
      "no date",
      changed(presigned(), /X-Amz-Date=[^&]*&/, ""),
      "MALFORMED_SIGNATURE_QUERY",
      { problem: "There must be one X-Amz-Date." },
    ],
    [
      "no expiry",
      changed(presigned(), /X-Amz-Expires=[^&]*&/, ""),
      "MALFORMED_SIGNATURE_QUERY",
      { problem: "There must be one X-Amz-Expires." },
    ],
    [
      "an expiry of 0",
      parameter("Expires", "0"),
      "MALFORMED_SIGNATURE_QUERY",
      { problem: "X-Amz-Expires must be a number of seconds from 1 to 604800." },
    ],
    ["an expiry of more than a week", parameter("Expires", "604801"), "MALFORMED_SIGNATURE_QUERY", {}],
    ["an expiry that is no number", parameter("Expires", "1h"), "MALFORMED_SIGNATURE_QUERY", {}],
    [
      "another region",
      parameter("Credential", "AKIAIOSFODNN7EXAMPLE/20130524/eu-west-1/s3/aws4_request"),
      "WRONG_QUERY_SCOPE",
      { part: "region", given: "eu-west-1", expected: "us-east-1" },
    ],
    [
      "a date that is none",
      parameter("Date", "2013-05-24"),
      "MALFORMED_SIGNATURE_QUERY",
      { problem: "X-Amz-Date must be like 20130524T000000Z." },
    ],
    ["another date than the scope's", parameter("Date", "20130525T000000Z"), "WRONG_QUERY_SCOPE", { part: "date" }],
    [
      "an unknown key",
      parameter("Credential", "AKIANOBODY/20130524/us-east-1/s3/aws4_request"),
      "UNKNOWN_ACCESS_KEY",
      {},
    ],
    ["a security token", parameter("Security-Token", "FwoGZ"), "INVALID_SECURITY_TOKEN", {}],
    [
      "a time more than 15 minutes ahead",
      at(presigned(), -900_001),
      "NOT_YET_VALID",
      { expires_seconds: "86400", expires: "2013-05-25T00:00:00.000Z", server_time: "2013-05-23T23:44:59.999Z" },
    ],
    [
      "an expiry that has passed",
      at(presigned(), 86_400_001),
      "EXPIRED",
      { expires_seconds: "86400", expires: "2013-05-25T00:00:00.000Z", server_time: "2013-05-25T00:00:00.001Z" },
    ],
    ["an unsigned host", parameter("SignedHeaders", "range"), "UNSIGNED_HEADERS", { headers_not_signed: "host" }],
    [
      "a header of the dialect that is not signed",
      { ...presigned(), rawHeaders: ["Host", "examplebucket.s3.amazonaws.com", "x-amz-acl", "public-read"] },
      "UNSIGNED_HEADERS",
      { headers_not_signed: "x-amz-acl" },
    ],
    ["a payload hash that is none", parameter("Content-Sha256", "e3b0"), "INVALID_PAYLOAD_HASH", {}],
    ["another expiry", changed(presigned(), "Expires=86400", "Expires=86401"), "SIGNATURE_MISMATCH", {}],
    [
      "a parameter more",
      { ...presigned(), rawQuery: `${presigned().rawQuery}&response-expires=0` },
      "SIGNATURE_MISMATCH",
      {},
    ],
    ["another method", { ...presigned(), method: "PUT" }, "SIGNATURE_MISMATCH", {}],
  ])("with %s is refused", ([, request, reason, metadata]) => {
    expect(() => verifyExample(request)).toThrow(refused(reason, metadata));
  });

  test("is accepted for a week to the last moment", () => {
    const verified = verifyExample(at(parameter("Expires", "604800"), 604_800_000));
    expect(verified.form).toBe("presigned");
    expect(verified.signature).toEqual({
      signatureVersion: "AWS4-HMAC-SHA256",
      authType: "REST-QUERY-STRING",
      signatureAgeMs: 604_800_000,
    });
  });
});
