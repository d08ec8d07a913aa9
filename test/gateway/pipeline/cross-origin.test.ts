import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { findOriginRule, originHeaders } from "../../../gateway/cross-origin/origin-rule.ts";
import type { StorageFixture } from "../support/storage-fixture.ts";
import { startStorageFixture } from "../support/storage-fixture.ts";
import { turnsOf } from "../../support/turns.ts";

const rule = (...parts: readonly string[]): string => `<CORSRule>${parts.join("")}</CORSRule>`;
const configuration = (...rules: readonly string[]): string =>
  `<CORSConfiguration>${rules.join("")}</CORSConfiguration>`;

const readers = rule(
  "<ID>readers</ID><AllowedOrigin>https://*.ada.example</AllowedOrigin><AllowedMethod>GET</AllowedMethod>",
  "<AllowedMethod>HEAD</AllowedMethod><AllowedHeader>x-amz-*</AllowedHeader><AllowedHeader>Range</AllowedHeader>",
  "<ExposeHeader>ETag</ExposeHeader><ExposeHeader>x-amz-request-id</ExposeHeader><MaxAgeSeconds>600</MaxAgeSeconds>",
);
const writers = rule(
  "<AllowedOrigin>https://write.ada.example</AllowedOrigin><AllowedMethod>PUT</AllowedMethod>",
  "<AllowedMethod>GET</AllowedMethod><AllowedHeader>*</AllowedHeader>",
);
const everybody = rule("<AllowedOrigin>*</AllowedOrigin><AllowedMethod>DELETE</AllowedMethod>");

let storage: StorageFixture;
beforeAll(async () => {
  storage = await startStorageFixture({ allowedOrigins: ["https://console.example"] });
  await storage.call({ method: "PUT", target: "/photos" });
  await storage.call({ method: "PUT", target: "/plain" });
  await storage.call({ method: "PUT", target: "/photos/cat.jpg", body: "meow" });
  const body = configuration(readers, writers, everybody);
  await storage.call({ method: "PUT", target: "/photos?cors", body });
});
afterAll(() => storage.stop());

const corsHeaders = (headers: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name === "vary" || name.startsWith("access-control-")));

const vary = "Origin, Access-Control-Request-Headers, Access-Control-Request-Method";

const question = (origin: string, method: string, headers?: string): Record<string, string> => ({
  origin,
  "access-control-request-method": method,
  ...(headers === undefined ? {} : { "access-control-request-headers": headers }),
});

describe("a preflight request", () => {
  test.each<[string, Record<string, string>, Record<string, string>]>([
    // what fits, headers, headers of the answer
    [
      "the first rule, with a wildcard in the origin and headers in any case",
      question("https://read.ada.example", "GET", "X-Amz-Date, range"),
      {
        "access-control-allow-origin": "https://read.ada.example",
        "access-control-allow-credentials": "true",
        "access-control-allow-methods": "GET, HEAD",
        "access-control-allow-headers": "x-amz-date, range",
        "access-control-expose-headers": "ETag, x-amz-request-id",
        "access-control-max-age": "600",
        vary,
      },
    ],
    [
      "the first of two rules",
      question("https://write.ada.example", "GET"),
      {
        "access-control-allow-origin": "https://write.ada.example",
        "access-control-allow-credentials": "true",
        "access-control-allow-methods": "GET, HEAD",
        "access-control-expose-headers": "ETag, x-amz-request-id",
        "access-control-max-age": "600",
        vary,
      },
    ],
    [
      "the second rule, because the first does not allow every header",
      question("https://write.ada.example", "GET", "x-other"),
      {
        "access-control-allow-origin": "https://write.ada.example",
        "access-control-allow-credentials": "true",
        "access-control-allow-methods": "PUT, GET",
        "access-control-allow-headers": "x-other",
        vary,
      },
    ],
    [
      "the rule for everybody, who gets no credentials",
      question("null", "DELETE"),
      { "access-control-allow-origin": "*", "access-control-allow-methods": "DELETE", vary },
    ],
  ])("is answered by %s", async (_what, headers, expected) => {
    const response = await storage.send({ method: "OPTIONS", target: "/photos/cat.jpg", headers });
    expect(response.status).toBe(200);
    expect(response.body).toBe("");
    expect(response.headers).toMatchObject({ "content-length": "0", "x-amz-request-id": expect.any(String) });
    expect(corsHeaders(response.headers)).toEqual(expected);
  });

  test("is answered for a bucket in the host name, and for one without objects", async () => {
    const headers = question("https://read.ada.example", "GET");
    const hosted = { method: "OPTIONS", target: "/cat.jpg", host: "photos.localhost", headers };
    expect((await storage.send(hosted)).status).toBe(200);
    expect((await storage.send({ method: "OPTIONS", target: "/photos/", headers })).status).toBe(200);
    expect((await storage.send({ method: "OPTIONS", target: "/object-storage/photos", headers })).status).toBe(200);
  });

  const noRuleFits = "This CORS request is not allowed.";
  test.each<[string, string, Record<string, string>, number, string, string]>([
    // what is wrong, target, headers, status, code, message; in the order of refusal
    ["no origin", "/photos/a", { "access-control-request-method": "GET" }, 400, "BadRequest", "Origin request header"],
    ["no bucket", "/", question("https://a", "GET"), 403, "AccessForbidden", "Bucket not found"],
    ["an unknown bucket", "/unknown/a", question("https://a", "GET"), 403, "AccessForbidden", "Bucket not found"],
    ["no name of a bucket", "/__proto__/a", question("https://a", "GET"), 403, "AccessForbidden", "Bucket not found"],
    [
      "no rules",
      "/plain/a",
      question("https://a", "GET"),
      403,
      "AccessForbidden",
      "CORS is not enabled for this bucket",
    ],
    ["another origin", "/photos/a", question("https://ada.example", "GET"), 403, "AccessForbidden", noRuleFits],
    ["another method", "/photos/a", question("https://read.ada.example", "PUT"), 403, "AccessForbidden", noRuleFits],
    ["no origin", "/photos/a", question("", "GET"), 400, "BadRequest", "Origin request header needed"],
    [
      "no method",
      "/photos/a",
      { origin: "https://read.ada.example" },
      400,
      "BadRequest",
      "Invalid Access-Control-Request-Method: null",
    ],
    [
      "a method that nobody knows",
      "/photos/a",
      question("https://read.ada.example", "FETCH"),
      400,
      "BadRequest",
      "Invalid Access-Control-Request-Method: FETCH",
    ],
    [
      "a header that cannot be one",
      "/photos/a",
      question("https://read.ada.example", "GET", "x-a, b c"),
      400,
      "BadRequest",
      "Invalid Access-Control-Request-Headers: x-a, b c",
    ],
    [
      "another header",
      "/photos/a",
      question("https://read.ada.example", "GET", "x-a"),
      403,
      "AccessForbidden",
      noRuleFits,
    ],
    ["a broken path", "/photos%/a", question("https://a", "GET"), 400, "InvalidURI", "Couldn't parse"],
    ["a broken bucket", "/%FF/a", question("https://a", "GET"), 400, "InvalidURI", "Couldn't parse"],
  ])("is refused with %s", async (_what, target, headers, status, code, message) => {
    const response = await storage.send({ method: "OPTIONS", target, headers });
    expect(response.status).toBe(status);
    expect(response.body).toContain(`<Code>${code}</Code>`);
    expect(response.body).toContain(message);
    expect(corsHeaders(response.headers)).toEqual({});
  });
});

describe("an answer to a request with an origin", () => {
  const headers = { origin: "https://read.ada.example" };
  const allowed = {
    "access-control-allow-origin": "https://read.ada.example",
    "access-control-allow-credentials": "true",
    "access-control-allow-methods": "GET, HEAD",
    "access-control-expose-headers": "ETag, x-amz-request-id",
    "access-control-max-age": "600",
    vary,
  };

  test("has the headers of the first rule that fits, also when it is a refusal", async () => {
    const found = await storage.call({ method: "GET", target: "/photos/cat.jpg", headers });
    expect([found.status, found.body]).toEqual([200, "meow"]);
    expect(corsHeaders(found.headers)).toEqual(allowed);
    const missing = await storage.call({ method: "GET", target: "/photos/dog.jpg", headers });
    expect([missing.status, corsHeaders(missing.headers)]).toEqual([404, allowed]);
    const unsigned = await storage.send({ method: "GET", target: "/photos/cat.jpg", headers });
    expect([unsigned.status, corsHeaders(unsigned.headers)]).toEqual([403, allowed]);
  });

  test("is served without them when no rule fits, whatever headers the script wanted to send", async () => {
    const other = await storage.call({
      method: "GET",
      target: "/photos/cat.jpg",
      headers: { origin: "https://b.example" },
    });
    expect([other.status, other.body, corsHeaders(other.headers)]).toEqual([200, "meow", {}]);
    const wanted = { ...headers, "access-control-request-headers": "x-a,range" };
    const asked = await storage.call({ method: "GET", target: "/photos/cat.jpg", headers: wanted });
    expect(corsHeaders(asked.headers)).toEqual({ ...allowed, "access-control-allow-headers": "range" });
  });

  test("shows a changed configuration after half a second", async () => {
    await storage.call({ method: "PUT", target: "/changing" });
    const ask = async () => {
      const response = await storage.send({
        method: "OPTIONS",
        target: "/changing/a",
        headers: question("https://read.ada.example", "GET"),
      });
      return response.status;
    };
    expect(await ask()).toBe(403);
    await storage.call({ method: "PUT", target: "/changing?cors", body: configuration(readers) });
    storage.clock.advance(500);
    expect(await ask()).toBe(200);
    await storage.call({ method: "DELETE", target: "/changing?cors" });
    storage.clock.advance(500);
    expect(await ask()).toBe(403);
  });
});

test("rules cost no call where no origin is told, and one for many requests where one is", async () => {
  storage.clock.advance(500);
  storage.called.length = 0;
  await storage.call({ method: "GET", target: "/photos/cat.jpg" });
  expect(storage.called).toEqual(["GetObject"]);
  const headers = { origin: "https://read.ada.example" };
  for (let round = 0; round < 3; round += 1) await storage.call({ method: "GET", target: "/photos/cat.jpg", headers });
  expect(storage.called).toEqual(["GetObject", "GetBucketCors", "GetObject", "GetObject", "GetObject"]);
});

test("nobody but the gateway is told the rules of another's bucket", async () => {
  const response = await storage.send({ method: "GET", target: "/photos?cors" });
  expect(response.status).toBe(403);
  expect(response.body).toContain("<Code>AccessDenied</Code>");
});

test("while object storage is away, preflight requests are told so, and requests are answered as ever", async () => {
  const away = await startStorageFixture();
  onTestFinished(() => away.stop());
  await away.stopService();
  const headers = question("https://read.ada.example", "GET");
  expect((await away.send({ method: "OPTIONS", target: "/photos/a", headers })).status).toBe(503);
  expect((await away.send({ method: "GET", target: "/photos/a", headers })).status).toBe(503);
});

describe("the JSON APIs", () => {
  const ask = (origin: string) =>
    storage.send({
      method: "OPTIONS",
      target: "/customer-profile/readers/Ada",
      headers: question(origin, "POST", "x-amz-date"),
    });

  test("let scripts of the installation's origins call", async () => {
    const response = await ask("https://console.example");
    expect(response.status).toBe(200);
    expect(corsHeaders(response.headers)).toEqual({
      "access-control-allow-origin": "https://console.example",
      "access-control-allow-credentials": "true",
      "access-control-allow-methods": "GET, PUT, POST, PATCH, DELETE",
      "access-control-allow-headers": "x-amz-date",
      "access-control-expose-headers": "*",
      vary,
    });
    const target = "/customer-profile/readers/Ada";
    const refused = await storage.send({ method: "POST", target, headers: { origin: "https://console.example" } });
    expect(refused.status).toBe(403);
    expect(refused.headers["access-control-allow-origin"]).toBe("https://console.example");
  });

  test("refuse those of all others", async () => {
    const response = await ask("https://other.example");
    expect(response.status).toBe(403);
    expect(JSON.parse(response.body)).toMatchObject({
      __type: "AccessDeniedException",
      Message: "Scripts of this origin are not allowed to send this request.",
    });
  });
});

test.each<[string, string, boolean]>([
  // pattern, origin, fits
  ["*", "https://a", true],
  ["https://a", "https://a", true],
  ["https://a", "https://A", false],
  ["https://a", "https://a:80", false],
  ["https://*.a", "https://b.a", true],
  ["https://*.a", "https://.a", true],
  ["https://*.a", "https://a", false],
  ["https://a*", "https://a", true],
  ["https://a*a", "https://a", false],
  ["https://a.b", "https://axb", false],
])("the pattern %s and the origin %s fit: %s", (pattern, origin, isFitting) => {
  const only = { allowedOrigins: [pattern], allowedMethods: ["GET"], allowedHeaders: [], exposeHeaders: [] };
  const request = { origin, method: "GET", headers: undefined };
  expect(findOriginRule([only], request, true) === only).toBe(isFitting);
  expect(originHeaders(only, request)["access-control-allow-methods"]).toBe("GET");
});

test.each<[string, string, boolean]>([
  // pattern, header, fits
  ["*", "x-a", true],
  ["X-A", "x-a", true],
  ["x-*", "X-", true],
  ["x-*", "y-a", false],
  ["*-a", "x-a", true],
  ["*-a", "x-b", false],
  ["x-*-a", "x-b-a", true],
  ["x-*-a", "x-a", false],
])("the pattern %s and the header %s fit: %s", (pattern, headers, isFitting) => {
  const only = { allowedOrigins: ["*"], allowedMethods: ["GET"], allowedHeaders: ["y", pattern], exposeHeaders: [] };
  const request = { origin: "https://a", method: "GET", headers };
  expect(findOriginRule([only], request, true) === only).toBe(isFitting);
  expect(originHeaders(only, request)["access-control-allow-headers"]).toBe(
    isFitting ? headers.toLowerCase() : undefined,
  );
});

test("many patterns and many headers are compared in time that grows with their sum", () => {
  const allowedHeaders = [...Array.from({ length: 60_000 }, (_none, index) => `z${index}*-`), "z", "a*"];
  const only = { allowedOrigins: ["*"], allowedMethods: ["GET"], allowedHeaders, exposeHeaders: [] };
  const request = { origin: "https://a", method: "GET", headers: "a,".repeat(60_000) };
  expect(findOriginRule([only], request, true) === only).toBe(true);
});

test("different names of a request take little time to compare with 1,700 shapes of patterns", async () => {
  const shapes = Array.from({ length: 58 }, (_none, before) =>
    Array.from({ length: 58 - before }, (_all, after) => `${"a".repeat(before)}*${"b".repeat(after)}c`),
  ).flat();
  const only = { allowedOrigins: ["*"], allowedMethods: ["GET"], allowedHeaders: shapes, exposeHeaders: [] };
  const name = (index: number): string => `${"a".repeat(28)}${String(index).padStart(4, "0")}${"b".repeat(28)}`;
  const asking = (count: number): string => Array.from({ length: count }, (_none, index) => name(index)).join(",");
  const request = { origin: "https://a", method: "GET", headers: asking(540) };
  expect([shapes.length, request.headers.length]).toEqual([1_711, 32_939]);
  const turns = await turnsOf(async () => {
    for (let count = 0; count < 20; count += 1) findOriginRule([only], request, true);
  });
  expect(turns.all).toBeLessThan(400);
  const allowing = { ...only, allowedHeaders: ["a*b"] };
  expect(findOriginRule([allowing], { ...request, headers: asking(100) }, true)).toBe(allowing);
  expect(findOriginRule([allowing], { ...request, headers: asking(101) }, true)).toBeUndefined();
});
