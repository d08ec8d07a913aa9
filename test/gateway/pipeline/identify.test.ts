import { afterAll, describe, expect, test } from "vitest";

import { ErrorReasonSchema as IdentityErrors } from "../../../gen/quartet/identity/v1/error_reason_pb.ts";
import { SecurityTokenService } from "../../../gen/quartet/identity/v1/security_token_service_pb.ts";
import { bindApi } from "../../../gateway/api-binding.ts";
import { dialectsOf } from "../../../gateway/dialects/dialects.ts";
import type { RequestHead } from "../../../gateway/http/request-head.ts";
import { identify } from "../../../gateway/pipeline/identify.ts";
import { parseQuery } from "../../../gateway/http/query.ts";
import { apiServices } from "../../../gateway/services.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";

const transport = createTransport({ address: "http://127.0.0.1:1", engine: "connect" });
afterAll(() => transport.close());

const bindings = new Map(
  Object.entries(apiServices).map(([name, { service, errors }]) => [name, bindApi({ service, errors, transport })]),
);
const options = {
  bindings,
  targetBinding: bindings.get("event-bus"),
  fallbackBinding: bindings.get("object-storage")!,
  dialects: dialectsOf("svc"),
  hosts: ["storage.localhost", "localhost"],
};

const headOf = (target: string, headers: Readonly<Record<string, string>>): RequestHead => {
  const [rawPath = "/", rawQuery = ""] = target.split("?");
  return {
    method: "GET",
    rawPath,
    query: parseQuery(rawQuery),
    headers,
    rawHeaders: Object.entries(headers).flat(),
  };
};

const authorization = (brand: "AWS4" | "SVC4", service: string): string =>
  `${brand}-HMAC-SHA256 Credential=KEY/20260102/us-east-1/${service}/${brand.toLowerCase()}_request, ` +
  `SignedHeaders=host;x-amz-date, Signature=00`;

const host = "127.0.0.1:8080";

describe("which API and dialect a request is for", () => {
  test.each([
    // target, headers, API, dialect, path; in the order in which the hints count
    [
      "/customer-profile/domains",
      { host, authorization: authorization("AWS4", "s3") },
      "customer-profile",
      "amz",
      "/domains",
    ],
    ["/object-storage", { host }, "object-storage", "amz", "/"],
    ["/object-storage/photos/a%2Fb", { host: "event-bus.localhost" }, "object-storage", "amz", "/photos/a%2Fb"],
    [
      "/domains",
      { host: "customer-profile.example.com", authorization: authorization("AWS4", "s3") },
      "customer-profile",
      "amz",
      "/domains",
    ],
    ["/photos", { host: "object-storage.localhost:8080" }, "object-storage", "amz", "/photos"],
    ["/domains", { host, authorization: authorization("AWS4", "profile") }, "customer-profile", "amz", "/domains"],
    [
      "/domains",
      { host, authorization: authorization("SVC4", "customer-profile") },
      "customer-profile",
      "svc",
      "/domains",
    ],
    [
      "/environments",
      { host, authorization: authorization("AWS4", "refactor-spaces") },
      "refactoring-workspace",
      "amz",
      "/environments",
    ],
    [
      "/",
      { host, authorization: authorization("AWS4", "events"), "x-amz-target": "AWSEvents.ListRules" },
      "event-bus",
      "amz",
      "/",
    ],
    ["/a/b", { host, authorization: authorization("AWS4", "s3") }, "object-storage", "amz", "/a/b"],
    ["/a/b", { host, authorization: authorization("AWS4", "s3-object-lambda") }, "object-storage", "amz", "/a/b"],
    ["/a/b", { host, authorization: authorization("AWS4", "s3-outposts") }, "object-storage", "amz", "/a/b"],
    ["/a/b", { host, authorization: authorization("SVC4", "object-storage") }, "object-storage", "svc", "/a/b"],
    // signed for a service that is not here
    ["/v1/pipes", { host, authorization: authorization("AWS4", "pipes") }, "customer-profile", "amz", "/v1/pipes"],
    [
      "/",
      { host, authorization: authorization("AWS4", "dynamodb"), "x-amz-target": "DynamoDB_20120810.ListTables" },
      "event-bus",
      "amz",
      "/",
    ],
    [
      "/photos",
      { host, authorization: authorization("AWS4", "ec2"), "x-amz-content-sha256": "UNSIGNED-PAYLOAD" },
      "object-storage",
      "amz",
      "/photos",
    ],
    ["/", { host, "x-amz-target": "AWSEvents.PutEvents" }, "event-bus", "amz", "/"],
    ["/", { host, "x-svc-target": "EventBus.PutEvents" }, "event-bus", "svc", "/"],
    ["/photos/cat.jpg", { host }, "object-storage", "amz", "/photos/cat.jpg"],
    ["/photos/cat.jpg", { host, "x-svc-checksum-mode": "ENABLED" }, "object-storage", "svc", "/photos/cat.jpg"],
    ["/customer-profiles", { host }, "object-storage", "amz", "/customer-profiles"],
  ])("%s with %o is %s in %s at %s", (target, headers, api, dialect, path) => {
    const identity = identify(headOf(target, headers), options);
    expect([identity.binding.api.name, identity.spelling.dialect.name, identity.path]).toEqual([api, dialect, path]);
  });

  test.each([
    // what stands in the query, API, dialect
    [
      `X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=KEY%2F20260102%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20260102T000000Z&X-Amz-Expires=60&X-Amz-SignedHeaders=host&X-Amz-Signature=0`,
      "object-storage",
      "amz",
    ],
    [
      `X-Svc-Algorithm=SVC4-HMAC-SHA256&X-Svc-Credential=KEY%2F20260102%2Fus-east-1%2Fevent-bus%2Fsvc4_request&X-Svc-Date=20260102T000000Z&X-Svc-Expires=60&X-Svc-SignedHeaders=host&X-Svc-Signature=0`,
      "event-bus",
      "svc",
    ],
  ])("a signed query %s is read", (query, api, dialect) => {
    const identity = identify(headOf(`/?${query}`, { host }), options);
    expect([identity.binding.api.name, identity.spelling.dialect.name]).toEqual([api, dialect]);
  });

  test.each([
    // host, path seen by the API
    ["photos.localhost:8080", "/photos/cat.jpg"],
    ["my.photos.localhost", "/my.photos/cat.jpg"],
    ["photos.storage.localhost", "/photos/cat.jpg"],
    ["photos.object-storage.localhost", "/photos/cat.jpg"],
    ["photos.s3.us-east-1.localhost", "/photos/cat.jpg"],
    ["s3.us-east-1.localhost", "/cat.jpg"],
    ["s3.localhost", "/cat.jpg"],
    ["my.photos.s3.localhost", "/my.photos/cat.jpg"],
    ["photos.us-east-1.localhost", "/photos.us-east-1/cat.jpg"],
    ["photos.object-storage.example.com", "/photos/cat.jpg"],
    ["localhost", "/cat.jpg"],
    ["127.0.0.1:8080", "/cat.jpg"],
    ["example.com", "/cat.jpg"],
  ])("the host %s names the first segment of %s", (name, path) => {
    expect(identify(headOf("/cat.jpg", { host: name }), options).path).toBe(path);
  });

  test("a long host names no region, and is read in time that grows with its length", () => {
    const labels = "-ab".repeat(100_000);
    const { path } = identify(headOf("/cat.jpg", { host: `photos${labels}.s3.us-east-1.localhost` }), options);
    expect(path === `/photos${labels}.s3.us-east-1/cat.jpg`).toBe(true);
  });

  test("a bucket in the host is no bucket of another API", () => {
    const head = headOf("/domains", { host: "photos.localhost", authorization: authorization("AWS4", "profile") });
    expect(identify(head, options).path).toBe("/domains");
  });

  test("the word of the documented dialect can be chosen", () => {
    const dialects = dialectsOf("acme");
    const head = headOf("/", { host, authorization: "ACME4-HMAC-SHA256 Credential=a" });
    const { spelling } = identify(head, { ...options, dialects });
    expect(spelling.header("x-svc-copy-source")).toBe("x-acme-copy-source");
    expect(spelling.header("x-svc-server-side-encryption-svc-kms-key-id")).toBe(
      "x-acme-server-side-encryption-acme-kms-key-id",
    );
    expect(spelling.value("svc:kms")).toBe("acme:kms");
    expect(spelling.arn("arn:aws:events:us-east-1:1:rule/a")).toBe("arn:acme:events:us-east-1:1:rule/a");
    expect(() => dialectsOf("amz")).toThrow("the brand word");
  });
});

test("what was found for one host, credential or gateway does not count for another", () => {
  const elsewhere = { ...options, hosts: ["example.com"] };
  const placeOf = (gateway: typeof options, target: string, headers: Readonly<Record<string, string>>): string => {
    const { binding, path } = identify(headOf(target, headers), gateway);
    return `${binding.api.name} ${path}`;
  };
  const bucket = { host: "photos.localhost" };
  const events = { host, authorization: authorization("AWS4", "events") };
  const storage = { host, authorization: authorization("AWS4", "s3") };
  expect([
    placeOf(options, "/a", bucket),
    placeOf(elsewhere, "/a", bucket),
    placeOf(options, "/a", bucket),
    placeOf(options, "/a", { host: "Photos.Localhost:80" }),
    placeOf(options, "/a", events),
    placeOf(options, "/a", storage),
    placeOf(options, "/a", events),
    placeOf(options, "/a", { ...storage, authorization: storage.authorization.replace("/s3/", "/s3-outposts/") }),
    placeOf(options, "/a", { ...bucket, authorization: events.authorization }),
  ]).toEqual([
    "object-storage /photos/a",
    "object-storage /a",
    "object-storage /photos/a",
    "object-storage /photos/a",
    "event-bus /a",
    "object-storage /a",
    "event-bus /a",
    "object-storage /a",
    "event-bus /a",
  ]);
});

describe("a request of the query protocol that nobody signed", () => {
  const sts = bindApi({ service: SecurityTokenService, errors: IdentityErrors, transport });
  const withTokens = { ...options, bindings: new Map([...bindings, [sts.api.name, sts]]) };
  const form = { host, "content-type": "application/x-www-form-urlencoded; charset=utf-8" };
  const signed = { ...form, authorization: authorization("AWS4", "s3") };
  test.each([
    // method, target, headers, API
    ["POST", "/", form, "security-token"],
    ["GET", `/?Action=A&Version=${sts.api.version}`, { host }, "security-token"],
    ["GET", "/?Action=A&Version=2000-01-01", { host }, "object-storage"],
    ["GET", `/?Version=${sts.api.version}`, { host }, "object-storage"],
    ["GET", "/", form, "object-storage"],
    ["POST", "/", { host, "content-type": "multipart/form-data" }, "object-storage"],
    ["POST", "/photos", form, "object-storage"],
    ["POST", "/", signed, "object-storage"],
    ["POST", "/", { ...form, authorization: authorization("AWS4", "sns") }, "security-token"],
    ["GET", `/photos?Action=A&Version=${sts.api.version}`, { host }, "object-storage"],
  ] as const)("%s %s is recognized by its form or its version", (method, target, headers, api) => {
    expect(identify({ ...headOf(target, headers), method }, withTokens).binding.api.name).toBe(api);
  });
});
