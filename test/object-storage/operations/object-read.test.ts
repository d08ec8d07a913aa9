import { randomBytes } from "node:crypto";
import { open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { FakeClock } from "../../support/fake-clock.ts";
import type { Harness } from "../harness.ts";
import { alice, as, get, metadataOf, put, refusalOf, startWithBucket, withoutAlgorithm } from "../harness.ts";

const cat = { bucket: "photos", key: "cat.jpg" };
const chunkBytes = 262_144;
const at = (iso: string) => ({ seconds: BigInt(Date.parse(iso) / 1000), nanos: 0 });

/** The only blob file there is. */
const blobPath = async (harness: Harness): Promise<string> => {
  for (const shard of await readdir(harness.blobsDirectory))
    for (const name of await readdir(join(harness.blobsDirectory, shard)))
      return join(harness.blobsDirectory, shard, name);
  throw new Error("there is no blob file");
};

describe("getObject", () => {
  test.each([
    // Range, status, Content-Range, content of "0123456789"
    ["bytes=2-5", 206, "bytes 2-5/10", "2345"],
    ["bytes=2-", 206, "bytes 2-9/10", "23456789"],
    ["bytes=-3", 206, "bytes 7-9/10", "789"],
    ["bytes=-30", 206, "bytes 0-9/10", "0123456789"],
    ["bytes=8-99", 206, "bytes 8-9/10", "89"],
    ["bytes=0-0", 206, "bytes 0-0/10", "0"],
    ["bytes=5-2", undefined, undefined, "0123456789"],
    ["bytes=0-1,4-5", undefined, undefined, "0123456789"],
    ["items=0-1", undefined, undefined, "0123456789"],
    ["bytes=-", undefined, undefined, "0123456789"],
    ["nonsense", undefined, undefined, "0123456789"],
  ])("gives the range %s with status %s", async (range, statusCode, contentRange, content) => {
    const harness = await startWithBucket();
    await put(harness, cat, "0123456789");
    const { head, body } = await get(harness, { ...cat, range });
    expect(body.toString()).toBe(content);
    expect(head.statusCode).toBe(statusCode);
    expect(head.contentRange).toBe(contentRange);
    expect(head.contentLength).toBe(BigInt(content.length));
  });

  test.each([
    // If-Range, Range, content of "0123456789"
    ['"781e5e245d69b566979b86e28d23f2c7"', "bytes=2-5", "2345"],
    ["781e5e245d69b566979b86e28d23f2c7", "bytes=2-5", "2345"],
    ["Fri, 02 Jan 2026 03:04:05 GMT", "bytes=2-5", "2345"],
    ['"0cc175b9c0f1b6a831c399e269772661"', "bytes=2-5", "0123456789"],
    ['W/"781e5e245d69b566979b86e28d23f2c7"', "bytes=2-5", "0123456789"],
    ["Fri, 02 Jan 2026 03:04:04 GMT", "bytes=2-5", "0123456789"],
    ["Fri, 02 Jan 2026 03:04:06 GMT", "bytes=2-5", "0123456789"],
    ["*", "bytes=2-5", "0123456789"],
    ['"0cc175b9c0f1b6a831c399e269772661"', "bytes=10-", "0123456789"],
  ])("with If-Range %s answers %s with %s", async (ifRange, range, content) => {
    const harness = await startWithBucket({ clock: new FakeClock(Date.parse("2026-01-02T03:04:05.678Z")) });
    await put(harness, cat, "0123456789");
    const { head, body } = await get(harness, { ...cat, range, ifRange });
    expect(body.toString()).toBe(content);
    expect(head.statusCode).toBe(content === "2345" ? 206 : undefined);
  });

  test("gives ranges of large content that begin and end anywhere", async () => {
    const harness = await startWithBucket();
    const content = randomBytes(3 * chunkBytes + 100);
    await put(harness, cat, content);
    for (const [first, last] of [
      [0, 0],
      [chunkBytes - 1, chunkBytes],
      [100, 3 * chunkBytes],
      [3 * chunkBytes + 99, 3 * chunkBytes + 99],
    ] as const) {
      const { body } = await get(harness, { ...cat, range: `bytes=${first}-${last}` });
      expect(body.equals(content.subarray(first, last + 1))).toBe(true);
    }
  });

  test.each([
    // request, reason; in the order of refusal
    [{ bucket: "unknown", sseCustomerKey: "x" }, "NO_SUCH_BUCKET"],
    [
      { serverSideEncryption: "AES256", sseKmsKeyId: "alias/photos" },
      "INVALID_ARGUMENT: x-svc-server-side-encryption header is not supported for this operation.",
    ],
    [
      { sseKmsKeyId: "alias/photos", range: "bytes=0-1", partNumber: 1 },
      "INVALID_ARGUMENT: x-svc-server-side-encryption-svc-kms-key-id header is not supported for this operation.",
    ],
    [
      { range: "bytes=0-1", partNumber: 1, sseCustomerKey: "x" },
      "INVALID_REQUEST: Cannot specify both Range header and partNumber query parameter.",
    ],
    [
      { responseContentType: "a\r\nb: c", sseCustomerKey: "x" },
      "INVALID_ARGUMENT: Header value cannot be represented.",
    ],
    [{ sseCustomerKey: "x", versionId: "x" }, withoutAlgorithm],
    [{ versionId: "x", key: "unknown" }, "INVALID_VERSION_ID"],
    [{ key: "unknown", ifMatch: "other" }, "NO_SUCH_KEY"],
    [{ ifMatch: "other", range: "bytes=10-" }, "PRECONDITION_FAILED"],
    [{ ifNoneMatch: "*", range: "bytes=10-" }, "NOT_MODIFIED"],
    [{ range: "bytes=10-" }, "INVALID_RANGE"],
    [{ range: "bytes=-0" }, "INVALID_RANGE"],
    [{ partNumber: 2 }, "INVALID_PART_NUMBER"],
    [
      { partNumber: 0 },
      "INVALID_INPUT: Value '0' at 'part_number' failed to satisfy constraint: Member must have value greater than or equal to 1",
    ],
    [{ partNumber: 1 }, "answered"],
    [{ versionId: "null" }, "answered"],
  ])("a request with %o ends as %s, and headObject alike", async (request, reason) => {
    const harness = await startWithBucket();
    await put(harness, cat, "0123456789");
    expect(await refusalOf(get(harness, { ...cat, ...request }))).toBe(reason);
    expect(await refusalOf(harness.client.headObject({ ...cat, ...request }, as(alice)))).toBe(reason);
  });

  test.each([
    // conditions on an object of 2026-01-02T03:04:05Z, reason
    [{ ifMatch: '"781e5e245d69b566979b86e28d23f2c7"' }, "answered"],
    [{ ifMatch: "781e5e245d69b566979b86e28d23f2c7" }, "answered"],
    [{ ifMatch: '"a", "781e5e245d69b566979b86e28d23f2c7"' }, "answered"],
    [{ ifMatch: "*" }, "answered"],
    [{ ifNoneMatch: '"other"' }, "answered"],
    [{ ifNoneMatch: 'W/"781e5e245d69b566979b86e28d23f2c7"' }, "NOT_MODIFIED"],
    [{ ifModifiedSince: at("2026-01-02T03:04:04Z") }, "answered"],
    [{ ifModifiedSince: at("2026-01-02T03:04:05Z") }, "NOT_MODIFIED"],
    [{ ifModifiedSince: at("2030-01-01T00:00:00Z") }, "answered"],
    [{ ifUnmodifiedSince: at("2026-01-02T03:04:05Z") }, "answered"],
    [{ ifUnmodifiedSince: at("2026-01-02T03:04:04Z") }, "PRECONDITION_FAILED"],
    [{ ifMatch: "*", ifUnmodifiedSince: at("2026-01-02T03:04:04Z") }, "answered"],
    [{ ifNoneMatch: "*", ifModifiedSince: at("2026-01-02T03:04:04Z") }, "NOT_MODIFIED"],
    [{ ifNoneMatch: "other", ifModifiedSince: at("2026-01-02T03:04:05Z") }, "answered"],
  ])("a request with %o ends as %s", async (conditions, reason) => {
    const clock = new FakeClock(Date.parse("2026-01-02T03:04:05.678Z"));
    const harness = await startWithBucket({ clock });
    await put(harness, cat, "0123456789");
    expect(await refusalOf(get(harness, { ...cat, ...conditions }))).toBe(reason);
  });

  test("answers the suffix of an empty object with all of it", async () => {
    const harness = await startWithBucket();
    await put(harness, cat, "");
    const { head } = await get(harness, { ...cat, range: "bytes=-1" });
    expect([head.statusCode, head.contentRange, head.contentLength]).toEqual([undefined, undefined, 0n]);
    expect(await refusalOf(get(harness, { ...cat, range: "bytes=-0" }))).toBe("INVALID_RANGE");
  });

  test("says what a refusal is about", async () => {
    const clock = new FakeClock(Date.parse("2026-01-02T03:04:05.678Z"));
    const harness = await startWithBucket({ clock });
    await put(harness, cat, "0123456789");
    expect(await metadataOf(get(harness, { ...cat, range: "bytes=10-" }))).toEqual({
      range_requested: "bytes=10-",
      actual_object_size: "10",
    });
    expect(await metadataOf(get(harness, { ...cat, ifUnmodifiedSince: at("2000-01-01T00:00:00Z") }))).toEqual({
      condition: "If-Unmodified-Since",
    });
    expect(await metadataOf(get(harness, { ...cat, ifNoneMatch: "*" }))).toEqual({
      e_tag: '"781e5e245d69b566979b86e28d23f2c7"',
      last_modified: "Fri, 02 Jan 2026 03:04:05 GMT",
    });
    expect(await metadataOf(get(harness, { ...cat, partNumber: 3 }))).toEqual({
      actual_part_count: "1",
      part_number_requested: "3",
    });
  });

  test("shows headers as the request asks, and the checksum only of the whole and on demand", async () => {
    const harness = await startWithBucket();
    await put(harness, cat, "0123456789");
    const { head } = await get(harness, {
      ...cat,
      responseContentType: "text/plain",
      responseCacheControl: "no-store",
      responseContentDisposition: "attachment",
      responseContentEncoding: "identity",
      responseContentLanguage: "fr",
      responseExpires: "soon",
      range: "bytes=0-1",
      checksumMode: "ENABLED",
    });
    expect(head).toMatchObject({
      contentType: "text/plain",
      cacheControl: "no-store",
      contentDisposition: "attachment",
      contentEncoding: "identity",
      contentLanguage: "fr",
      expires: "soon",
    });
    expect(head.checksumCrc64nvme).toBeUndefined();
    expect((await get(harness, cat)).head.checksumCrc64nvme).toBeUndefined();
    expect((await get(harness, { ...cat, checksumMode: "ENABLED" })).head.checksumCrc64nvme).toMatch(/=$/);
  });
});

test.each([
  "responseCacheControl",
  "responseContentDisposition",
  "responseContentEncoding",
  "responseContentLanguage",
  "responseContentType",
  "responseExpires",
])("a reader without a signature must not ask for %s", async (member) => {
  const harness = await startWithBucket();
  await put(harness, cat, "0123456789");
  const everybody = { Effect: "Allow", Principal: "*", Action: "s3:GetObject", Resource: "arn:aws:s3:::photos/*" };
  const policy = JSON.stringify({ Version: "2012-10-17", Statement: [everybody] });
  await harness.client.putBucketPolicy({ bucket: "photos", policy }, as(alice));
  const refusal = "INVALID_REQUEST: Request specific response headers cannot be used for anonymous GET requests.";
  const request = { ...cat, [member]: "text/html" };
  expect(await refusalOf(get(harness, request, {}))).toBe(refusal);
  expect(await refusalOf(harness.client.headObject(request))).toBe(refusal);
  expect((await get(harness, cat, {})).body.toString()).toBe("0123456789");
  expect(await refusalOf(get(harness, request))).toBe("answered");
});

describe("headObject", () => {
  test("tells what getObject tells, without content", async () => {
    const harness = await startWithBucket();
    await put(harness, { ...cat, metadata: { a: "b" } }, "0123456789");
    const head = await harness.client.headObject({ ...cat, range: "bytes=0-3" }, as(alice));
    expect(head).toMatchObject({
      contentLength: 4n,
      contentRange: "bytes 0-3/10",
      statusCode: 206,
      metadata: { a: "b" },
      contentType: "binary/octet-stream",
    });
  });
});

describe("content that the disk lost", () => {
  test("is refused when a byte changed, wherever it is read, and other ranges stay readable", async () => {
    const harness = await startWithBucket();
    const content = randomBytes(3 * chunkBytes);
    await put(harness, cat, content);
    const file = await open(await blobPath(harness), "r+");
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, 10);
    await file.write(Buffer.from([buffer.readUInt8() ^ 1]), 0, 1, 10);
    await file.close();

    expect(await refusalOf(get(harness, cat))).toBe("CONTENT_CORRUPT");
    expect(await refusalOf(get(harness, { ...cat, range: "bytes=100-200" }))).toBe("CONTENT_CORRUPT");
    expect((await get(harness, { ...cat, range: `bytes=${chunkBytes}-` })).body.length).toBe(2 * chunkBytes);
    expect((await harness.client.headObject(cat, as(alice))).contentLength).toBe(BigInt(3 * chunkBytes));
  });

  test("that is damaged late ends the answer with the refusal after the bytes that are right", async () => {
    const harness = await startWithBucket();
    const content = randomBytes(3 * chunkBytes);
    await put(harness, cat, content);
    const file = await open(await blobPath(harness), "r+");
    await file.truncate(2 * chunkBytes + 50);
    await file.close();
    const seen: Uint8Array[] = [];

    const reading = (async () => {
      for await (const message of harness.client.getObject(cat, as(alice))) seen.push(message.body);
    })();

    expect(await refusalOf(reading)).toBe("CONTENT_CORRUPT");
    expect(Buffer.concat(seen).equals(content.subarray(0, 2 * chunkBytes))).toBe(true);
  });

  test("is told apart from a missing key, and stays listed", async () => {
    const harness = await startWithBucket();
    await put(harness, cat, randomBytes(chunkBytes));
    await rm(await blobPath(harness));

    expect(await refusalOf(get(harness, cat))).toBe("CONTENT_MISSING");
    expect((await harness.client.listObjectsV2({ bucket: "photos" }, as(alice))).keyCount).toBe(1);
  });
});
