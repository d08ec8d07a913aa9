import { createHash, randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";

import { describe, expect, test } from "vitest";

import { sweepBlobs } from "../../../services/object-storage/work/blob-sweep.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import type { Harness } from "../harness.ts";
import { alice, as, bob, get, notImplemented, put, refusalOf, startWithBucket } from "../harness.ts";

const source = { bucket: "photos", key: "cat one.jpg" };
const target = { bucket: "photos", key: "copy.jpg", copySource: "photos/cat%20one.jpg" };
const content = randomBytes(300_000);
const at = (seconds: number) => ({ seconds: BigInt(seconds), nanos: 0 });

const files = async (harness: Harness): Promise<number> =>
  (await readdir(harness.blobsDirectory, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
    .length;

const startWithSource = async (clock = new FakeClock(Date.now())) => {
  const harness = await startWithBucket({ clock, limits: { copyBytesMax: 1_000_000 } });
  await put(
    harness,
    { ...source, contentType: "image/jpeg", metadata: { a: "b" }, tagging: "t=1", storageClass: "STANDARD_IA" },
    content,
  );
  const copy = (request: object = {}) => harness.client.copyObject({ ...target, ...request }, as(alice));
  return { harness, clock, copy };
};

describe("copyObject", () => {
  test("copies content and metadata but not the storage class, and shares the bytes until neither is left", async () => {
    const { harness, clock, copy } = await startWithSource();
    const answer = await copy();

    const original = await get(harness, { ...source, checksumMode: "ENABLED" });
    const copied = await get(harness, { bucket: "photos", key: "copy.jpg", checksumMode: "ENABLED" });
    expect(answer.copyObjectResult?.eTag).toBe(original.head.eTag);
    expect(copied.head).toMatchObject({ contentType: "image/jpeg", metadata: { a: "b" }, tagCount: 1 });
    expect(copied.head.storageClass).toBeUndefined();
    expect(copied.head.checksumCrc64nvme).toBe(original.head.checksumCrc64nvme);
    expect(await files(harness)).toBe(1);

    await harness.client.deleteObject(source, as(alice));
    clock.advance(11 * 60_000);
    await sweepBlobs(harness.opened.sweep);
    expect((await get(harness, { bucket: "photos", key: "copy.jpg" })).body.equals(content)).toBe(true);

    await harness.client.deleteObject({ bucket: "photos", key: "copy.jpg" }, as(alice));
    clock.advance(11 * 60_000);
    await sweepBlobs(harness.opened.sweep);
    expect(await files(harness)).toBe(0);
  });

  test("copies small content, which lies in the database, the same way", async () => {
    const { harness, copy } = await startWithSource();
    await put(harness, { bucket: "photos", key: "small" }, "meow");
    await copy({ copySource: "/photos/small" });
    await harness.client.deleteObject({ bucket: "photos", key: "small" }, as(alice));
    expect((await get(harness, { bucket: "photos", key: "copy.jpg" })).body.toString()).toBe("meow");
  });

  test("replaces metadata and tags where it is told to, also on the object itself", async () => {
    const { harness, copy } = await startWithSource();
    await copy({ key: source.key, metadataDirective: "REPLACE", taggingDirective: "REPLACE", metadata: { c: "d" } });
    const { head, body } = await get(harness, source);
    expect(head).toMatchObject({ metadata: { c: "d" }, contentType: "binary/octet-stream" });
    expect(head.tagCount).toBeUndefined();
    expect(body.equals(content)).toBe(true);
    expect(await files(harness)).toBe(1);
  });

  test("computes another checksum where it is asked for one", async () => {
    const { copy } = await startWithSource();
    const { copyObjectResult } = await copy({ checksumAlgorithm: "SHA256" });
    expect(copyObjectResult?.checksumSha256).toBe(createHash("sha256").update(content).digest("base64"));
  });

  test.each([
    // request, reason; in the order of refusal
    [{ key: "k".repeat(1025), acl: "public-read" }, "KEY_TOO_LONG"],
    [
      { copySourceSseCustomerKey: "x", acl: "public-read" },
      notImplemented("x-svc-copy-source-server-side-encryption-customer-key"),
    ],
    [{ acl: "public-read", copySource: "x" }, "ACCESS_CONTROL_LIST_NOT_SUPPORTED"],
    [
      { copySource: "photos", storageClass: "NONSENSE" },
      "INVALID_ARGUMENT: Copy Source must mention the source bucket and key: sourcebucket/sourcekey",
    ],
    [
      { copySource: "photos/%E0%A4%A" },
      "INVALID_ARGUMENT: Copy Source must mention the source bucket and key: sourcebucket/sourcekey",
    ],
    [{ copySource: "arn:aws:s3:us-east-1:1:accesspoint/x/object/y" }, notImplemented("x-svc-copy-source")],
    [{ copySource: "photos/k?versionId=x" }, "INVALID_VERSION_ID"],
    [{ storageClass: "NONSENSE", bucket: "unknown" }, "INVALID_STORAGE_CLASS"],
    [{ bucket: "unknown", copySource: "unknown/k" }, "NO_SUCH_BUCKET"],
    [{ copySource: "unknown/k" }, "NO_SUCH_BUCKET"],
    [{ expectedBucketOwner: bob }, "ACCESS_DENIED"],
    [{ expectedSourceBucketOwner: bob }, "ACCESS_DENIED"],
    [{ copySource: "photos/unknown" }, "NO_SUCH_KEY"],
    [{ copySourceIfMatch: "other" }, "PRECONDITION_FAILED"],
    [{ copySourceIfNoneMatch: "*" }, "PRECONDITION_FAILED"],
    [{ copySourceIfNoneMatch: "*", copySourceIfModifiedSince: at(1) }, "PRECONDITION_FAILED"],
    [{ copySourceIfUnmodifiedSince: at(1) }, "PRECONDITION_FAILED"],
    [{ copySourceIfMatch: "*", copySourceIfUnmodifiedSince: at(1) }, "answered"],
    [
      { key: source.key },
      "INVALID_REQUEST: This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata, storage class, website redirect location or encryption attributes.",
    ],
    [{ key: source.key, storageClass: "ONEZONE_IA" }, "answered"],
    [{ ifNoneMatch: "*", key: source.key, metadataDirective: "REPLACE" }, "PRECONDITION_FAILED"],
    [{ ifMatch: "x" }, "NO_SUCH_KEY"],
  ])("a request with %o ends as %s", async (request, reason) => {
    const { copy } = await startWithSource();
    expect(await refusalOf(copy(request))).toBe(reason);
  });

  test("refuses a source that is too large, and a caller who may not read it", async () => {
    const { harness, copy } = await startWithSource();
    await put(harness, { bucket: "photos", key: "large" }, Buffer.alloc(1_000_001));
    expect(await refusalOf(copy({ copySource: "photos/large" }))).toBe(
      "INVALID_REQUEST: The specified copy source is larger than the maximum allowable size for a copy source: 1000000",
    );
    await harness.client.createBucket({ bucket: "bobs" }, as(bob));
    expect(await refusalOf(harness.client.copyObject({ ...target, bucket: "bobs" }, as(bob)))).toBe("ACCESS_DENIED");
  });
});

describe("uploadPartCopy", () => {
  test("makes parts of ranges of an object without storing their bytes again", async () => {
    const { harness } = await startWithSource();
    const film = { bucket: "photos", key: "film" };
    const { uploadId = "" } = await harness.client.createMultipartUpload(film, as(alice));
    const part = (partNumber: number, copySourceRange?: string) =>
      harness.client.uploadPartCopy(
        { ...film, uploadId, partNumber, copySource: target.copySource, copySourceRange },
        as(alice),
      );

    const answer = await part(1, "bytes=299990-299999");
    expect(answer.copyPartResult?.eTag).toBe(`"${createHash("md5").update(content.subarray(299_990)).digest("hex")}"`);
    expect(await refusalOf(part(2, "bytes=0-300000"))).toBe(
      "INVALID_ARGUMENT: Range specified is not valid for source object of size: 300000",
    );
    expect(await refusalOf(part(2, "bytes=300000-300001"))).toBe(
      "INVALID_REQUEST: The specified copy range is invalid for the source object size",
    );
    expect(await refusalOf(part(2, "bytes=0-"))).toBe("INVALID_ARGUMENT");
    await harness.client.completeMultipartUpload(
      { ...film, uploadId, completeMultipartUpload: { parts: [{ partNumber: 1, eTag: answer.copyPartResult?.eTag }] } },
      as(alice),
    );

    await harness.client.deleteObject(source, as(alice));
    expect((await get(harness, film)).body.equals(content.subarray(299_990))).toBe(true);
    expect(await files(harness)).toBe(1);
  });
});
