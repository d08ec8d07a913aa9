import { createHash, randomBytes } from "node:crypto";

import { describe, expect, test } from "vitest";

import { sweepBlobs } from "../../../services/object-storage/work/blob-sweep.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { alice, as, bob, get, oneCondition, put, refusalOf, startWithBucket, withoutAlgorithm } from "../harness.ts";
import { bytes, complete, countFiles, film, startWithParts } from "../multipart.ts";

const source = { bucket: "photos", key: "cat one.jpg" };
const target = { bucket: "photos", key: "copy.jpg", copySource: "photos/cat%20one.jpg" };
const content = randomBytes(300_000);
const at = (seconds: number) => ({ seconds: BigInt(seconds), nanos: 0 });

const malformed = "INVALID_ARGUMENT: Copy Source must mention the source bucket and key: sourcebucket/sourcekey";

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
    expect(await countFiles(harness)).toBe(1);

    await harness.client.deleteObject(source, as(alice));
    clock.advance(11 * 60_000);
    await sweepBlobs(harness.opened.sweep);
    expect((await get(harness, { bucket: "photos", key: "copy.jpg" })).body.equals(content)).toBe(true);

    await harness.client.deleteObject({ bucket: "photos", key: "copy.jpg" }, as(alice));
    clock.advance(11 * 60_000);
    await sweepBlobs(harness.opened.sweep);
    expect(await countFiles(harness)).toBe(0);
  });

  test("copies small content, which lies in the database, the same way", async () => {
    const { harness, copy } = await startWithSource();
    await put(harness, { bucket: "photos", key: "small" }, "meow");
    await copy({ copySource: "/photos/small" });
    await harness.client.deleteObject({ bucket: "photos", key: "small" }, as(alice));
    expect((await get(harness, { bucket: "photos", key: "copy.jpg" })).body.toString()).toBe("meow");
  });

  test("shows no checksums of parts under another algorithm than theirs", async () => {
    const { harness, uploadId, parts } = await startWithParts({ checksumAlgorithm: "CRC32" });
    await complete(harness, uploadId, parts);
    const copySource = `${film.bucket}/${film.key}`;
    await harness.client.copyObject({ ...film, key: "copy", copySource, checksumAlgorithm: "SHA256" }, as(alice));
    const read = { ...film, key: "copy", checksumMode: "ENABLED" };
    const sha256 = createHash("sha256").update(Buffer.concat(bytes)).digest("base64");
    expect((await get(harness, read)).head).toMatchObject({ checksumSha256: sha256, checksumType: "FULL_OBJECT" });
    expect((await get(harness, { ...read, partNumber: 2 })).head.checksumSha256).toBeUndefined();
    const { objectParts } = await harness.client.getObjectAttributes(
      { ...film, key: "copy", objectAttributes: ["ObjectParts"] },
      as(alice),
    );
    expect(objectParts?.parts.map((part) => [part.size, part.checksumSha256, part.checksumCrc32])).toEqual([
      [100_000n, undefined, undefined],
      [300_000n, undefined, undefined],
      [10n, undefined, undefined],
    ]);
  });

  test("replaces metadata and tags where it is told to, also on the object itself", async () => {
    const { harness, copy } = await startWithSource();
    await copy({ key: source.key, metadataDirective: "REPLACE", taggingDirective: "REPLACE", metadata: { c: "d" } });
    const { head, body } = await get(harness, source);
    expect(head).toMatchObject({ metadata: { c: "d" }, contentType: "binary/octet-stream" });
    expect(head.tagCount).toBeUndefined();
    expect(body.equals(content)).toBe(true);
    expect(await countFiles(harness)).toBe(1);
  });

  test("writes an object again where it names the storage class that the object has, as clients do for new defaults", async () => {
    const { harness, clock, copy } = await startWithSource();
    const before = (await get(harness, source)).head;
    clock.advance(60_000);
    await copy({ key: source.key, storageClass: "STANDARD_IA" });
    const { head, body } = await get(harness, source);
    expect(head).toMatchObject({ eTag: before.eTag, metadata: { a: "b" }, storageClass: "STANDARD_IA" });
    expect(Number(head.lastModified?.seconds) - Number(before.lastModified?.seconds)).toBe(60);
    expect(body.equals(content)).toBe(true);
  });

  test("makes another version of a version that it names, of the current one too", async () => {
    const { harness, copy } = await startWithSource();
    await harness.client.putBucketVersioning(
      { bucket: "photos", versioningConfiguration: { status: "Enabled" } },
      as(alice),
    );
    const copySource = `photos/${source.key}?versionId=`;
    const { versionId } = await copy({ key: source.key, copySource: `${copySource}null` });
    await copy({ key: source.key, copySource: copySource + versionId });
    expect(await refusalOf(copy({ key: source.key }))).toMatch(/^INVALID_REQUEST: This copy request is illegal/);
    const { versions } = await harness.client.listObjectVersions({ bucket: "photos" }, as(alice));
    expect(versions.map((version) => [version.key, version.isLatest])).toEqual([
      [source.key, true],
      [source.key, false],
      [source.key, false],
    ]);
  });

  test("has the storage class that it asks for, in the region of its bucket, whatever its source has", async () => {
    const harness = await startWithBucket();
    const { client } = harness;
    await put(harness, { bucket: "photos", key: "cat.jpg", storageClass: "ONEZONE_IA" }, "meow");
    await client.createBucket({ bucket: "copies" }, as(alice));
    const copySource = "photos/cat.jpg";
    await client.copyObject({ bucket: "copies", key: "plain", copySource }, as(alice));
    await client.copyObject({ bucket: "copies", key: "rare", copySource, storageClass: "STANDARD_IA" }, as(alice));
    const { contents } = await client.listObjectsV2({ bucket: "copies" }, as(alice));
    expect(contents.map(({ storageClass }) => storageClass)).toEqual(["STANDARD", "STANDARD_IA"]);
    expect((await client.headBucket({ bucket: "copies" }, as(alice))).bucketRegion).toBe("us-east-1");
  });

  test("makes the null version where the bucket keeps no versions", async () => {
    const { harness, copy } = await startWithSource();
    expect((await copy()).versionId).toBeUndefined();
    const { versions } = await harness.client.listObjectVersions({ bucket: "photos", prefix: target.key }, as(alice));
    expect(versions).toMatchObject([{ key: target.key, versionId: "null", isLatest: true }]);
  });

  test("computes another checksum where it is asked for one", async () => {
    const { copy } = await startWithSource();
    const { copyObjectResult } = await copy({ checksumAlgorithm: "SHA256" });
    expect(copyObjectResult?.checksumSha256).toBe(createHash("sha256").update(content).digest("base64"));
  });

  test.each([
    // request, reason; in the order of refusal
    [{ bucket: "unknown", copySource: "photos" }, "NO_SUCH_BUCKET"],
    [{ expectedBucketOwner: bob, copySource: "photos" }, "ACCESS_DENIED"],
    [{ copySource: "photos", key: "k".repeat(1025) }, malformed],
    [{ copySource: "photos/%E0%A4%A" }, malformed],
    [{ copySource: "arn:aws:s3:us-east-1:1:accesspoint/x/object/y" }, "NO_SUCH_BUCKET"],
    [{ copySource: "unknown/k", key: "k".repeat(1025) }, "NO_SUCH_BUCKET"],
    [{ expectedSourceBucketOwner: bob, key: "k".repeat(1025) }, "ACCESS_DENIED"],
    [{ key: "k".repeat(1025), acl: "public-read" }, "KEY_TOO_LONG"],
    [{ ifMatch: "x", ifNoneMatch: "*", acl: "public-read" }, oneCondition],
    [{ acl: "public-read", copySource: "photos/k?versionId=x" }, "ACCESS_CONTROL_LIST_NOT_SUPPORTED"],
    [{ copySource: "photos/k?versionId=x", storageClass: "NONSENSE" }, "INVALID_VERSION_ID"],
    [{ storageClass: "NONSENSE", checksumAlgorithm: "NONSENSE" }, "INVALID_STORAGE_CLASS"],
    [
      { checksumAlgorithm: "NONSENSE", copySource: "photos/unknown" },
      "INVALID_REQUEST: Checksum algorithm provided is unsupported. Please try again with any of the valid types: [CRC32, CRC32C, CRC64NVME, SHA1, SHA256]",
    ],
    [{ copySourceSseCustomerKey: "x", sseCustomerAlgorithm: "DES", copySource: "photos/unknown" }, withoutAlgorithm],
    [{ sseCustomerAlgorithm: "DES", copySource: "photos/unknown" }, "INVALID_ENCRYPTION_ALGORITHM"],
    [{ copySource: "photos/unknown" }, "NO_SUCH_KEY"],
    [{ copySourceIfMatch: "other" }, "PRECONDITION_FAILED"],
    [{ copySourceIfNoneMatch: "*" }, "PRECONDITION_FAILED"],
    [{ copySourceIfNoneMatch: "*", copySourceIfModifiedSince: at(1) }, "PRECONDITION_FAILED"],
    [{ copySourceIfUnmodifiedSince: at(1) }, "PRECONDITION_FAILED"],
    [{ copySourceIfModifiedSince: at(1) }, "answered"],
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
