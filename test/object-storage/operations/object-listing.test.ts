import { describe, expect, test } from "vitest";

import { accountsOf } from "../../../services/kit/accounts/accounts.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import type { Harness } from "../harness.ts";
import { alice, as, bob, put, refusalOf, startWithBucket } from "../harness.ts";

const fill = async (harness: Harness, keys: readonly string[]): Promise<void> => {
  await Promise.all(keys.map((key) => put(harness, { bucket: "photos", key }, key)));
};

describe("listObjectsV2", () => {
  test("lists keys in the byte order of their UTF-8, page by page", async () => {
    const harness = await startWithBucket();
    await fill(harness, ["b", "a/1", "a/2", "\u{1f600}", "\uffff", "é", "Z", "a b"]);
    const list = (continuationToken?: string) =>
      harness.client.listObjectsV2({ bucket: "photos", maxKeys: 3, continuationToken }, as(alice));

    const first = await list();
    const second = await list(first.nextContinuationToken);
    const third = await list(second.nextContinuationToken);

    expect(first).toMatchObject({ name: "photos", isTruncated: true, keyCount: 3, maxKeys: 3 });
    expect([first, second, third].map((page) => page.contents.map((object) => object.key))).toEqual([
      ["Z", "a b", "a/1"],
      ["a/2", "b", "é"],
      ["\uffff", "\u{1f600}"],
    ]);
    expect(third.isTruncated).toBe(false);
    expect(third.nextContinuationToken).toBeUndefined();
    expect(second.continuationToken).toBe(first.nextContinuationToken);
  });

  test("shows what each object is, its owner on demand", async () => {
    const clock = new FakeClock(Date.parse("2026-01-02T03:04:05.678Z"));
    const harness = await startWithBucket({ clock });
    await put(harness, { bucket: "photos", key: "cat.jpg", storageClass: "ONEZONE_IA" }, "0123456789");

    const plain = await harness.client.listObjectsV2({ bucket: "photos" }, as(alice));
    const owned = await harness.client.listObjectsV2({ bucket: "photos", fetchOwner: true }, as(alice));

    expect(plain.contents).toMatchObject([
      {
        key: "cat.jpg",
        eTag: '"781e5e245d69b566979b86e28d23f2c7"',
        size: 10n,
        storageClass: "ONEZONE_IA",
        checksumAlgorithm: ["CRC64NVME"],
        checksumType: "FULL_OBJECT",
        lastModified: { seconds: 1_767_323_045n, nanos: 678_000_000 },
      },
    ]);
    expect(plain.contents[0]?.owner).toBeUndefined();
    expect(owned.contents[0]?.owner?.displayName).toBe(alice);
  });

  test("shows owners by the declared names of their accounts", async () => {
    const declared = { id: alice, name: "Alice", email: undefined, canonicalUserId: "a".repeat(64) };
    const accounts = accountsOf({
      accounts: [declared],
      users: [],
      roles: [],
      organizations: new Map(),
      accessKeys: [],
    });
    const harness = await startWithBucket({ accounts });
    const { client } = harness;
    await put(harness, { bucket: "photos", key: "cat.jpg" });
    const upload = await client.createMultipartUpload({ bucket: "photos", key: "film" }, as(alice));
    const { uploadId = "" } = upload;
    const owners = [
      (await client.listBuckets({}, as(alice))).owner,
      (await client.listObjectsV2({ bucket: "photos", fetchOwner: true }, as(alice))).contents[0]?.owner,
      (await client.listObjectVersions({ bucket: "photos" }, as(alice))).versions[0]?.owner,
      (await client.listMultipartUploads({ bucket: "photos" }, as(alice))).uploads[0]?.owner,
      (await client.listParts({ bucket: "photos", key: "film", uploadId }, as(alice))).owner,
      (await client.getBucketAcl({ bucket: "photos" }, as(alice))).owner,
      (await client.getObjectAcl({ bucket: "photos", key: "cat.jpg" }, as(alice))).owner,
    ];
    expect(owners.map((owner) => [owner?.id, owner?.displayName])).toEqual(
      Array.from({ length: 7 }, () => ["a".repeat(64), "Alice"]),
    );
  });

  test("rolls keys up, and goes on behind a common prefix", async () => {
    const harness = await startWithBucket();
    await fill(harness, ["a", "b/1", "b/2", "c/1", "d"]);
    const request = { bucket: "photos", delimiter: "/", maxKeys: 2 };

    const first = await harness.client.listObjectsV2(request, as(alice));
    const second = await harness.client.listObjectsV2(
      { ...request, continuationToken: first.nextContinuationToken },
      as(alice),
    );

    expect(first.contents.map((object) => object.key)).toEqual(["a"]);
    expect(first.commonPrefixes.map(({ prefix }) => prefix)).toEqual(["b/"]);
    expect(first.keyCount).toBe(2);
    expect(second.commonPrefixes.map(({ prefix }) => prefix)).toEqual(["c/"]);
    expect(second.contents.map((object) => object.key)).toEqual(["d"]);
  });

  test("shows no common prefix of keys that only have delete markers, until one is removed", async () => {
    const harness = await startWithBucket();
    await harness.client.putBucketVersioning(
      { bucket: "photos", versioningConfiguration: { status: "Enabled" } },
      as(alice),
    );
    await put(harness, { bucket: "photos", key: "a/1" }, "content");
    const { versionId } = await harness.client.deleteObject({ bucket: "photos", key: "a/1" }, as(alice));
    const prefixes = async () => {
      const page = await harness.client.listObjectsV2({ bucket: "photos", delimiter: "/" }, as(alice));
      return page.commonPrefixes.map(({ prefix }) => prefix);
    };
    expect(await prefixes()).toEqual([]);
    await harness.client.deleteObject({ bucket: "photos", key: "a/1", versionId }, as(alice));
    expect(await prefixes()).toEqual(["a/"]);
  });

  test("percent-encodes names on demand and echoes what it was asked", async () => {
    const harness = await startWithBucket();
    await fill(harness, ["a b/ü+&", "a b/x/1"]);
    const page = await harness.client.listObjectsV2(
      { bucket: "photos", prefix: "a b/", delimiter: "/", startAfter: "a b", encodingType: "url" },
      as(alice),
    );
    expect(page).toMatchObject({ prefix: "a+b/", delimiter: "/", startAfter: "a+b", encodingType: "url" });
    expect(page.contents.map((object) => object.key)).toEqual(["a+b/%C3%BC%2B%26"]);
    expect(page.commonPrefixes.map(({ prefix }) => prefix)).toEqual(["a+b/x/"]);
  });

  test("takes no more than 1,000 keys, and none at all when asked for none", async () => {
    const harness = await startWithBucket();
    await fill(harness, ["a"]);
    const list = (maxKeys: number) => harness.client.listObjectsV2({ bucket: "photos", maxKeys }, as(alice));
    expect(await list(5_000)).toMatchObject({ maxKeys: 1_000, keyCount: 1 });
    expect(await list(0)).toMatchObject({ maxKeys: 0, keyCount: 0, isTruncated: false, contents: [] });
  });

  test("refuses what it cannot understand, and tokens of other listings", async () => {
    const harness = await startWithBucket();
    await fill(harness, ["a", "b"]);
    const list = (request: object) =>
      refusalOf(harness.client.listObjectsV2({ bucket: "photos", ...request }, as(alice)));
    const { nextContinuationToken } = await harness.client.listObjectsV2({ bucket: "photos", maxKeys: 1 }, as(alice));

    expect(await list({ maxKeys: -1 })).toBe(
      "INVALID_INPUT: Value '-1' at 'max_keys' failed to satisfy constraint: Member must have value greater than or equal to 0",
    );
    expect(await list({ encodingType: "html" })).toBe(
      "INVALID_INPUT: Value 'html' at 'encoding_type' failed to satisfy constraint: Member must satisfy enum value set: [url]",
    );
    expect(await list({ encodingType: "" })).toBe(
      "INVALID_INPUT: Value '' at 'encoding_type' failed to satisfy constraint: Member must satisfy enum value set: [url]",
    );
    expect(await list({ continuationToken: "garbage" })).toBe("INVALID_PAGE_TOKEN");
    expect(await list({ continuationToken: nextContinuationToken, prefix: "a" })).toBe("INVALID_PAGE_TOKEN");
    expect(await list({ continuationToken: nextContinuationToken, startAfter: "zzz" })).toBe("answered");
  });
});

describe("listObjects", () => {
  test("goes on behind a marker; tells the next one only when it rolls up", async () => {
    const harness = await startWithBucket();
    await fill(harness, ["a", "b/1", "b/2", "c"]);
    const list = (request: object) => harness.client.listObjects({ bucket: "photos", ...request }, as(alice));

    const plain = await list({ maxKeys: 2 });
    const rolled = await list({ maxKeys: 2, delimiter: "/" });
    const rest = await list({ marker: rolled.nextMarker, delimiter: "/" });

    expect(plain.contents.map((object) => object.key)).toEqual(["a", "b/1"]);
    expect(plain.nextMarker).toBeUndefined();
    expect(plain.contents[0]?.owner?.id).toMatch(/^[0-9a-f]{64}$/);
    expect(rolled.nextMarker).toBe("b/");
    expect(rest.marker).toBe("b/");
    expect(rest.contents.map((object) => object.key)).toEqual(["c"]);
    expect(rest.commonPrefixes).toEqual([]);
  });
});

describe("listObjectVersions", () => {
  test("lists each object as its null version, and no delete markers", async () => {
    const clock = new FakeClock(Date.parse("2026-01-02T03:04:05.678Z"));
    const harness = await startWithBucket({ clock });
    await put(harness, { bucket: "photos", key: "cat.jpg" }, "an older cat");
    await put(harness, { bucket: "photos", key: "cat.jpg", storageClass: "ONEZONE_IA" }, "0123456789");
    await put(harness, { bucket: "photos", key: "dog.jpg" }, "woof");
    await harness.client.deleteObject({ bucket: "photos", key: "dog.jpg" }, as(alice));

    const listing = await harness.client.listObjectVersions({ bucket: "photos" }, as(alice));

    expect(listing).toMatchObject({ name: "photos", prefix: "", keyMarker: "", versionIdMarker: "", maxKeys: 1_000 });
    expect(listing).toMatchObject({ isTruncated: false, commonPrefixes: [], deleteMarkers: [] });
    expect(listing.nextKeyMarker).toBeUndefined();
    expect(listing.nextVersionIdMarker).toBeUndefined();
    expect(listing.versions).toMatchObject([
      {
        key: "cat.jpg",
        versionId: "null",
        isLatest: true,
        eTag: '"781e5e245d69b566979b86e28d23f2c7"',
        size: 10n,
        storageClass: "ONEZONE_IA",
        checksumAlgorithm: ["CRC64NVME"],
        checksumType: "FULL_OBJECT",
        lastModified: { seconds: 1_767_323_045n, nanos: 678_000_000 },
        owner: { displayName: alice },
      },
    ]);
  });

  test("goes on behind its markers, which may be a common prefix", async () => {
    const harness = await startWithBucket();
    await fill(harness, ["a", "b/1", "b/2", "c", "d"]);
    const list = (request: object) =>
      harness.client.listObjectVersions({ bucket: "photos", delimiter: "/", ...request }, as(alice));

    const first = await list({ maxKeys: 1 });
    const second = await list({ maxKeys: 1, keyMarker: "a", versionIdMarker: "null" });
    const third = await list({ keyMarker: "b/" });

    expect(first.versions.map(({ key }) => key)).toEqual(["a"]);
    expect(first).toMatchObject({ isTruncated: true, nextKeyMarker: "a", nextVersionIdMarker: "null" });
    expect(second.versions).toEqual([]);
    expect(second.commonPrefixes.map(({ prefix }) => prefix)).toEqual(["b/"]);
    expect(second).toMatchObject({ isTruncated: true, keyMarker: "a", versionIdMarker: "null", nextKeyMarker: "b/" });
    expect(second.nextVersionIdMarker).toBeUndefined();
    expect(third.versions.map(({ key }) => key)).toEqual(["c", "d"]);
    expect(third.commonPrefixes).toEqual([]);
  });

  test("lists names under a prefix, percent-encoded on demand, and none when asked for none", async () => {
    const harness = await startWithBucket();
    await fill(harness, ["a b/ü+&", "a b/x/1", "b"]);
    const request = { bucket: "photos", prefix: "a b/", delimiter: "/", keyMarker: "a b", encodingType: "url" };

    const listing = await harness.client.listObjectVersions(request, as(alice));
    const none = await harness.client.listObjectVersions({ bucket: "photos", maxKeys: 0 }, as(alice));

    expect(listing).toMatchObject({ prefix: "a+b/", delimiter: "/", keyMarker: "a+b", encodingType: "url" });
    expect(listing.versions.map(({ key }) => key)).toEqual(["a+b/%C3%BC%2B%26"]);
    expect(listing.commonPrefixes.map(({ prefix }) => prefix)).toEqual(["a+b/x/"]);
    expect(none).toMatchObject({ maxKeys: 0, isTruncated: false, versions: [] });
  });

  test.each([
    // request, account, reason; in the order of refusal
    [
      { maxKeys: -1 },
      alice,
      "INVALID_INPUT: Value '-1' at 'max_keys' failed to satisfy constraint: Member must have value greater than or equal to 0",
    ],
    [
      { encodingType: "html" },
      alice,
      "INVALID_INPUT: Value 'html' at 'encoding_type' failed to satisfy constraint: Member must satisfy enum value set: [url]",
    ],
    [{ bucket: "unknown", versionIdMarker: "null" }, alice, "NO_SUCH_BUCKET"],
    [{ versionIdMarker: "null" }, bob, "ACCESS_DENIED"],
    [
      { optionalObjectAttributes: ["Colour"], versionIdMarker: "1" },
      alice,
      "INVALID_ARGUMENT: Invalid attribute name specified",
    ],
    [
      { versionIdMarker: "1" },
      alice,
      "INVALID_ARGUMENT: A version-id marker cannot be specified without a key marker.",
    ],
    [{ keyMarker: "a", versionIdMarker: "1" }, alice, "INVALID_VERSION_ID"],
  ])("a request with %o by the account %s ends as %s", async (request, account, reason) => {
    const { client } = await startWithBucket();
    expect(await refusalOf(client.listObjectVersions({ bucket: "photos", ...request }, as(account)))).toBe(reason);
  });
});
