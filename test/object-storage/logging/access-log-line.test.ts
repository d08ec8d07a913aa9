import { describe, expect, test } from "vitest";

import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { accessLogLine } from "../../../services/object-storage/domain/access-log-line.ts";
import { logOperation } from "../../../services/object-storage/domain/access-log-operation.ts";
import { decodeSubject, encodeSubject } from "../../../services/object-storage/logging/subject.ts";

const owner = "79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be";
const logged = { bucketId: "b", bucket: "photos", owner, operation: "REST.GET.OBJECT" };
const facts = {
  timeMs: BigInt(Date.UTC(2019, 1, 6, 0, 0, 38)),
  requestId: "3E57427F33A59F07",
  hostId: "host-id",
  remoteAddress: "192.0.2.3",
  method: "GET",
  target: "/photos/2019/a%20b.jpg?versionId=v1",
  protocol: "HTTP/1.1",
  status: 200,
  errorCode: "",
  bytesSent: 113n,
  totalMs: 7n,
  turnAroundMs: 3n,
  host: "photos.localhost:8080",
  referer: "",
  userAgent: "S3Console/0.4",
  signatureVersion: "AWS4-HMAC-SHA256",
  authType: "REST-HEADER",
  cipherSuite: "TLS_AES_128_GCM_SHA256",
  tlsVersion: "TLSv1.3",
};

describe("a line of an access log", () => {
  test("has the documented 26 fields", () => {
    const request = { ...logged, requester: owner, key: "2019/a b.jpg", versionId: "v1", sizeBytes: 226 };
    expect(accessLogLine(request, facts)).toBe(
      `${owner} photos [06/Feb/2019:00:00:38 +0000] 192.0.2.3 ${owner} 3E57427F33A59F07 REST.GET.OBJECT 2019/a%20b.jpg ` +
        `"GET /photos/2019/a%20b.jpg?versionId=v1 HTTP/1.1" 200 - 113 226 7 3 "-" "S3Console/0.4" v1 host-id SigV4 ` +
        `TLS_AES_128_GCM_SHA256 AuthHeader photos.localhost:8080 TLSv1.3 - -`,
    );
  });

  test("has hyphens for what is not known", () => {
    const unknown = {
      ...facts,
      bytesSent: 0n,
      turnAroundMs: 0n,
      hostId: "",
      remoteAddress: "",
      method: "",
      userAgent: "",
      signatureVersion: "",
      authType: "",
      cipherSuite: "",
      tlsVersion: "",
      host: "",
      status: 403,
      errorCode: "AccessDenied",
    };
    expect(accessLogLine(logged, unknown)).toBe(
      `${owner} photos [06/Feb/2019:00:00:38 +0000] - - 3E57427F33A59F07 REST.GET.OBJECT - "-" 403 AccessDenied - - 7 - ` +
        `"-" "-" - - - - - - - - -`,
    );
  });

  test.each([
    // text of the client, as it is written
    ['a "b"', '"a \\x22b\\x22"'],
    ["a\nb\\", '"a\\x0Ab\\x5C"'],
    ["é", '"\\xC3\\xA9"'],
  ])("cannot be forged by the agent %j", (userAgent, written) => {
    expect(accessLogLine(logged, { ...facts, userAgent })).toContain(` ${written} `);
  });
});

test.each([
  // method, operation
  ["GetObject", "REST.GET.OBJECT"],
  ["DeleteObjects", "REST.POST.MULTI_OBJECT_DELETE"],
  ["ListObjectsV2", "REST.GET.BUCKET"],
  ["GetBucketLogging", "REST.GET.LOGGING_STATUS"],
  ["PutBucketLifecycleConfiguration", "REST.PUT.LIFECYCLE"],
  ["GetBucketAcl", "REST.GET.ACL"],
  ["PutObjectTagging", "REST.PUT.OBJECT_TAGGING"],
  ["ListBucketInventoryConfigurations", "REST.GET.INVENTORY"],
  ["GetPublicAccessBlock", "REST.GET.PUBLIC_ACCESS_BLOCK"],
])("%s is named %s", (method, operation) => {
  expect(logOperation(method)).toBe(operation);
});

test("every method has a name of three parts", () => {
  const names = ObjectStorageService.methods.map(({ name }) => logOperation(name));
  expect(names.filter((name) => !/^REST\.(?:GET|PUT|POST|DELETE|HEAD|COPY|[A-Z]+)\.[A-Z_0-9]+$/.test(name))).toEqual(
    [],
  );
});

describe("the subject of a report", () => {
  test("is read as it was written", () => {
    const request = { ...logged, key: "é\n", sizeBytes: 3 };
    expect(encodeSubject([request])).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(decodeSubject(encodeSubject([request]))).toEqual([request]);
  });

  test.each([["!"], [""], [Buffer.from('[{"bucket":1}]').toString("base64url")]])("%j is none", (subject) => {
    expect(decodeSubject(subject)).toEqual([]);
  });
});
