import { createHash } from "node:crypto";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { DigestAlgorithm } from "../../../services/kit/digests/digest.ts";
import { openDigest } from "../../../services/kit/digests/digest.ts";
import { amzDialect } from "../../../gateway/dialects/amz.ts";
import { formBody, formHeaders, signPolicy } from "../support/form.ts";
import type { StorageFixture } from "../support/storage-fixture.ts";
import { startStorageFixture } from "../support/storage-fixture.ts";

const versioned = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";

let storage: StorageFixture;
beforeAll(async () => {
  storage = await startStorageFixture();
  await storage.call({ method: "PUT", target: "/photos" });
});
afterAll(() => storage.stop());

describe("an answer of object storage", () => {
  test("names instants to the second, as Last-Modified does, so that clients can compare them", async () => {
    storage.clock.set(Date.UTC(2026, 0, 2, 3, 4, 5, 678));
    await storage.call({ method: "PUT", target: "/instants" });
    await storage.call({ method: "PUT", target: "/instants?versioning", body: versioned });
    await storage.call({ method: "PUT", target: "/instants/a", body: "meow" });
    const copy = { method: "PUT", target: "/instants/b", headers: { "x-amz-copy-source": "/instants/a" } };
    const copied = await storage.call(copy);
    await storage.call({ method: "DELETE", target: "/instants/b" });
    const started = await storage.call({ method: "POST", target: "/instants/c?uploads" });
    const uploadId = /<UploadId>([^<]+)/.exec(started.body)?.[1] ?? "";
    const part = await storage.call({ ...copy, target: `/instants/c?partNumber=1&uploadId=${uploadId}` });
    const targets = ["/?prefix=instants", "/instants", "/instants?list-type=2", "/instants?versions"];
    targets.push("/instants?uploads", `/instants/c?uploadId=${uploadId}`);
    const listings = await Promise.all(targets.map((target) => storage.call({ method: "GET", target })));

    const instants = (body: string): string[] =>
      body.match(/(?<=<(?:LastModified|CreationDate|Initiated)>)[^<]+/g) ?? [];
    const found = [copied, part, ...listings].map(({ body }) => instants(body));
    expect(found.map(({ length }) => length)).toEqual([1, 1, 1, 1, 1, 3, 1, 1]);
    expect(new Set(found.flat())).toEqual(new Set(["2026-01-02T03:04:05.000Z"]));
    const read = await storage.call({ method: "HEAD", target: "/instants/a" });
    expect(read.headers["last-modified"]).toBe("Fri, 02 Jan 2026 03:04:05 GMT");
  });

  const crc32c = "x-amz-checksum-crc32c";
  const ofMeow = "u86qsg==";

  test.each([
    ["with the checksum", "CRC32C", { [crc32c]: ofMeow }, 204, ofMeow],
    ["alone", "CRC32C", {}, 204, ofMeow],
    ["with a checksum of other bytes", "CRC32C", { [crc32c]: "AAAAAA==" }, 400, undefined],
    ["of which there is none", "CRC33", {}, 400, undefined],
  ])("to a form may name the algorithm of its checksum, %s", async (_name, algorithm, given, status, checksum) => {
    const fields = { key: "form", "x-amz-checksum-algorithm": algorithm, ...given };
    const conditions = [
      { bucket: "photos" },
      ...Object.entries(fields).map(([name, value]) => ({ [name]: value })),
      ...["algorithm", "credential", "date"].map((name) => ["starts-with", `$x-amz-${name}`, ""]),
    ];
    const policy = Buffer.from(JSON.stringify({ expiration: "2026-01-02T04:00:00.000Z", conditions })).toString(
      "base64",
    );
    storage.clock.set(Date.UTC(2026, 0, 2, 3, 4, 5));
    const body = formBody(signPolicy(amzDialect, policy, fields), "meow");
    const response = await storage.send({ method: "POST", target: "/photos", headers: formHeaders, body });
    expect([response.status, response.headers[crc32c]]).toEqual([status, checksum]);
  });

  test("lists versions and delete markers in one order, newest first, as some clients read them", async () => {
    await storage.call({ method: "PUT", target: "/ordered" });
    await storage.call({ method: "PUT", target: "/ordered?versioning", body: versioned });
    for (const [method, key] of [
      ["PUT", "a"],
      ["DELETE", "a"],
      ["PUT", "a"],
      ["PUT", "b"],
      ["DELETE", "b"],
      ["DELETE", "c"],
    ] as const)
      await storage.call({ method, target: `/ordered/${key}`, ...(method === "PUT" && { body: "meow" }) });
    const { body } = await storage.call({ method: "GET", target: "/ordered?versions" });
    const elements = body.match(/<(?:Version|DeleteMarker)>.*?<\/Key>/g) ?? [];
    const listed = elements.map((element) => element.replace(/^<(\w+)>.*<Key>(.*)<\/Key>$/, "$1 $2"));
    expect(listed).toEqual([
      "Version a",
      "DeleteMarker a",
      "Version a",
      "DeleteMarker b",
      "Version b",
      "DeleteMarker c",
    ]);
    expect(body).not.toContain("Positions");
  });

  test.each(["GET", "HEAD"])("that nothing has changed has the validators, to %s", async (method) => {
    await storage.call({ method: "PUT", target: "/photos/cat.jpg", body: "meow" });
    const fresh = await storage.call({ method: "GET", target: "/photos/cat.jpg" });
    const eTag = `"${createHash("md5").update("meow").digest("hex")}"`;

    const headers = { "if-none-match": eTag };
    const response = await storage.call({ method, target: "/photos/cat.jpg", headers });

    expect(response.status).toBe(304);
    expect(response.body).toBe("");
    expect(response.headers).toMatchObject({ etag: eTag, "last-modified": fresh.headers["last-modified"] });
  });

  test("to the rest of an object that changed is the whole of it", async () => {
    await storage.call({ method: "PUT", target: "/photos/cat.jpg", body: "meow" });
    const headers = { range: "bytes=2-", "if-range": `"${createHash("md5").update("purr").digest("hex")}"` };
    const response = await storage.call({ method: "GET", target: "/photos/cat.jpg", headers });
    expect([response.status, response.body]).toEqual([200, "meow"]);
  });

  test.each([
    // header, value, members of the refusal
    [
      "content-md5",
      "AAAAAAAAAAAAAAAAAAAAAA==",
      [
        "<Code>BadDigest</Code>",
        "<CalculatedDigest>SkvkDJasYxTpHZPzgEOmNA==</CalculatedDigest>",
        "<ExpectedDigest>AAAAAAAAAAAAAAAAAAAAAA==</ExpectedDigest>",
      ],
    ],
    ["content-md5", "AAAA", ["<Code>InvalidDigest</Code>", "<Content-MD5>AAAA</Content-MD5>"]],
    ["x-amz-website-redirect-location", "elsewhere", ["<Code>InvalidRedirectLocation</Code>"]],
  ])("to an upload with the %s %s has the members that clients know", async (header, value, members) => {
    const request = { method: "PUT", target: "/photos/cat.jpg", headers: { [header]: value }, body: "meow" };
    const response = await storage.call(request);
    expect(response.status).toBe(400);
    for (const member of members) expect(response.body).toContain(member);
  });

  test.each(["GET", "HEAD"])("refuses a %s that names an encryption at rest", async (method) => {
    await storage.call({ method: "PUT", target: "/photos/cat.jpg", body: "meow" });
    const headers = { "x-amz-server-side-encryption": "AES256" };
    expect((await storage.call({ method, target: "/photos/cat.jpg", headers })).status).toBe(400);
  });

  test("to a listing without the list of attributes says what is missing", async () => {
    const response = await storage.call({ method: "GET", target: "/photos/cat.jpg?attributes" });
    expect(response.status).toBe(400);
    expect(response.body).toContain("<Code>InvalidRequest</Code>");
    expect(response.body).toContain("The x-amz-object-attributes header");
  });

  test("about a delete marker has its headers, also where it refuses", async () => {
    const body = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    await storage.call({ method: "PUT", target: "/versioned" });
    await storage.call({ method: "PUT", target: "/versioned?versioning", body });
    const target = "/versioned/cat.jpg";
    const made = await storage.call({ method: "PUT", target, body: "meow" });
    const marker = await storage.call({ method: "DELETE", target });
    const version = (response: { headers: object }): string =>
      String((response.headers as Record<string, unknown>)["x-amz-version-id"]);
    expect(marker.headers).toMatchObject({ "x-amz-delete-marker": "true" });

    for (const method of ["GET", "HEAD"]) {
      const missing = await storage.call({ method, target });
      expect(missing.status).toBe(404);
      const shown = { "x-amz-delete-marker": "true", "x-amz-version-id": version(marker) };
      expect(missing.headers).toMatchObject(shown);
      const refused = await storage.call({ method, target: `${target}?versionId=${version(marker)}` });
      expect(refused.status).toBe(405);
      expect(refused.headers).toMatchObject({ ...shown, allow: "DELETE" });
      const old = await storage.call({ method, target: `${target}?versionId=${version(made)}` });
      expect(old.status).toBe(200);
      expect(old.headers).toMatchObject({ "x-amz-version-id": version(made) });
    }
    const listing = await storage.call({ method: "GET", target: "/versioned?versions" });
    expect(listing.body).toContain(`<DeleteMarker>`);
    expect(listing.body).toContain(`<VersionId>${version(made)}</VersionId>`);
  });

  test.each([
    // algorithm of the trailer, its value for "meow", status
    ["crc32c", "HdiEgg==", 400],
    ["sha256", "QEBk3x4TTWgEcOL8XCOFfsmA6xjkTdd4F6oqi4TyL3A=", 400],
  ])("to an upload depends on the trailer that was announced: %s %s", async (algorithm, value, status) => {
    const trailer = `x-amz-checksum-${algorithm}`;
    const digest = await openDigest(algorithm.toUpperCase() as DigestAlgorithm);
    digest.update(Buffer.from("meow"));
    const right = Buffer.from(digest.finish()).toString("base64");
    const upload = (given: string) =>
      storage.call({
        method: "PUT",
        target: "/photos/trailed",
        headers: {
          "content-encoding": "aws-chunked",
          "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
          "x-amz-decoded-content-length": "4",
          "x-amz-trailer": trailer,
        },
        body: `4\r\nmeow\r\n0\r\n${trailer}:${given}\r\n\r\n`,
      });
    expect((await upload(value)).status).toBe(status);
    const stored = await upload(right);
    expect(stored.status).toBe(200);
    expect(stored.headers).toMatchObject({ [trailer]: right });
  });

  test.each([
    // checksum header of the object in the request that completes an upload, status
    ["x-amz-checksum-crc32", "ihBq/g==", 200],
    ["x-amz-checksum-crc32", "AAAAAA==", 400],
  ])(
    "to completing an upload depends on the object's checksum, not on the document's: %s %s",
    async (name, value, status) => {
      const algorithm = { "x-amz-checksum-algorithm": "CRC32", "x-amz-checksum-type": "FULL_OBJECT" };
      const target = "/photos/film.mp4";
      const created = await storage.call({ method: "POST", target: `${target}?uploads`, headers: algorithm });
      const uploadId = /<UploadId>([0-9a-f]+)</.exec(created.body)?.[1] ?? "";
      const part = await storage.call({
        method: "PUT",
        target: `${target}?partNumber=1&uploadId=${uploadId}`,
        headers: { "x-amz-checksum-crc32": "ihBq/g==" },
        body: "meow",
      });
      const eTag = String(part.headers["etag"]);

      const response = await storage.call({
        method: "POST",
        target: `${target}?uploadId=${uploadId}`,
        headers: { [name]: value, "x-amz-checksum-type": "FULL_OBJECT" },
        body:
          `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${eTag}</ETag></Part>` +
          "</CompleteMultipartUpload>",
      });

      expect(response.status).toBe(status);
    },
  );

  test.each([
    // host, target of the upload
    ["storage.example:8080", "/photos/a%20film.mp4"],
    ["storage.example:8080", "/object-storage/photos/a%20film.mp4"],
    ["photos.localhost:8080", "/a%20film.mp4"],
  ])("to completing an upload names the URL of the object: %s%s", async (host, target) => {
    const created = await storage.call({ method: "POST", host, target: `${target}?uploads` });
    const uploadId = /<UploadId>([0-9a-f]+)</.exec(created.body)?.[1] ?? "";
    const part = await storage.call({
      method: "PUT",
      host,
      target: `${target}?partNumber=1&uploadId=${uploadId}`,
      body: "x",
    });
    const eTag = String(part.headers["etag"]);

    const response = await storage.call({
      method: "POST",
      host,
      target: `${target}?uploadId=${uploadId}`,
      body:
        `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${eTag}</ETag></Part>` +
        "</CompleteMultipartUpload>",
    });

    expect(response.status).toBe(200);
    expect(response.body).toContain(`<Location>http://${host}${target}</Location>`);
  });
});
