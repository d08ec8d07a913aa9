import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { ErrorReason, ErrorReasonSchema } from "../../../gen/quartet/test/gateway/v1/error_reason_pb.ts";
import type { DialectName } from "../../../gateway/dialects/dialect.ts";
import { faultsOf } from "../../../services/kit/faults/service-error.ts";
import type { ApiName, Fixture } from "../support/fixture.ts";
import { dialects, startFixture } from "../support/fixture.ts";
import type { TestRequest } from "../support/signing-client.ts";
import { send, signHeaders } from "../support/signing-client.ts";

const fault = faultsOf(ErrorReasonSchema);

let fixture: Fixture;
beforeAll(async () => {
  fixture = await startFixture();
  fixture.answer("ListBooks", () => {
    throw fault(ErrorReason.NO_SUCH_BOOK, { book_name: "emma", shelf_secret: "behind the clock" });
  });
  fixture.answer("CreateReader", () => {
    throw fault(ErrorReason.NO_SUCH_BOOK, { book_name: "emma", shelf_secret: "behind the clock" });
  });
  fixture.answer("PutNotices", () => {
    throw fault(ErrorReason.NO_SUCH_BOOK, { book_name: "emma" });
  });
  fixture.answer("ListReaders", () => {
    throw new Error("a text that only the log may hold");
  });
  fixture.answer("ListShelves", () => {
    throw fault(ErrorReason.THROTTLED);
  });
});
afterAll(() => fixture.stop());

const reader: TestRequest = { method: "POST", target: "/readers/Ada", body: '{"DefaultExpirationDays":1}' };
const notices = (target: string, name = "x-amz-target"): TestRequest => ({
  method: "POST",
  target: "/",
  headers: { [name]: target },
  body: '{"Entries":[{}]}',
});

describe("a refusal of a service", () => {
  test("over REST-JSON: the name in a header and in the body, hidden metadata left out", async () => {
    const response = await fixture.call("customer-profile", "amz", reader);
    expect(response.status).toBe(404);
    expect(response.headers).toMatchObject({
      "x-amzn-errortype": "NoSuchVolume",
      "x-amzn-requestid": expect.any(String),
      "content-type": "application/json",
    });
    expect(JSON.parse(response.body)).toEqual({
      __type: "NoSuchVolume",
      message: "There is no book emma.",
      Message: "There is no book emma.",
      BookName: "emma",
    });
  });

  test("over REST-JSON in the documented dialect: documented name and header", async () => {
    const response = await fixture.call("customer-profile", "svc", reader);
    expect(response.headers).toMatchObject({ "x-svc-error-type": "NoSuchBook" });
    expect(JSON.parse(response.body)).toMatchObject({ __type: "NoSuchBook" });
  });

  test("over target JSON: the name in the body", async () => {
    const response = await fixture.call("event-bus", "amz", notices("AWSEvents.PutNotices"));
    expect(response.status).toBe(404);
    expect(response.headers["content-type"]).toBe("application/x-amz-json-1.1");
    expect(JSON.parse(response.body)).toEqual({
      __type: "NoSuchVolume",
      message: "There is no book emma.",
      BookName: "emma",
    });
  });

  test("over XML: an error document with the ids that the headers have", async () => {
    const response = await fixture.call("object-storage", "amz", { method: "GET", target: "/novels%20x" });
    expect(response.status).toBe(404);
    const { "x-amz-request-id": requestId, "x-amz-id-2": hostId } = response.headers;
    expect(response.body).toBe(
      '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>NoSuchVolume</Code><Message>There is no book emma.</Message>' +
        `<BookName>emma</BookName><Resource>/novels%20x</Resource><RequestId>${String(requestId)}</RequestId><HostId>${String(hostId)}</HostId></Error>`,
    );
  });

  test("that nobody declared tells nothing of its text", async () => {
    const response = await fixture.call("customer-profile", "amz", { method: "GET", target: "/readers" });
    expect(response.status).toBe(500);
    expect(response.body).not.toContain("only the log");
    expect(JSON.parse(response.body)).toMatchObject({ __type: "InternalError" });
  });

  test("that asks for fewer calls says when to come again", async () => {
    const response = await fixture.call("object-storage", "amz", { method: "GET", target: "/" });
    expect(response.status).toBe(503);
    expect(response.headers["retry-after"]).toBe("1");
    expect(response.body).toContain("<Code>SlowDown</Code>");
  });

  test("of the constraints is worded as the service words it", async () => {
    const request = { ...reader, body: '{"DefaultExpirationDays":0,"Languages":["fr"]}' };
    const response = await fixture.call("customer-profile", "amz", request);
    expect(response.status).toBe(400);
    expect(JSON.parse(response.body)).toEqual({
      __type: "ValidationException",
      message: expect.any(String),
      Message:
        "2 validation errors detected: Value '0' at 'defaultExpirationDays' failed to satisfy constraint: Member must have value greater than or equal to 1; " +
        "Value 'fr' at 'languages.1.member' failed to satisfy constraint: Member must satisfy enum value set: [en, de]",
    });
  });
});

describe("a refusal of the gateway", () => {
  test.each<[string, ApiName, DialectName, TestRequest, number, string]>([
    // what is wrong, API, dialect, request, status, name
    [
      "an unknown path",
      "customer-profile",
      "amz",
      { method: "GET", target: "/writers" },
      404,
      "UnknownOperationException",
    ],
    [
      "another method",
      "customer-profile",
      "amz",
      { method: "PATCH", target: "/readers" },
      404,
      "UnknownOperationException",
    ],
    ["a body that is no JSON", "customer-profile", "amz", { ...reader, body: "{" }, 400, "SerializationException"],
    ["a body that is no object", "customer-profile", "svc", { ...reader, body: "[]" }, 400, "SerializationException"],
    [
      "a text where a number stands",
      "customer-profile",
      "amz",
      { ...reader, body: '{"DefaultExpirationDays":"1"}' },
      400,
      "SerializationException",
    ],
    [
      "a fraction where a whole number stands",
      "customer-profile",
      "amz",
      { ...reader, body: '{"DefaultExpirationDays":1.5}' },
      400,
      "SerializationException",
    ],
    [
      "a number that its type cannot hold",
      "customer-profile",
      "amz",
      { ...reader, body: '{"DefaultExpirationDays":4294967296}' },
      400,
      "SerializationException",
    ],
    [
      "a number where a text stands",
      "customer-profile",
      "amz",
      { ...reader, body: '{"tags":{"a":1}}' },
      400,
      "SerializationException",
    ],
    [
      "a list where an object stands",
      "customer-profile",
      "amz",
      { ...reader, body: '{"Address":[]}' },
      400,
      "SerializationException",
    ],
    [
      "a body nested too deeply",
      "customer-profile",
      "amz",
      { ...reader, body: `${'{"Address":{"Forward":'.repeat(1)}${'{"Forward":'.repeat(80)}{}${"}".repeat(82)}` },
      400,
      "SerializationException",
    ],
    [
      "an enum value that is none",
      "customer-profile",
      "amz",
      { ...reader, body: '{"DefaultExpirationDays":1,"Kind":"X"}' },
      400,
      "ValidationException",
    ],
    [
      "a query member that is no number",
      "customer-profile",
      "amz",
      { method: "GET", target: "/readers?max-results=x" },
      400,
      "ValidationException",
    ],
    [
      "a path that is not UTF-8",
      "customer-profile",
      "amz",
      { method: "POST", target: "/readers/%FF", body: "{}" },
      400,
      "SerializationException",
    ],
    ["an unknown target", "event-bus", "amz", notices("AWSEvents.PutNothing"), 400, "UnknownOperationException"],
    ["another API's target", "event-bus", "amz", notices("DynamoDB.PutNotices"), 400, "UnknownOperationException"],
    ["no target", "event-bus", "amz", { method: "POST", target: "/", body: "{}" }, 400, "UnknownOperationException"],
    [
      "a body that is no JSON",
      "event-bus",
      "svc",
      { ...notices("EventBus.PutNotices", "x-svc-target"), body: "x" },
      400,
      "SerializationException",
    ],
    [
      "a method that the path does not have",
      "object-storage",
      "amz",
      { method: "PATCH", target: "/novels" },
      405,
      "MethodNotAllowed",
    ],
    [
      "a part of a bucket that is not offered",
      "object-storage",
      "amz",
      { method: "GET", target: "/novels?policy" },
      501,
      "NotImplemented",
    ],
    ["a key that is not UTF-8", "object-storage", "amz", { method: "GET", target: "/novels/%FF" }, 400, "InvalidURI"],
    [
      "a target that is too long",
      "object-storage",
      "amz",
      { method: "GET", target: `/novels/${"a".repeat(17_000)}` },
      414,
      "RequestURITooLong",
    ],
    [
      "a document that is no XML",
      "object-storage",
      "amz",
      { method: "PUT", target: "/novels?rules", body: "<ShelfRules>" },
      400,
      "MalformedXML",
    ],
    [
      "a document with a document type",
      "object-storage",
      "amz",
      { method: "PUT", target: "/novels?rules", body: '<!DOCTYPE a [<!ENTITY b "c">]><ShelfRules>&b;</ShelfRules>' },
      400,
      "MalformedXML",
    ],
    [
      "a document nested too deeply",
      "object-storage",
      "amz",
      {
        method: "PUT",
        target: "/novels?rules",
        body: `<ShelfRules>${"<a>".repeat(40)}${"</a>".repeat(40)}</ShelfRules>`,
      },
      400,
      "MalformedXML",
    ],
    [
      "another document",
      "object-storage",
      "amz",
      { method: "PUT", target: "/novels?rules", body: "<Tagging/>" },
      400,
      "MalformedXML",
    ],
    ["no document", "object-storage", "svc", { method: "PUT", target: "/novels?rules" }, 400, "MalformedXML"],
    [
      "a member of a document that is no number",
      "object-storage",
      "amz",
      {
        method: "PUT",
        target: "/novels?rules",
        body: "<ShelfRules><Rule><Status>Enabled</Status><Days>x</Days></Rule></ShelfRules>",
      },
      400,
      "MalformedXML",
    ],
    [
      "a document that is too large",
      "object-storage",
      "amz",
      { method: "PUT", target: "/novels?rules", body: "x".repeat(4 * 1024 * 1024 + 1) },
      400,
      "MaxMessageLengthExceeded",
    ],
    [
      "a body that is too large",
      "customer-profile",
      "amz",
      { ...reader, body: "x".repeat(4 * 1024 * 1024 + 1) },
      413,
      "RequestEntityTooLargeException",
    ],
  ])("for %s (%s, %s)", async (_what, api, dialect, request, status, name) => {
    const response = await fixture.call(api, dialect, request);
    expect(response.body).toContain(name);
    expect(response.status).toBe(status);
  });

  test.each([
    // header, its value for a body of "<ShelfRules><Rule><Status>Enabled</Status></Rule></ShelfRules>", status, what
    // the answer holds
    ["content-md5", "x4JJSTQbY+7gP6fCvDRJpw==", 400, "<Code>BadDigest</Code>"],
    ["content-md5", "short", 400, "<Code>InvalidDigest</Code>"],
    ["content-md5", "9Bv+UnQidSCmAGLXEYkCzg==", 200, ""],
    ["x-amz-checksum-crc32", "AAAAAA==", 400, "<Code>BadDigest</Code>"],
    ["x-amz-checksum-crc32", "AAAA", 400, "<Code>InvalidRequest</Code>"],
    ["x-amz-checksum-crc32", "b1GotA==", 200, ""],
    ["x-amz-checksum-sha1", "E1asExhoWQZZqZJx+Hz6hZZscpM=", 200, ""],
    ["x-amz-checksum-sha256", "nseQz4XMmJ0MyYkEDP4JF5tWoBQEzXtTU/9JLEkTVfY=", 200, ""],
    ["x-amz-checksum-crc32c", "eaOgWw==", 200, ""],
    ["x-amz-checksum-crc64nvme", "n24sEDZn5WQ=", 200, ""],
    [
      "x-amz-checksum-sha512",
      "9M/bmKOAWdyGTXqYYmpjtYBlGbsJ/IiYq329F8i1lrlrIJXZSQbRvLpgR5KnCfBhsCX80K0SqzSFMRC4dyOQLA==",
      200,
      "",
    ],
    ["x-amz-checksum-md5", "9Bv+UnQidSCmAGLXEYkCzg==", 200, ""],
    ["x-amz-checksum-xxhash64", "5qmmSHgdam4=", 200, ""],
    ["x-amz-checksum-xxhash3", "tsaTV0oQOHs=", 200, ""],
    ["x-amz-checksum-xxhash128", "3BmO7pWzDckFfMKSyeLzWQ==", 200, ""],
    ["x-amz-checksum-crc32c", "AAAAAA==", 400, "<Code>BadDigest</Code>"],
    ["x-amz-checksum-crc64nvme", "AAAAAAAAAAA=", 400, "<Code>BadDigest</Code>"],
    ["x-amz-checksum-md5", "AAAAAAAAAAAAAAAAAAAAAA==", 400, "<Code>BadDigest</Code>"],
    ["x-amz-checksum-xxhash64", "AAAAAAAAAAA=", 400, "<Code>BadDigest</Code>"],
    ["x-amz-checksum-xxhash3", "AAAAAAAAAAA=", 400, "<Code>BadDigest</Code>"],
    ["x-amz-checksum-xxhash128", "AAAAAAAAAAAAAAAAAAAAAA==", 400, "<Code>BadDigest</Code>"],
  ])("of a document depends on its digest: %s %s", async (name, value, status, content) => {
    const body = "<ShelfRules><Rule><Status>Enabled</Status></Rule></ShelfRules>";
    const request = { method: "PUT", target: "/novels?rules", headers: { [name]: value }, body };
    const response = await fixture.call("object-storage", "amz", request);
    expect(response.body).toContain(content);
    expect(response.status).toBe(status);
  });

  test.each([
    // headers of a preflight request, status, code
    [{ origin: "https://example.com", "access-control-request-method": "PUT" }, 403, "<Code>AccessForbidden</Code>"],
    [{}, 400, "<Code>BadRequest</Code>"],
  ])("of a browser's question for another origin: %o", async (headers, status, code) => {
    const response = await send(fixture.url, { method: "OPTIONS", target: "/novels/emma" }, headers);
    expect(response.status).toBe(status);
    expect(response.body).toContain(code);
  });

  test("of a HEAD request has a status and no body", async () => {
    const response = await fixture.call("object-storage", "amz", { method: "HEAD", target: "/novels/%FF" });
    expect(response.status).toBe(400);
    expect(response.body).toBe("");
  });
});

/** Sends a request whose signature was made with a secret that is not the key's. */
const wrongSecret = (api: ApiName, dialect: DialectName, request: TestRequest) =>
  send(
    fixture.url,
    request,
    signHeaders(request, new URL(fixture.url).host, {
      brand: dialects[dialect].signature,
      service: dialects[dialect].signingNames[api]![0]!,
      nowMs: fixture.clock.now(),
      tellsHash: api === "object-storage",
      secret: "another-secret",
    }),
  );

describe("a caller who is not believed", () => {
  test.each<[ApiName, DialectName, TestRequest, number, string]>([
    // API, dialect, request, status, name
    ["object-storage", "amz", { method: "GET", target: "/" }, 403, "SignatureDoesNotMatch"],
    ["object-storage", "svc", { method: "GET", target: "/" }, 403, "SignatureDoesNotMatch"],
    ["customer-profile", "amz", { method: "GET", target: "/readers" }, 403, "InvalidSignatureException"],
    ["event-bus", "amz", notices("AWSEvents.PutNotices"), 403, "InvalidSignatureException"],
  ])("because of the secret: %s in %s", async (api, dialect, request, status, name) => {
    const response = await wrongSecret(api, dialect, request);
    expect(response.status).toBe(status);
    expect(response.body).toContain(name);
    expect(response.body).not.toContain("another-secret");
  });

  test("over XML sees the string that was signed and the canonical request", async () => {
    const response = await wrongSecret("object-storage", "amz", { method: "GET", target: "/" });
    expect(response.body).toContain("<AWSAccessKeyId>QKIATESTTESTTESTTEST</AWSAccessKeyId>");
    expect(response.body).toContain("<StringToSign>AWS4-HMAC-SHA256&#10;20260102T030405Z&#10;20260102/us-east-1/s3");
    expect(response.body).toContain("<CanonicalRequest>GET&#10;/&#10;");
  });

  test.each<[string, string, number, string]>([
    // path, headers' API word, status, what the answer holds
    ["/customer-profile/readers", "", 403, "MissingAuthenticationTokenException"],
    ["/event-bus", "", 403, "MissingAuthenticationTokenException"],
  ])("because nothing is signed: %s", async (target, _word, status, name) => {
    const response = await send(fixture.url, { method: "GET", target }, {});
    expect(response.status).toBe(status);
    expect(response.body).toContain(name);
  });

  test.each([
    // path that the signature of /readers/Ada fits as well
    ["/readers/Ada/books/.."],
    ["/readers/./Ada"],
    ["/readers//Ada"],
    ["//readers/Ada"],
    ["/x/../readers/Ada"],
    ["/readers/Ada/."],
  ])("when a JSON API is asked for %s with the signature for another path", async (target) => {
    const before = fixture.received.length;
    const headers = fixture.sign("customer-profile", "amz", reader);
    const response = await send(fixture.url, { ...reader, target }, headers);
    expect([response.status, response.headers["x-amzn-errortype"]]).toEqual([400, "SerializationException"]);
    expect(response.body).toContain("The path has a segment that is empty or made of dots alone.");
    expect(fixture.received).toHaveLength(before);
  });

  test("but a path may end with a slash, which is signed", async () => {
    const response = await fixture.call("customer-profile", "amz", { ...reader, target: "/readers/Ada/" });
    expect(response.body).toContain("NoSuchVolume");
  });

  test("is anonymous to object storage, which decides itself", async () => {
    await send(fixture.url, { method: "GET", target: "/novels" }, {});
    expect(fixture.received.at(-1)).toMatchObject({
      method: "ListBooks",
      caller: { isAnonymous: true, accountId: "" },
    });
  });

  test.each<[string, TestRequest, Readonly<Record<string, string>>, number, string]>([
    // what is wrong, request, headers that change after signing, status, what the answer holds
    [
      "an unknown key",
      { method: "GET", target: "/" },
      {
        authorization:
          "AWS4-HMAC-SHA256 Credential=NOBODY/20260102/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=00",
      },
      403,
      "<Code>InvalidAccessKeyId</Code>",
    ],
    [
      "a malformed header",
      { method: "GET", target: "/" },
      { authorization: "AWS4-HMAC-SHA256 Credential=a" },
      400,
      "<Code>AuthorizationHeaderMalformed</Code>",
    ],
    [
      "another region, which names the right one",
      { method: "GET", target: "/" },
      {
        authorization:
          "AWS4-HMAC-SHA256 Credential=QKIATESTTESTTESTTEST/20260102/mars/s3/aws4_request, SignedHeaders=host;x-amz-date, Signature=00",
      },
      400,
      "<Region>us-east-1</Region>",
    ],
    [
      "a header that is not signed",
      { method: "GET", target: "/" },
      { "x-amz-acl": "public-read" },
      403,
      "<HeadersNotSigned>x-amz-acl</HeadersNotSigned>",
    ],
  ])("because of %s", async (_what, request, changed, status, content) => {
    const headers = { ...fixture.sign("object-storage", "amz", request), ...changed };
    const response = await send(fixture.url, request, headers);
    expect(response.status).toBe(status);
    expect(response.body).toContain(content);
  });

  test("because of the clock is told both times", async () => {
    const request = { method: "GET", target: "/" };
    const headers = fixture.sign("object-storage", "amz", request);
    fixture.clock.advance(16 * 60_000);
    const response = await send(fixture.url, request, headers);
    fixture.clock.advance(-16 * 60_000);
    expect(response.status).toBe(403);
    expect(response.body).toContain("<Code>RequestTimeTooSkewed</Code>");
    expect(response.body).toContain("<ServerTime>2026-01-02T03:20:05.000Z</ServerTime>");
  });
});
