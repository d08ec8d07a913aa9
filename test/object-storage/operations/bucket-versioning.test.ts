import { ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";

import type { Harness } from "../harness.ts";
import { alice, as, get, put, refusalOf, startWithBucket } from "../harness.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { bytes, complete, film, sendPart, smallParts, startUpload } from "../multipart.ts";

const cat = { bucket: "photos", key: "cat.jpg" };

const turn = (harness: Harness, status: string) =>
  harness.client.putBucketVersioning({ bucket: "photos", versioningConfiguration: { status } }, as(alice));

/** Alice's bucket `photos`, which keeps versions. */
const startVersioned = async (options: Parameters<typeof startWithBucket>[0] = {}): Promise<Harness> => {
  const harness = await startWithBucket(options);
  await turn(harness, "Enabled");
  return harness;
};

const remove = (harness: Harness, versionId?: string, key = "cat.jpg") =>
  harness.client.deleteObject({ bucket: "photos", key, ...(versionId !== undefined && { versionId }) }, as(alice));

/** Everything that the listing shows: key, id, and whether it is a delete marker or the latest. */
const list = async (harness: Harness, request: object = {}): Promise<string[]> => {
  const page = await harness.client.listObjectVersions({ bucket: "photos", ...request }, as(alice));
  return [
    ...page.versions.map(({ key, versionId, isLatest }) => `${key} ${versionId}${isLatest ? " latest" : ""}`),
    ...page.deleteMarkers.map(
      ({ key, versionId, isLatest }) => `${key} ${versionId} marker${isLatest ? " latest" : ""}`,
    ),
  ];
};

/** The headers that a refusal has about delete markers. */
const headersOf = async (call: Promise<unknown>): Promise<(string | null)[]> => {
  const refusal = await call.then(
    () => undefined,
    (thrown: unknown) => ConnectError.from(thrown),
  );
  const names = ["x-svc-delete-marker", "x-svc-version-id", "allow"];
  return names.map((name) => refusal?.metadata.get(name) ?? null);
};

describe("putBucketVersioning", () => {
  test("turns versioning on, suspends it, and never leaves it unset again", async () => {
    const harness = await startWithBucket();
    const status = async () => (await harness.client.getBucketVersioning({ bucket: "photos" }, as(alice))).status;
    expect(await status()).toBeUndefined();
    for (const next of ["Enabled", "Suspended", "Suspended", "Enabled"]) {
      await turn(harness, next);
      expect(await status()).toBe(next);
    }
  });

  test.each([
    // request, reason; in the order of refusal
    [{ bucket: "unknown", mfa: "1 2" }, "NO_SUCH_BUCKET"],
    [{ versioningConfiguration: { mfaDelete: "Enabled" } }, "ILLEGAL_VERSIONING_CONFIGURATION"],
    [{ versioningConfiguration: { status: "enabled", mfaDelete: "Enabled" } }, "MALFORMED_XML"],
    [{ mfa: "1 2", versioningConfiguration: { status: "Enabled", mfaDelete: "on" } }, "MALFORMED_XML"],
    [{ mfa: "1 2" }, "ACCESS_DENIED"],
    [{ versioningConfiguration: { status: "Enabled", mfaDelete: "Enabled" } }, "ACCESS_DENIED"],
  ])("refuses %o with %s", async (request, reason) => {
    const { client } = await startWithBucket();
    const call = client.putBucketVersioning(
      { bucket: "photos", versioningConfiguration: { status: "Enabled" }, ...request },
      as(alice),
    );
    expect(await refusalOf(call)).toBe(reason);
  });
});

describe("a bucket that keeps versions", () => {
  test("reads, tags and deletes each version by its id, and makes the next one current", async () => {
    const harness = await startWithBucket();
    expect((await put(harness, cat, "before")).versionId).toBeUndefined();
    await turn(harness, "Enabled");
    const first = (await put(harness, cat, "first")).versionId ?? "";
    const second = (await put(harness, { ...cat, tagging: "n=2" }, "second")).versionId ?? "";
    expect(first).toMatch(/^[0-9a-f]{32}$/);

    const contents = async () =>
      Promise.all(
        [undefined, "null", first, second].map(async (versionId) => {
          const { head, body } = await get(harness, { ...cat, ...(versionId !== undefined && { versionId }) });
          return [head.versionId, body.toString()];
        }),
      );
    expect(await contents()).toEqual([
      [second, "second"],
      ["null", "before"],
      [first, "first"],
      [second, "second"],
    ]);
    const tagging = { tagSet: [{ key: "n", value: "1" }] };
    await harness.client.putObjectTagging({ ...cat, versionId: first, tagging }, as(alice));
    const tagsOf = async (versionId: string) =>
      (await harness.client.getObjectTagging({ ...cat, versionId }, as(alice))).tagSet.map(({ value }) => value);
    expect([await tagsOf(first), await tagsOf(second), await tagsOf("null")]).toEqual([["1"], ["2"], []]);
    expect(
      (
        await harness.client.getObjectAttributes(
          { ...cat, versionId: first, objectAttributes: ["ObjectSize"] },
          as(alice),
        )
      ).objectSize,
    ).toBe(5n);

    expect(await remove(harness, second)).not.toHaveProperty("deleteMarker");
    expect((await get(harness, cat)).body.toString()).toBe("first");
    await remove(harness, first);
    expect((await get(harness, cat)).head.versionId).toBe("null");
    await remove(harness, "null");
    expect(await list(harness)).toEqual([]);
    expect(await refusalOf(harness.client.deleteBucket({ bucket: "photos" }, as(alice)))).toBe("answered");
  });

  test("puts delete markers, which are versions of their own", async () => {
    const harness = await startVersioned();
    const version = (await put(harness, cat, "meow")).versionId ?? "";
    const marker = await remove(harness);
    expect(marker.deleteMarker).toBe(true);
    const markerId = marker.versionId ?? "";

    expect(await refusalOf(get(harness, cat))).toBe("NO_SUCH_KEY");
    expect(await headersOf(harness.client.headObject(cat, as(alice)))).toEqual(["true", markerId, null]);
    for (const call of [
      harness.client.headObject({ ...cat, versionId: markerId }, as(alice)),
      harness.client.getObjectTagging({ ...cat, versionId: markerId }, as(alice)),
    ]) {
      const [reason, headers] = await Promise.all([refusalOf(call), headersOf(call)]);
      expect(reason).toBe("METHOD_NOT_ALLOWED");
      expect(headers).toEqual(["true", markerId, "DELETE"]);
    }
    expect((await get(harness, { ...cat, versionId: version })).body.toString()).toBe("meow");
    expect((await harness.client.listObjectsV2({ bucket: "photos" }, as(alice))).contents).toEqual([]);
    expect(await list(harness)).toEqual([`cat.jpg ${version}`, `cat.jpg ${markerId} marker latest`]);

    const again = await remove(harness, undefined, "never.jpg");
    expect(again.deleteMarker).toBe(true);
    await remove(harness, version);
    expect(await refusalOf(harness.client.deleteBucket({ bucket: "photos" }, as(alice)))).toBe("BUCKET_NOT_EMPTY");
    expect(await remove(harness, markerId)).toMatchObject({ versionId: markerId, deleteMarker: true });
    expect(await headersOf(harness.client.headObject(cat, as(alice)))).toEqual([null, null, null]);
  });

  test("replaces only the null version while versioning is suspended", async () => {
    const harness = await startVersioned();
    const kept = (await put(harness, cat, "kept")).versionId ?? "";
    await turn(harness, "Suspended");
    expect((await put(harness, cat, "null 1")).versionId).toBe("null");
    expect((await put(harness, cat, "null 2")).versionId).toBe("null");
    expect(await list(harness)).toEqual(["cat.jpg null latest", `cat.jpg ${kept}`]);

    await turn(harness, "Enabled");
    const newest = (await put(harness, cat, "newest")).versionId ?? "";
    await turn(harness, "Suspended");
    expect((await get(harness, { ...cat, versionId: "null" })).body.toString()).toBe("null 2");
    expect(await remove(harness)).toMatchObject({ versionId: "null", deleteMarker: true });
    expect(await remove(harness)).toMatchObject({ versionId: "null", deleteMarker: true });
    expect(await list(harness)).toEqual([`cat.jpg ${newest}`, `cat.jpg ${kept}`, "cat.jpg null marker latest"]);
    await remove(harness, "null");
    expect((await get(harness, cat)).body.toString()).toBe("newest");
  });

  test.each([
    // version id, the bucket's state, reason of GET, of DELETE, of a copy
    ["x", "", "INVALID_VERSION_ID", "INVALID_VERSION_ID", "INVALID_VERSION_ID"],
    ["", "", "INVALID_VERSION_ID", "INVALID_VERSION_ID", "INVALID_VERSION_ID"],
    ["0".repeat(32), "", "INVALID_VERSION_ID", "INVALID_VERSION_ID", "INVALID_VERSION_ID"],
    ["null", "", "answered", "answered", "answered"],
    ["x", "Enabled", "INVALID_VERSION_ID", "INVALID_VERSION_ID", "INVALID_VERSION_ID"],
    ["f".repeat(32), "Enabled", "INVALID_VERSION_ID", "INVALID_VERSION_ID", "INVALID_VERSION_ID"],
    ["0".repeat(32), "Enabled", "NO_SUCH_VERSION", "answered", "NO_SUCH_VERSION"],
    ["null", "Suspended", "answered", "answered", "answered"],
  ])("ends requests for version %j in state %j with %s, %s, %s", async (versionId, state, read, deleted, copied) => {
    const harness = await startWithBucket();
    await put(harness, cat, "meow");
    if (state !== "") await turn(harness, state);
    const copy = { bucket: "photos", key: "copy", copySource: `photos/cat.jpg?versionId=${versionId}` };
    expect(await refusalOf(get(harness, { ...cat, versionId }))).toBe(read);
    expect(await refusalOf(harness.client.copyObject(copy, as(alice)))).toBe(copied);
    expect(await refusalOf(remove(harness, versionId))).toBe(deleted);
  });

  test("copies versions, also an older one over its own key", async () => {
    const harness = await startVersioned();
    const old = (await put(harness, cat, "old")).versionId ?? "";
    const current = (await put(harness, cat, "current")).versionId ?? "";
    const source = (versionId: string) => ({ ...cat, copySource: `photos/cat.jpg?versionId=${versionId}` });

    const answer = await harness.client.copyObject(source(old), as(alice));
    expect(answer.copySourceVersionId).toBe(old);
    expect((await get(harness, cat)).head.versionId).toBe(answer.versionId);
    expect((await get(harness, cat)).body.toString()).toBe("old");
    expect(await refusalOf(harness.client.copyObject({ ...cat, copySource: "photos/cat.jpg" }, as(alice)))).toMatch(
      /^INVALID_REQUEST: This copy request is illegal/,
    );
    expect((await list(harness)).length).toBe(3);
    expect((await get(harness, { ...cat, versionId: current })).body.toString()).toBe("current");

    const marker = await remove(harness);
    expect(await refusalOf(harness.client.copyObject(source(marker.versionId ?? ""), as(alice)))).toMatch(
      /^INVALID_REQUEST: The source of a copy request may not/,
    );
    expect(await refusalOf(harness.client.copyObject({ ...cat, copySource: "photos/cat.jpg" }, as(alice)))).toBe(
      "NO_SUCH_KEY",
    );
  });

  test("makes a version of an upload, and says so again", async () => {
    const harness = await startVersioned({ limits: smallParts });
    await put(harness, film, "trailer");
    const uploadId = await startUpload(harness);
    const { eTag } = await sendPart(harness, uploadId, 1, bytes[2]);
    const answer = await complete(harness, uploadId, [{ partNumber: 1, eTag }]);
    expect(answer.versionId).toMatch(/^[0-9a-f]{32}$/);
    expect((await complete(harness, uploadId, [{ partNumber: 1, eTag }])).versionId).toBe(answer.versionId);
    expect((await list(harness)).length).toBe(2);
  });

  test("deletes versions in batches, each on its own", async () => {
    const harness = await startVersioned();
    const version = (await put(harness, cat, "meow")).versionId ?? "";
    await put(harness, { bucket: "photos", key: "dog.jpg" }, "woof");
    const unknown = "0".repeat(32);
    const objects = [
      { key: "dog.jpg" },
      { key: "cat.jpg", versionId: version },
      { key: "cat.jpg", versionId: unknown },
      { key: "cat.jpg", versionId: "x" },
    ];
    const answer = await harness.client.deleteObjects({ bucket: "photos", delete: { objects } }, as(alice));
    expect(answer.deleted.map(({ key, versionId, deleteMarker }) => [key, versionId, deleteMarker])).toEqual([
      ["dog.jpg", undefined, true],
      ["cat.jpg", version, undefined],
    ]);
    expect(answer.errors.map(({ versionId, code }) => [versionId, code])).toEqual([
      [unknown, "NoSuchVersion"],
      ["x", "InvalidArgument"],
    ]);
    const { deleteMarkerVersionId } = answer.deleted[0] ?? {};
    const again = { objects: [{ key: "dog.jpg", versionId: deleteMarkerVersionId ?? "" }] };
    const undone = await harness.client.deleteObjects({ bucket: "photos", delete: again }, as(alice));
    expect(undone.deleted[0]).toMatchObject({ deleteMarker: true, deleteMarkerVersionId });
    expect((await get(harness, { bucket: "photos", key: "dog.jpg" })).body.toString()).toBe("woof");
  });

  test("writes by a condition on the current version, for which a delete marker is none", async () => {
    const harness = await startVersioned();
    const { eTag } = await put(harness, cat, "meow");
    expect(await refusalOf(put(harness, { ...cat, ifNoneMatch: "*" }, "x"))).toBe("PRECONDITION_FAILED");
    await remove(harness);
    expect(await refusalOf(put(harness, { ...cat, ifMatch: eTag ?? "" }, "x"))).toBe("NO_SUCH_KEY");
    expect(await refusalOf(put(harness, { ...cat, ifNoneMatch: "*" }, "x"))).toBe("answered");
  });

  test("lists many versions of one key in pages", async () => {
    const harness = await startVersioned({ clock: new FakeClock() });
    const ids: string[] = [];
    for (let index = 0; index < 70; index += 1) ids.unshift((await put(harness, cat, `${index}`)).versionId ?? "");
    await put(harness, { bucket: "photos", key: "a/1" }, "x");
    await put(harness, { bucket: "photos", key: "a/2" }, "x");
    const seen: string[] = [];
    let markers: object = { keyMarker: "a/2" };
    for (;;) {
      const page = await harness.client.listObjectVersions({ bucket: "photos", maxKeys: 9, ...markers }, as(alice));
      seen.push(...page.versions.map(({ versionId, isLatest }) => `${versionId}${isLatest ? " latest" : ""}`));
      if (!page.isTruncated) break;
      // A page continues after its marker also when that version was removed.
      await remove(harness, page.nextVersionIdMarker);
      markers = { keyMarker: page.nextKeyMarker, versionIdMarker: page.nextVersionIdMarker };
    }
    expect(seen).toEqual(ids.map((id, index) => (index === 0 ? `${id} latest` : id)));
    const rolled = await harness.client.listObjectVersions({ bucket: "photos", delimiter: "/", maxKeys: 1 }, as(alice));
    expect(rolled.commonPrefixes.map(({ prefix }) => prefix)).toEqual(["a/"]);
    expect(rolled).toMatchObject({ isTruncated: true, nextKeyMarker: "a/" });
    expect(rolled.nextVersionIdMarker).toBeUndefined();
    expect(await refusalOf(list(harness, { versionIdMarker: ids[0] }))).toMatch(/^INVALID_ARGUMENT: A version-id/);
    expect(await refusalOf(list(harness, { keyMarker: "cat.jpg", versionIdMarker: "x" }))).toBe("INVALID_VERSION_ID");
  });
});
