import { createHash, randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import type { Harness, PutInit } from "../harness.ts";
import {
  alice,
  as,
  bob,
  get,
  metadataOf,
  notImplemented,
  oneCondition,
  put,
  refusalOf,
  startWithBucket,
} from "../harness.ts";

const cat = { bucket: "photos", key: "cat.jpg" };
const meowMd5 = "SkvkDJasYxTpHZPzgEOmNA==";
const large = randomBytes(1_000_000);

/** The names of all blob files. */
const blobFiles = async (harness: Harness): Promise<string[]> => {
  const shards = await readdir(harness.blobsDirectory);
  const names = await Promise.all(shards.map((shard) => readdir(join(harness.blobsDirectory, shard))));
  return names.flat();
};

const drafts = (harness: Harness): Promise<string[]> => readdir(join(harness.directory, "blobs", "temporary"));

describe("putObject", () => {
  test.each([
    // what the request says, what the object has
    [{ contentEncoding: "gzip, deflate" }, { contentEncoding: "gzip, deflate" }],
    [{ contentEncoding: "gzip, aws-chunked, deflate" }, { contentEncoding: "gzip,deflate" }],
    [{ tagging: "&mood=calm&&" }, { tagCount: 1 }],
  ])("stores %o as %o", async (request, stored) => {
    const harness = await startWithBucket();
    await put(harness, { ...cat, ...request }, "meow");
    expect((await get(harness, cat)).head).toMatchObject(stored);
  });

  test("stores content and everything that is said about it", async () => {
    const harness = await startWithBucket();

    const answer = await put(
      harness,
      {
        ...cat,
        contentType: "image/jpeg",
        contentEncoding: "aws-chunked,gzip",
        cacheControl: "no-cache",
        contentDisposition: "inline",
        contentLanguage: "de",
        expires: "0",
        websiteRedirectLocation: "/dog.jpg",
        metadata: { Colour: "grey" },
        tagging: "mood=calm&place=on+the+roof",
        storageClass: "STANDARD_IA",
        contentLength: 4n,
        contentMd5: meowMd5,
      },
      "meow",
    );

    expect(answer.eTag).toBe('"4a4be40c96ac6314e91d93f38043a634"');
    expect(answer.checksumCrc64nvme).toBe("8zdqq7WrNzQ=");
    expect(answer.checksumType).toBe("FULL_OBJECT");
    const { head, body } = await get(harness, { ...cat, checksumMode: "ENABLED" });
    expect(body.toString()).toBe("meow");
    expect(head).toMatchObject({
      contentType: "image/jpeg",
      contentEncoding: "gzip",
      cacheControl: "no-cache",
      contentDisposition: "inline",
      contentLanguage: "de",
      expires: "0",
      websiteRedirectLocation: "/dog.jpg",
      metadata: { colour: "grey" },
      tagCount: 2,
      storageClass: "STANDARD_IA",
      contentLength: 4n,
      eTag: '"4a4be40c96ac6314e91d93f38043a634"',
      checksumCrc64nvme: "8zdqq7WrNzQ=",
      acceptRanges: "bytes",
    });
    expect(head.statusCode).toBeUndefined();
  });

  test("keeps small content out of files and removes the file of large content that was replaced", async () => {
    const harness = await startWithBucket();
    await put(harness, cat, Buffer.alloc(65_536));
    expect(await blobFiles(harness)).toEqual([]);

    await put(harness, cat, large);
    expect(await blobFiles(harness)).toHaveLength(1);
    expect(
      createHash("sha256")
        .update((await get(harness, cat)).body)
        .digest("hex"),
    ).toBe(createHash("sha256").update(large).digest("hex"));
  });

  test("stores an object without content", async () => {
    const harness = await startWithBucket();
    await put(harness, cat);
    const { head, body } = await get(harness, cat);
    expect(body.length).toBe(0);
    expect(head.eTag).toBe('"d41d8cd98f00b204e9800998ecf8427e"');
    expect(head.contentLength).toBe(0n);
  });

  test.each([
    // what is given before and after the content, the checksum that is answered
    [{ checksumCrc32: "ihBq/g==" }, {}, { checksumCrc32: "ihBq/g==" }],
    [{ checksumAlgorithm: "CRC32" }, { checksumCrc32: "ihBq/g==" }, { checksumCrc32: "ihBq/g==" }],
    [{}, { checksumCrc32: "ihBq/g==" }, { checksumCrc32: "ihBq/g==" }],
    [{ checksumAlgorithm: "CRC32C" }, {}, { checksumCrc32c: "u86qsg==" }],
    [{ checksumAlgorithm: "SHA256" }, {}, { checksumSha256: "QEzde8EJxDL4zCRDtFvP6VmA9RByFcZFI25XeSmsPlI=" }],
    [{ checksumAlgorithm: "sha1" }, {}, { checksumSha1: "fVwqLWE2+/FmIR1Rg79mIUokfzE=" }],
  ])("given %o and then %o keeps %o", async (before, after, kept) => {
    const harness = await startWithBucket();
    const answer = await put(harness, { ...cat, ...before }, "meow", after);
    expect(answer).toMatchObject(kept);
    expect(await harness.client.headObject({ ...cat, checksumMode: "ENABLED" }, as(alice))).toMatchObject(kept);
  });

  const somebody = "1".repeat(64);
  const refusals: [PutInit, string | Uint8Array, PutInit, string][] = [
    // head, content, what follows the content, reason; in the order of refusal
    [{ bucket: "unknown", key: "k".repeat(1025) }, "", {}, "NO_SUCH_BUCKET"],
    [{ expectedBucketOwner: bob, key: "k".repeat(1025) }, "", {}, "ACCESS_DENIED"],
    [{ key: "k".repeat(1025), acl: "public-read" }, "", {}, "KEY_TOO_LONG"],
    [{ key: "é".repeat(513) }, "", {}, "KEY_TOO_LONG"],
    [{ writeOffsetBytes: 1n, key: "k".repeat(1025) }, "", {}, "KEY_TOO_LONG"],
    [{ key: "k".repeat(1025), ifMatch: "x", ifNoneMatch: "*" }, "", {}, "KEY_TOO_LONG"],
    [{ ifMatch: "x", ifNoneMatch: "*", acl: "public-read" }, "", {}, oneCondition],
    [{ ifMatch: "x", ifNoneMatch: "*", writeOffsetBytes: 1n }, "", {}, oneCondition],
    [{ writeOffsetBytes: 1n, acl: "public-read" }, "", {}, "INVALID_WRITE_OFFSET"],
    [{ acl: "public-read", storageClass: "NONSENSE" }, "", {}, "ACCESS_CONTROL_LIST_NOT_SUPPORTED"],
    [{ grantFullControl: `id=${somebody}` }, "", {}, "ACCESS_CONTROL_LIST_NOT_SUPPORTED"],
    [{ grantRead: `id=${somebody}` }, "", {}, "ACCESS_CONTROL_LIST_NOT_SUPPORTED"],
    [{ grantReadAcp: `id=${somebody}` }, "", {}, "ACCESS_CONTROL_LIST_NOT_SUPPORTED"],
    [{ grantWriteAcp: `id=${somebody}`, ifMatch: "x" }, "", {}, "ACCESS_CONTROL_LIST_NOT_SUPPORTED"],
    [{ acl: "private", ifMatch: "x" }, "", {}, "PRECONDITION_FAILED"],
    [{ acl: "bucket-owner-full-control", ifMatch: "x" }, "", {}, "PRECONDITION_FAILED"],
    [{ metadata: { a: "x".repeat(2048) } }, "", {}, "METADATA_TOO_LARGE"],
    [{ metadata: { "a b": "c" } }, "", {}, "INVALID_ARGUMENT: The metadata name is not a header name."],
    [{ metadata: { a: "b\r\nc: d" } }, "", {}, "INVALID_ARGUMENT: Header value cannot be represented."],
    [{ contentType: "text/plain\r\nx: y" }, "", {}, "INVALID_ARGUMENT: Header value cannot be represented."],
    [{ websiteRedirectLocation: "dog.jpg" }, "", {}, "INVALID_REDIRECT_LOCATION"],
    [
      { tagging: "a=1&a=2" },
      "",
      {},
      "INVALID_ARGUMENT: The header 'x-svc-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters without tag name duplicates.",
    ],
    [
      { tagging: "a=%E0%A4%A" },
      "",
      {},
      "INVALID_ARGUMENT: The header 'x-svc-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters without tag name duplicates.",
    ],
    [{ tagging: "aws:a=1" }, "", {}, "INVALID_TAG: System tags cannot be added or updated by the requester"],
    [{ tagging: "a=<" }, "", {}, "INVALID_TAG: The TagValue you have provided is invalid"],
    [
      { tagging: Array.from({ length: 11 }, (_none, index) => `k${index}=v`).join("&") },
      "",
      {},
      "INVALID_TAG: The tags of a resource cannot be more than 10",
    ],
    [{ storageClass: "SNOW" }, "", {}, notImplemented("x-svc-storage-class")],
    [{ storageClass: "NONSENSE", objectLockLegalHoldStatus: "ON" }, "", {}, "INVALID_STORAGE_CLASS"],
    [
      { objectLockLegalHoldStatus: "ON", contentMd5: "nonsense" },
      "",
      {},
      "INVALID_REQUEST: Bucket is missing Object Lock Configuration",
    ],
    [{ contentMd5: "nonsense" }, "", {}, "INVALID_DIGEST"],
    [
      { checksumCrc32: "ihBq/g==", checksumCrc32c: "u86qsg==" },
      "meow",
      {},
      "INVALID_REQUEST: Expecting a single x-svc-checksum- header. Multiple checksum Types are not allowed.",
    ],
    [{ checksumCrc32: "i8gXywA=" }, "meow", {}, "INVALID_REQUEST: Value for x-svc-checksum-crc32 header is invalid."],
    [
      { checksumAlgorithm: "CRC31" },
      "meow",
      {},
      "INVALID_REQUEST: Checksum algorithm provided is unsupported. Please try again with any of the valid types: [CRC32, CRC32C, CRC64NVME, SHA1, SHA256]",
    ],
    [
      { checksumAlgorithm: "SHA1", checksumCrc32: "ihBq/g==" },
      "meow",
      {},
      "INVALID_REQUEST: Value for x-svc-sdk-checksum-algorithm header is invalid.",
    ],
    [{ contentLength: 2_000_001n, ifMatch: "x" }, "", {}, "ENTITY_TOO_LARGE"],
    [{ ifMatch: '"4a4be40c96ac6314e91d93f38043a634"', key: "absent" }, "", {}, "NO_SUCH_KEY"],
    [{ ifMatch: "other" }, "", {}, "PRECONDITION_FAILED"],
    [{ ifNoneMatch: "*" }, "", {}, "PRECONDITION_FAILED"],
    [{ ifNoneMatch: "4a4be40c96ac6314e91d93f38043a634" }, "", {}, "PRECONDITION_FAILED"],
    [{}, Buffer.alloc(2_000_001), {}, "ENTITY_TOO_LARGE"],
    [{ contentLength: 3n }, "meow", {}, "INCOMPLETE_BODY"],
    [{ contentLength: 5n }, "meow", {}, "INCOMPLETE_BODY"],
    [{ contentLength: 999_999n }, large, {}, "INCOMPLETE_BODY"],
    [
      { contentMd5: meowMd5 },
      "moo",
      {},
      "BAD_DIGEST: The Content-MD5 you specified did not match the calculated checksum.",
    ],
    [
      { contentMd5: meowMd5 },
      large,
      {},
      "BAD_DIGEST: The Content-MD5 you specified did not match the calculated checksum.",
    ],
    [
      { checksumCrc32: "ihBq/g==" },
      "moo",
      {},
      "BAD_DIGEST: The CRC32 you specified did not match the calculated checksum.",
    ],
    [
      { checksumCrc32: "ihBq/g==" },
      "meow",
      { checksumCrc32: "ihBq/g==" },
      "INVALID_REQUEST: Expecting a single x-svc-checksum- header. Multiple checksum Types are not allowed.",
    ],
    [
      { checksumAlgorithm: "CRC32" },
      "meow",
      { checksumSha1: "fVwqLWE2+/FmIR1Rg79mIUokfzE=" },
      "INVALID_REQUEST: The checksum in the trailer is not the one that the headers name.",
    ],
    [
      {},
      large,
      { checksumCrc32: "ihBq/g==" },
      "BAD_DIGEST: The CRC32 you specified did not match the calculated checksum.",
    ],
  ];
  test("refuses in this order, and leaves the object that was there and nothing else", async () => {
    const harness = await startWithBucket({ limits: { objectBytesMax: 2_000_000 } });
    await put(harness, cat, "meow");
    const reasons: string[] = [];

    for (const [head, content, last] of refusals)
      reasons.push(await refusalOf(put(harness, { ...cat, ...head }, content, last)));

    expect(reasons).toEqual(refusals.map(([, , , reason]) => reason));
    expect((await get(harness, cat)).body.toString()).toBe("meow");
    expect(await blobFiles(harness)).toEqual([]);
    expect(await drafts(harness)).toEqual([]);
  });

  test("says which condition failed, which sizes are allowed and which header is not offered", async () => {
    const harness = await startWithBucket();
    await put(harness, cat, "meow");
    expect(await metadataOf(put(harness, { ...cat, ifNoneMatch: "*" }))).toEqual({ condition: "If-None-Match" });
    expect(await metadataOf(put(harness, { ...cat, key: "k".repeat(2000) }))).toEqual({
      size: "2000",
      max_size_allowed: "1024",
    });
  });

  test("refuses callers of other accounts and those who signed nothing before it takes content", async () => {
    const harness = await startWithBucket();
    let taken = 0;
    async function* counted(): AsyncGenerator<PutInit> {
      yield { ...cat };
      for (; taken < 1_000; taken += 1) yield { body: new Uint8Array(65_536) };
    }

    expect(await refusalOf(harness.client.putObject(counted(), as(bob)))).toBe("ACCESS_DENIED");
    expect(await refusalOf(harness.client.putObject(counted()))).toBe("ACCESS_DENIED");
    expect(taken).toBeLessThan(1_000);
  });

  test("lets exactly one of many create a key that none may replace", async () => {
    const harness = await startWithBucket();
    const reasons = await Promise.all(
      Array.from({ length: 64 }, (_none, index) =>
        refusalOf(put(harness, { ...cat, ifNoneMatch: "*" }, index % 2 === 0 ? `small ${index}` : large)),
      ),
    );
    expect(reasons.filter((reason) => reason === "answered")).toHaveLength(1);
    expect(reasons.filter((reason) => reason === "PRECONDITION_FAILED")).toHaveLength(63);
    expect((await blobFiles(harness)).length).toBeLessThanOrEqual(1);
  });

  test("that is given up by its caller leaves nothing behind", async () => {
    const harness = await startWithBucket();
    const abort = new AbortController();
    async function* endless(): AsyncGenerator<PutInit> {
      yield { ...cat };
      for (let count = 0; ; count += 1) {
        if (count === 30) abort.abort();
        yield { body: new Uint8Array(65_536) };
      }
    }

    await expect(harness.client.putObject(endless(), { ...as(alice), signal: abort.signal })).rejects.toThrow("cancel");
    await expect.poll(() => drafts(harness)).toEqual([]);
    expect(await refusalOf(get(harness, cat))).toBe("NO_SUCH_KEY");
    expect(await blobFiles(harness)).toEqual([]);
  });
});

describe("deleteObject", () => {
  test("deletes an object, and again, and what never was", async () => {
    const harness = await startWithBucket();
    await put(harness, cat, "meow");

    await harness.client.deleteObject(cat, as(alice));
    await harness.client.deleteObject(cat, as(alice));
    await harness.client.deleteObject({ ...cat, key: "never" }, as(alice));

    expect(await refusalOf(get(harness, cat))).toBe("NO_SUCH_KEY");
    expect((await harness.client.listObjectsV2({ bucket: "photos" }, as(alice))).contents).toEqual([]);
  });

  test.each([
    // request, reason; in the order of refusal
    [{ bucket: "unknown", mfa: "1 2" }, "NO_SUCH_BUCKET"],
    [{ mfa: "1 2", versionId: "x" }, "ACCESS_DENIED"],
    [{ versionId: "x", ifMatch: "other" }, "INVALID_VERSION_ID"],
    [{ ifMatch: "other" }, "PRECONDITION_FAILED"],
    [{ ifMatchSize: 5n }, "PRECONDITION_FAILED"],
    [{ ifMatchLastModifiedTime: { seconds: 1n } }, "PRECONDITION_FAILED"],
    [{ ifMatch: "other", key: "never" }, "answered"],
    [{ ifMatch: '"4a4be40c96ac6314e91d93f38043a634"', ifMatchSize: 4n }, "answered"],
    [{ versionId: "null" }, "answered"],
  ])("a request with %o ends as %s", async (request, reason) => {
    const harness = await startWithBucket();
    await put(harness, cat, "meow");
    expect(await refusalOf(harness.client.deleteObject({ ...cat, ...request }, as(alice)))).toBe(reason);
  });
});
