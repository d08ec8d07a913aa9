import { describe, expect, test } from "vitest";

import { findBucket } from "../../../services/object-storage/store/bucket.ts";
import { putFinishedUpload } from "../../../services/object-storage/store/upload.ts";
import { sweepBlobs } from "../../../services/object-storage/work/blob-sweep.ts";
import { FakeClock } from "../../support/fake-clock.ts";

import {
  alice,
  as,
  bob,
  metadataOf,
  notImplemented,
  put,
  refusalOf,
  startHarness,
  startWithBucket,
} from "../harness.ts";
import { bytes, countFiles, sendPart, smallParts, startUpload } from "../multipart.ts";

const inRegion = (locationConstraint: string) => ({
  bucket: "photos",
  createBucketConfiguration: { locationConstraint },
});

describe("createBucket", () => {
  test("makes a bucket that is then there, empty and the caller's", async () => {
    const { client } = await startHarness();

    const made = await client.createBucket({ bucket: "photos" }, as(alice));

    expect(made.location).toBe("/photos");
    expect(made.bucketArn).toBe("arn:aws:s3:::photos");
    expect((await client.headBucket({ bucket: "photos" }, as(alice))).bucketRegion).toBe("us-east-1");
    expect((await client.listObjectsV2({ bucket: "photos" }, as(alice))).keyCount).toBe(0);
  });

  test.each([
    // request, reason; in the order of refusal
    [{ bucket: "Photos", acl: "public-read" }, "INVALID_BUCKET_NAME"],
    [{ bucket: "ab" }, "INVALID_BUCKET_NAME"],
    [{ bucket: "127.0.0.1" }, "INVALID_BUCKET_NAME"],
    [{ bucket: "a..b" }, "INVALID_BUCKET_NAME"],
    [{ bucket: "-abc" }, "INVALID_BUCKET_NAME"],
    [{ bucket: "event-bus" }, "INVALID_BUCKET_NAME"],
    [{ bucket: "a".repeat(64) }, "INVALID_BUCKET_NAME"],
    [
      { bucket: "other", acl: "nonsense" },
      "INVALID_INPUT: Value 'nonsense' at 'acl' failed to satisfy constraint: Member must satisfy enum value set: [private, public-read, public-read-write, authenticated-read, log-delivery-write]",
    ],
    [
      { bucket: "other", objectOwnership: "Nobody" },
      "INVALID_INPUT: Value 'Nobody' at 'object_ownership' failed to satisfy constraint: Member must satisfy enum value set: [BucketOwnerPreferred, ObjectWriter, BucketOwnerEnforced]",
    ],
    [{ bucket: "other", createBucketConfiguration: { location: {} } }, notImplemented("Location")],
    [{ bucket: "other", createBucketConfiguration: { bucket: {} } }, notImplemented("Bucket")],
    [
      { bucket: "other", acl: "public-read", createBucketConfiguration: { locationConstraint: "moon" } },
      "INVALID_BUCKET_ACL_WITH_OBJECT_OWNERSHIP",
    ],
    [{ bucket: "other", grantWrite: "id=1" }, "INVALID_ARGUMENT: Invalid id"],
    [{ bucket: "other", grantWrite: `id=${"1".repeat(64)}` }, "INVALID_BUCKET_ACL_WITH_OBJECT_OWNERSHIP"],
    [{ bucket: "other", createBucketConfiguration: { locationConstraint: "moon" } }, "INVALID_LOCATION_CONSTRAINT"],
    [
      { bucket: "other", createBucketConfiguration: { locationConstraint: "eu-west-1" } },
      "ILLEGAL_LOCATION_CONSTRAINT: The eu-west-1 location constraint is incompatible for the region specific endpoint this request was sent to.",
    ],
    [
      { bucket: "other", createBucketConfiguration: { tags: [{ key: "aws:x", value: "1" }] } },
      "INVALID_TAG: System tags cannot be added or updated by the requester",
    ],
    [{ bucket: "photos", objectOwnership: "ObjectWriter" }, "BUCKET_ALREADY_OWNED_BY_YOU"],
    [
      { bucket: "photos", objectOwnership: "ObjectWriter", acl: "public-read", createBucketConfiguration: {} },
      "BUCKET_ALREADY_OWNED_BY_YOU",
    ],
    [{ bucket: "photos", createBucketConfiguration: { tags: [{ key: "a" }] } }, "BUCKET_ALREADY_OWNED_BY_YOU"],
    [{ bucket: "bobs" }, "BUCKET_ALREADY_EXISTS"],
    [{ bucket: "fourth" }, "TOO_MANY_BUCKETS"],
  ])("refuses %j with %s", async (request, reason) => {
    const { client } = await startHarness({ limits: { bucketsPerAccountMax: 1 } });
    await client.createBucket({ bucket: "photos" }, as(alice));
    await client.createBucket({ bucket: "bobs" }, as(bob));

    expect(await refusalOf(client.createBucket(request, as(alice)))).toBe(reason);
  });

  test("succeeds again for the owner in the first region, and leaves the bucket as it is", async () => {
    const harness = await startWithBucket();
    await put(harness, { bucket: "photos", key: "cat.jpg" }, "meow");
    for (const request of [{}, { acl: "private" }, { objectOwnership: "BucketOwnerEnforced" }])
      await harness.client.createBucket({ bucket: "photos", ...request }, as(alice));
    expect((await harness.client.listObjectsV2({ bucket: "photos" }, as(alice))).keyCount).toBe(1);

    const elsewhere = await startHarness({ region: "eu-west-1" });
    await elsewhere.client.createBucket(inRegion("eu-west-1"), as(alice));
    expect(await refusalOf(elsewhere.client.createBucket(inRegion("eu-west-1"), as(alice)))).toBe(
      "BUCKET_ALREADY_OWNED_BY_YOU",
    );
  });

  test("refuses a caller who signed nothing", async () => {
    const { client } = await startHarness();
    expect(await refusalOf(client.createBucket({ bucket: "photos" }))).toBe("ACCESS_DENIED");
  });

  test("outside the first region asks for the region by name and tells it", async () => {
    const { client } = await startHarness({ region: "eu-west-1" });
    const incompatible = (location: string): string =>
      `ILLEGAL_LOCATION_CONSTRAINT: The ${location} location constraint is incompatible for the region specific endpoint this request was sent to.`;

    expect(await refusalOf(client.createBucket({ bucket: "photos" }, as(alice)))).toBe(incompatible("unspecified"));
    expect(await refusalOf(client.createBucket(inRegion("us-east-1"), as(alice)))).toBe(incompatible("us-east-1"));
    await client.createBucket(inRegion("EU"), as(alice));
    expect((await client.getBucketLocation({ bucket: "photos" }, as(alice))).locationConstraint).toBe("eu-west-1");
  });

  test("gives a name to exactly one of many who ask at once", async () => {
    const { client } = await startHarness();
    const accounts = Array.from({ length: 20 }, (_none, index) => (100_000_000_000 + index).toString());

    const reasons = await Promise.all(
      accounts.map((account) => refusalOf(client.createBucket({ bucket: "wanted" }, as(account)))),
    );

    expect(reasons.filter((reason) => reason === "answered")).toHaveLength(1);
    expect(reasons.filter((reason) => reason === "BUCKET_ALREADY_EXISTS")).toHaveLength(19);
  });
});

describe("headBucket", () => {
  test("returns the bucket's region and ARN to its owner only", async () => {
    const { client } = await startWithBucket();
    expect(await client.headBucket({ bucket: "photos", expectedBucketOwner: alice }, as(alice))).toMatchObject({
      bucketRegion: "us-east-1",
      bucketArn: "arn:aws:s3:::photos",
    });
    expect(await refusalOf(client.headBucket({ bucket: "photos" }, as(bob)))).toBe("ACCESS_DENIED");
    expect(await refusalOf(client.headBucket({ bucket: "photos" }))).toBe("ACCESS_DENIED");
    expect(await metadataOf(client.headBucket({ bucket: "photos" }))).toEqual({
      action: "s3:ListBucket",
      resource: "photos",
    });
  });
});

describe("getBucketLocation", () => {
  test("tells nothing for the first region", async () => {
    const { client } = await startWithBucket();
    expect((await client.getBucketLocation({ bucket: "photos" }, as(alice))).locationConstraint).toBeUndefined();
  });
});

describe("deleteBucket", () => {
  test("succeeds however many uploads were completed in the bucket today", async () => {
    const { client, opened } = await startWithBucket({ storeLimits: { transactionBytesMax: 8 * 1024 } });
    const { store } = opened.app;
    const { bucketId = "" } = (await store.read((reader) => findBucket(reader, "photos"))) ?? {};
    // Together more than one transaction may write.
    for (const digit of "0123456789")
      await store.transact((transaction) => {
        const reference = { bucketId, key: "k".repeat(1_000), uploadId: digit.repeat(44) };
        putFinishedUpload(transaction, reference, { finishedMs: BigInt(Date.now()), eTag: "e-1", versionId: "" });
      });
    await client.deleteBucket({ bucket: "photos" }, as(alice));
    expect(await refusalOf(client.headBucket({ bucket: "photos" }, as(alice)))).toBe("NO_SUCH_BUCKET");
  });

  test("refuses a bucket with an object and takes an empty one; a new one of its name is empty", async () => {
    const harness = await startWithBucket();
    const { client } = harness;
    await put(harness, { bucket: "photos", key: "cat.jpg" }, "meow");
    expect(await refusalOf(client.deleteBucket({ bucket: "photos" }, as(alice)))).toBe("BUCKET_NOT_EMPTY");

    await client.deleteObject({ bucket: "photos", key: "cat.jpg" }, as(alice));
    await client.deleteBucket({ bucket: "photos" }, as(alice));

    expect(await refusalOf(client.deleteBucket({ bucket: "photos" }, as(alice)))).toBe("NO_SUCH_BUCKET");
    await client.createBucket({ bucket: "photos" }, as(bob));
    expect((await client.listObjectsV2({ bucket: "photos" }, as(bob))).contents).toEqual([]);
  });

  test("ends the open uploads of an empty bucket and releases their parts", async () => {
    const clock = new FakeClock(Date.now());
    const harness = await startWithBucket({ clock, limits: { ...smallParts, partsEndedPerTransaction: 2 } });
    const ids: string[] = [];
    for (const key of ["film.mp4", "film.mp4", "other.mp4"]) {
      const uploadId = await startUpload(harness, { key });
      ids.push(uploadId);
      for (const partNumber of [1, 2]) await sendPart(harness, uploadId, partNumber, bytes[1], { key });
    }
    await put(harness, { bucket: "photos", key: "cat.jpg" }, "meow");
    expect(await refusalOf(harness.client.deleteBucket({ bucket: "photos" }, as(alice)))).toBe("BUCKET_NOT_EMPTY");
    expect((await harness.client.listMultipartUploads({ bucket: "photos" }, as(alice))).uploads).toHaveLength(3);
    await harness.client.deleteObject({ bucket: "photos", key: "cat.jpg" }, as(alice));

    await harness.client.deleteBucket({ bucket: "photos" }, as(alice));

    await harness.client.createBucket({ bucket: "photos" }, as(alice));
    expect((await harness.client.listMultipartUploads({ bucket: "photos" }, as(alice))).uploads).toEqual([]);
    expect(await refusalOf(sendPart(harness, ids[0] ?? "", 1, bytes[2]))).toBe("NO_SUCH_UPLOAD");
    clock.advance(11 * 60_000);
    await sweepBlobs(harness.opened.sweep);
    expect(await countFiles(harness)).toBe(0);
  });

  test("never wins against a put that was answered", async () => {
    const harness = await startWithBucket();
    for (let round = 0; round < 10; round += 1) {
      const [deleted, putReason] = await Promise.all([
        refusalOf(harness.client.deleteBucket({ bucket: "photos" }, as(alice))),
        refusalOf(put(harness, { bucket: "photos", key: "k" }, "v")),
      ]);
      expect([`${deleted} ${putReason}`]).toContainEqual(
        expect.stringMatching(/^(?:answered NO_SUCH_BUCKET|BUCKET_NOT_EMPTY answered)$/),
      );
      await harness.client.deleteObject({ bucket: "photos", key: "k" }, as(alice)).catch(() => undefined);
      await harness.client.createBucket({ bucket: "photos" }, as(alice)).catch(() => undefined);
    }
  });
});

describe("listBuckets", () => {
  test("lists the caller's buckets by name, page by page, with a prefix", async () => {
    const { client } = await startHarness();
    for (const bucket of ["logs-b", "logs-a", "photos", "logs-c"]) await client.createBucket({ bucket }, as(alice));
    await client.createBucket({ bucket: "logs-of-bob" }, as(bob));

    const first = await client.listBuckets({ prefix: "logs", maxBuckets: 2 }, as(alice));
    const second = await client.listBuckets(
      { prefix: "logs", maxBuckets: 2, continuationToken: first.continuationToken },
      as(alice),
    );

    expect(first.buckets.map((bucket) => bucket.name)).toEqual(["logs-a", "logs-b"]);
    expect(first.prefix).toBe("logs");
    expect(second.buckets.map((bucket) => bucket.name)).toEqual(["logs-c"]);
    expect(second.continuationToken).toBeUndefined();
    expect(first.buckets[0]?.bucketRegion).toBe("us-east-1");
    expect(first.owner?.id).toMatch(/^[0-9a-f]{64}$/);
    expect((await client.listBuckets({ bucketRegion: "eu-west-1" }, as(alice))).buckets).toEqual([]);
  });

  test("refuses a token of another caller or listing, and a size that is none", async () => {
    const { client } = await startHarness();
    for (const bucket of ["logs-a", "logs-b"]) await client.createBucket({ bucket }, as(alice));
    const { continuationToken } = await client.listBuckets({ maxBuckets: 1 }, as(alice));

    expect(await refusalOf(client.listBuckets({ continuationToken }, as(bob)))).toBe("INVALID_PAGE_TOKEN");
    expect(await refusalOf(client.listBuckets({ continuationToken, prefix: "l" }, as(alice)))).toBe(
      "INVALID_PAGE_TOKEN",
    );
    expect(await refusalOf(client.listBuckets({ continuationToken: "garbage" }, as(alice)))).toBe("INVALID_PAGE_TOKEN");
    expect(await refusalOf(client.listBuckets({ maxBuckets: 0 }, as(alice)))).toBe(
      "INVALID_INPUT: Value '0' at 'max_buckets' failed to satisfy constraint: Member must have value greater than or equal to 1",
    );
  });
});
