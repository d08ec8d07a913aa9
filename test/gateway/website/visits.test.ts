import type { WebsiteConfiguration } from "@aws-sdk/client-s3";
import {
  CreateBucketCommand,
  PutBucketLoggingCommand,
  PutBucketPolicyCommand,
  PutBucketWebsiteCommand,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { describe, expect, test } from "vitest";

import { startStorageClient } from "../support/storage-client.ts";
import type { StorageFixtureParts } from "../support/storage-fixture.ts";

const index: WebsiteConfiguration = { IndexDocument: { Suffix: "index.html" } };

/** The website of `docs`, whose objects everybody may read but those below `private/`. */
const start = async (WebsiteConfiguration: WebsiteConfiguration = index, parts: StorageFixtureParts = {}) => {
  const { client, storage } = await startStorageClient(parts);
  await client.send(new CreateBucketCommand({ Bucket: "docs" }));
  const read = { Principal: "*", Action: ["s3:GetObject", "s3:ListBucket"] };
  const Policy = JSON.stringify({
    Version: "2012-10-17",
    Statement: [
      { ...read, Effect: "Allow", Resource: ["arn:aws:s3:::docs", "arn:aws:s3:::docs/*"] },
      { ...read, Effect: "Deny", Action: "s3:GetObject", Resource: "arn:aws:s3:::docs/private/*" },
    ],
  });
  await client.send(new PutBucketPolicyCommand({ Bucket: "docs", Policy }));
  await client.send(new PutBucketWebsiteCommand({ Bucket: "docs", WebsiteConfiguration }));
  const pages = { "index.html": "home", "guide/index.html": "guide", "a b/é.txt": "text", "oops.html": "sorry" };
  for (const [Key, Body] of Object.entries(pages))
    await client.send(new PutObjectCommand({ Bucket: "docs", Key, Body, ContentType: "text/html" }));
  const host = `docs.site.localhost:${new URL(storage.url).port}`;
  const visit = (target: string, method = "GET", headers: Readonly<Record<string, string>> = {}) =>
    storage.send({ method, target, headers: { ...headers, host } });
  return { client, storage, visit, origin: `http://${host}` };
};

describe("a website", () => {
  test("answers paths with objects, and folders with their index document", async () => {
    const { visit } = await start();
    expect(await visit("/")).toMatchObject({ status: 200, body: "home", headers: { "content-type": "text/html" } });
    expect(await visit("/guide/")).toMatchObject({ status: 200, body: "guide" });
    expect(await visit("/a%20b/%C3%A9.txt?version=1")).toMatchObject({ status: 200, body: "text" });
    expect(await visit("/", "HEAD")).toMatchObject({ status: 200, body: "", headers: { "content-length": "4" } });
  });

  test("sends visitors of a folder without its slash to the folder", async () => {
    const { visit } = await start();
    expect(await visit("/guide")).toMatchObject({ status: 302, headers: { location: "/guide/" } });
  });

  test("sends nobody to another host for a folder whose name begins with a slash", async () => {
    const { client, visit } = await start();
    await client.send(new PutObjectCommand({ Bucket: "docs", Key: "/evil.example/index.html", Body: "own" }));
    const { status, headers } = await visit("//evil.example");
    expect([status, headers["location"]]).toEqual([302, "/%2Fevil.example/"]);
    expect(await visit("/%2Fevil.example/")).toMatchObject({ status: 200, body: "own" });
  });

  test("honours conditions and ranges", async () => {
    const { visit } = await start();
    const { headers } = await visit("/");
    expect((await visit("/", "GET", { "if-none-match": String(headers.etag) })).status).toBe(304);
    expect(await visit("/", "GET", { range: "bytes=1-2" })).toMatchObject({ status: 206, body: "om" });
  });

  test("shows a page where there is no object, or where it may not be read", async () => {
    const { visit } = await start();
    const missing = await visit("/no<p>e");
    expect(missing.status).toBe(404);
    expect(missing.headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(missing.body).toContain("<h1>404 Not Found</h1>\n<ul>\n<li>Code: NoSuchKey</li>\n");
    expect(missing.body).toContain("<li>Key: no&lt;p&gt;e</li>\n");
    expect(await visit("/private/x")).toMatchObject({ status: 403 });
    expect(await visit("/none", "HEAD")).toMatchObject({ status: 404, body: "" });
  });

  test("counts no signature", async () => {
    const { storage, visit } = await start();
    const signed = await storage.call({ method: "GET", target: "/docs/index.html" });
    expect(signed.status).toBe(200);
    const authorization =
      "AWS4-HMAC-SHA256 Credential=X/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";
    expect((await visit("/", "GET", { authorization })).status).toBe(200);
  });

  test.each([["PUT"], ["POST"], ["DELETE"]])("refuses %s", async (method) => {
    const { visit } = await start();
    const { status, body, headers } = await visit("/x", method);
    expect([status, headers.allow]).toEqual([405, "GET, HEAD"]);
    expect(body).toContain("<li>Code: MethodNotAllowed</li>");
  });

  test("of no bucket, and of a bucket without one, is a page with status 404", async () => {
    const { client, storage, visit } = await start();
    await client.send(new CreateBucketCommand({ Bucket: "plain" }));
    expect((await visit("/")).status).toBe(200);
    for (const [bucket, code] of [
      ["plain", "NoSuchWebsiteConfiguration"],
      ["nobody", "NoSuchBucket"],
    ] as const) {
      const { status, body } = await storage.send({
        method: "GET",
        target: "/",
        headers: { host: `${bucket}.site.localhost` },
      });
      expect(status).toBe(404);
      expect(body).toContain(`<li>Code: ${code}</li>`);
    }
  });
});

describe("the error document of a website", () => {
  test("is shown with the status of the error", async () => {
    const { visit } = await start({ ...index, ErrorDocument: { Key: "oops.html" } });
    expect(await visit("/none")).toMatchObject({ status: 404, body: "sorry" });
    expect(await visit("/private/x", "GET", { range: "bytes=0-0" })).toMatchObject({ status: 403, body: "sorry" });
  });

  test("that is missing is named by the page about the error", async () => {
    const { visit } = await start({ ...index, ErrorDocument: { Key: "gone.html" } });
    const { status, body } = await visit("/none");
    expect(status).toBe(404);
    expect(body).toContain("<h3>An Error Occurred While Attempting to Retrieve a Custom Error Document</h3>");
    expect(body).toContain("<li>Key: gone.html</li>");
  });
});

test("an object that fails half-way ends the connection, and nothing else is read", async () => {
  const getObject = async function* () {
    yield { contentLength: 8n, body: Buffer.from("Emma") };
    throw new Error("the rest is lost");
  };
  const { storage, visit } = await start(
    { ...index, ErrorDocument: { Key: "oops.html" } },
    { operations: { getObject } },
  );
  await expect(visit("/")).rejects.toThrow(/socket hang up|aborted/);
  expect(storage.called.filter((name) => name === "GetObject")).toHaveLength(1);
});

describe("a redirect of a website", () => {
  test("of all requests leads to another host", async () => {
    const { visit } = await start({ RedirectAllRequestsTo: { HostName: "example.com", Protocol: "https" } });
    expect(await visit("/a%20b?x=1")).toMatchObject({
      status: 301,
      headers: { location: "https://example.com/a%20b" },
    });
  });

  test("of an object leads where the object says", async () => {
    const { client, visit } = await start();
    const moved = { Bucket: "docs", Key: "old", WebsiteRedirectLocation: "/guide/" };
    await client.send(new PutObjectCommand(moved));
    expect(await visit("/old")).toMatchObject({ status: 301, headers: { location: "/guide/" } });
  });

  test.each([
    // rule, target, status, location
    [
      { Condition: { KeyPrefixEquals: "old/" }, Redirect: { ReplaceKeyPrefixWith: "new/" } },
      "/old/a",
      301,
      "{origin}/new/a",
    ],
    [
      { Condition: { KeyPrefixEquals: "old" }, Redirect: { ReplaceKeyWith: "é", HttpRedirectCode: "307" } },
      "/old/a",
      307,
      "{origin}/%C3%A9",
    ],
    [
      { Condition: { HttpErrorCodeReturnedEquals: "404" }, Redirect: { HostName: "example.com", Protocol: "https" } },
      "/none",
      301,
      "https://example.com/none",
    ],
    [
      { Condition: { HttpErrorCodeReturnedEquals: "403" }, Redirect: { HostName: "example.com" } },
      "/private/x",
      301,
      "http://example.com/private/x",
    ],
    [{ Condition: { HttpErrorCodeReturnedEquals: "403" }, Redirect: { HostName: "h" } }, "/none", 404, undefined],
    [{ Condition: { KeyPrefixEquals: "other" }, Redirect: { HostName: "h" } }, "/", 200, undefined],
  ] as const)("by the rule %o sends %s with %i to %s", async (rule, target, status, location) => {
    const { visit, origin } = await start({ ...index, RoutingRules: [rule] });
    const answer = await visit(target);
    expect([answer.status, answer.headers.location]).toEqual([status, location?.replace("{origin}", origin)]);
  });
});

test("visits are in the bucket's access log", async () => {
  const { client, storage, visit } = await start();
  await client.send(new CreateBucketCommand({ Bucket: "logs" }));
  const Statement = [
    {
      Effect: "Allow",
      Principal: { Service: "logging.s3.amazonaws.com" },
      Action: "s3:*",
      Resource: "arn:aws:s3:::logs/*",
    },
  ];
  const Policy = JSON.stringify({ Version: "2012-10-17", Statement });
  await client.send(new PutBucketPolicyCommand({ Bucket: "logs", Policy }));
  const LoggingEnabled = { TargetBucket: "logs", TargetPrefix: "" };
  await client.send(new PutBucketLoggingCommand({ Bucket: "docs", BucketLoggingStatus: { LoggingEnabled } }));
  await visit("/guide/");
  await storage.deliverLogs();
  const listed = await storage.call({ method: "GET", target: "/logs?list-type=2" });
  const key = /<Key>([^<]+)<\/Key>/.exec(listed.body)?.[1] ?? "";
  const { body } = await storage.call({ method: "GET", target: `/logs/${key}` });
  expect(body).toMatch(/ - \S+ REST\.GET\.OBJECT guide\/index\.html "GET \/guide\/ HTTP\/1\.1" 200 - 5 5 /);
});
