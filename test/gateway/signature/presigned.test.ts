import { describe, expect, test } from "vitest";

import type { Request } from "./signer.ts";
import { at, changed, presigned, verifyExample } from "./signer.ts";

const parameter = (name: string, value: string) => presigned({ [`X-Amz-${name}`]: value });

describe("a presigned request", () => {
  // what is wrong, the request, the refusal's kind, its details
  test.for<[string, Request, string, object]>([
    ["another algorithm", parameter("Algorithm", "AWS4-HMAC-SHA512"), "unsupported-algorithm", {}],
    [
      "version 2",
      { rawQuery: "AWSAccessKeyId=AKIAIOSFODNN7EXAMPLE&Expires=1175139620&Signature=vjbyPxybdZaNmGa" },
      "unsupported-algorithm",
      {},
    ],
    [
      "no algorithm",
      changed(presigned(), /X-Amz-Algorithm=[^&]*&/, ""),
      "malformed-query",
      { reason: "There must be one X-Amz-Algorithm." },
    ],
    [
      "no credential",
      changed(presigned(), /X-Amz-Credential=[^&]*&/, ""),
      "malformed-query",
      { reason: "There must be one X-Amz-Credential." },
    ],
    [
      "two credentials",
      changed(presigned(), "X-Amz-Credential", "X-Amz-Credential=x&X-Amz-Credential"),
      "malformed-query",
      { reason: "There must be one X-Amz-Credential." },
    ],
    ["a short credential", parameter("Credential", "AKIAIOSFODNN7EXAMPLE/20130524"), "malformed-query", {}],
    [
      "no signed headers",
      changed(presigned(), /&X-Amz-SignedHeaders=[^&]*/, ""),
      "malformed-query",
      { reason: "There must be one X-Amz-SignedHeaders." },
    ],
    [
      "no signature",
      changed(presigned(), /&X-Amz-Signature=.*/, ""),
      "malformed-query",
      { reason: "There must be one X-Amz-Signature." },
    ],
    [
      "no date",
      changed(presigned(), /X-Amz-Date=[^&]*&/, ""),
      "malformed-query",
      { reason: "There must be one X-Amz-Date." },
    ],
    [
      "no expiry",
      changed(presigned(), /X-Amz-Expires=[^&]*&/, ""),
      "malformed-query",
      { reason: "There must be one X-Amz-Expires." },
    ],
    [
      "an expiry of 0",
      parameter("Expires", "0"),
      "malformed-query",
      { reason: "X-Amz-Expires must be a number of seconds from 1 to 604800." },
    ],
    ["an expiry of more than a week", parameter("Expires", "604801"), "malformed-query", {}],
    ["an expiry that is no number", parameter("Expires", "1h"), "malformed-query", {}],
    [
      "another region",
      parameter("Credential", "AKIAIOSFODNN7EXAMPLE/20130524/eu-west-1/s3/aws4_request"),
      "wrong-query-scope",
      { part: "region", given: "eu-west-1", expected: "us-east-1" },
    ],
    [
      "a date that is none",
      parameter("Date", "2013-05-24"),
      "malformed-query",
      { reason: "X-Amz-Date must be like 20130524T000000Z." },
    ],
    ["another date than the scope's", parameter("Date", "20130525T000000Z"), "wrong-query-scope", { part: "date" }],
    [
      "an unknown key",
      parameter("Credential", "AKIANOBODY/20130524/us-east-1/s3/aws4_request"),
      "unknown-access-key",
      {},
    ],
    ["a security token", parameter("Security-Token", "FwoGZ"), "invalid-security-token", {}],
    [
      "a time more than 15 minutes ahead",
      at(presigned(), -900_001),
      "not-yet-valid",
      { expires: "86400", expiresDate: "2013-05-25T00:00:00.000Z", serverTime: "2013-05-23T23:44:59.999Z" },
    ],
    [
      "an expiry that has passed",
      at(presigned(), 86_400_001),
      "expired",
      { expires: "86400", expiresDate: "2013-05-25T00:00:00.000Z", serverTime: "2013-05-25T00:00:00.001Z" },
    ],
    ["an unsigned host", parameter("SignedHeaders", "range"), "unsigned-headers", { headers: "host" }],
    [
      "a header of the dialect that is not signed",
      { ...presigned(), rawHeaders: ["Host", "examplebucket.s3.amazonaws.com", "x-amz-acl", "public-read"] },
      "unsigned-headers",
      { headers: "x-amz-acl" },
    ],
    ["a payload hash that is none", parameter("Content-Sha256", "e3b0"), "invalid-payload-hash", {}],
    ["another expiry", changed(presigned(), "Expires=86400", "Expires=86401"), "signature-mismatch", {}],
    [
      "a parameter more",
      { ...presigned(), rawQuery: `${presigned().rawQuery}&response-expires=0` },
      "signature-mismatch",
      {},
    ],
    ["another method", { ...presigned(), method: "PUT" }, "signature-mismatch", {}],
  ])("with %s is refused", ([, request, kind, details]) => {
    expect(() => verifyExample(request)).toThrow(
      expect.objectContaining({ name: "SignatureRefusal", kind, details: expect.objectContaining(details) }),
    );
  });

  test("is accepted for a week to the last moment", () => {
    expect(verifyExample(at(parameter("Expires", "604800"), 604_800_000)).form).toBe("presigned");
  });
});
