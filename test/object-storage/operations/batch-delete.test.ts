import { describe, expect, test } from "vitest";

import { alice, as, bob, put, refusalOf, startWithBucket } from "../harness.ts";

describe("deleteObjects", () => {
  test("deletes each for itself and tells of both kinds", async () => {
    const harness = await startWithBucket();
    for (const key of ["a", "b", "c"]) await put(harness, { bucket: "photos", key }, key);

    const answer = await harness.client.deleteObjects(
      {
        bucket: "photos",
        delete: {
          objects: [{ key: "a" }, { key: "never" }, { key: "b", eTag: "other" }, { key: "c", versionId: "x" }],
        },
      },
      as(alice),
    );

    expect(answer.deleted.map((object) => object.key)).toEqual(["a", "never"]);
    expect(answer.errors.map((error) => [error.key, error.code])).toEqual([
      ["b", "PreconditionFailed"],
      ["c", "InvalidArgument"],
    ]);
    const left = await harness.client.listObjectsV2({ bucket: "photos" }, as(alice));
    expect(left.contents.map((object) => object.key)).toEqual(["b", "c"]);
  });

  test("deletes a thousand, quietly, and again", async () => {
    const harness = await startWithBucket();
    const objects = Array.from({ length: 1_000 }, (_none, index) => ({ key: `k${index}` }));
    await Promise.all(objects.slice(0, 250).map(({ key }) => put(harness, { bucket: "photos", key }, "v")));
    const request = { bucket: "photos", delete: { objects, quiet: true } };
    expect(await harness.client.deleteObjects(request, as(alice))).toMatchObject({ deleted: [], errors: [] });
    expect(await harness.client.deleteObjects(request, as(alice))).toMatchObject({ deleted: [], errors: [] });
    expect((await harness.client.listObjectsV2({ bucket: "photos" }, as(alice))).keyCount).toBe(0);
  });

  test("deletes in several transactions what is too much for one, each object once", async () => {
    const harness = await startWithBucket({ storeLimits: { transactionBytesMax: 8 * 1024 } });
    const objects = Array.from({ length: 100 }, (_none, index) => ({ key: `k${index}` }));
    for (const { key } of objects) await put(harness, { bucket: "photos", key }, "v");
    const answer = await harness.client.deleteObjects({ bucket: "photos", delete: { objects } }, as(alice));
    expect(answer.deleted.map(({ key }) => key)).toEqual(objects.map(({ key }) => key));
    expect((await harness.client.listObjectsV2({ bucket: "photos" }, as(alice))).keyCount).toBe(0);
  });

  test.each([
    // request, reason; in the order of refusal
    [
      { delete: undefined, mfa: "1 2" },
      "INVALID_INPUT: Value null at 'delete' failed to satisfy constraint: Member must not be null",
    ],
    [{ bucket: "unknown", mfa: "1 2" }, "NO_SUCH_BUCKET"],
    [{ expectedBucketOwner: bob, mfa: "1 2" }, "ACCESS_DENIED"],
    [{ delete: { objects: [] } }, "MALFORMED_XML"],
    [{ delete: { objects: [{}] } }, "MALFORMED_XML"],
    [{ delete: { objects: Array.from({ length: 1_001 }, () => ({ key: "k" })) } }, "MALFORMED_XML"],
  ])("a request with %o ends as %s", async (request, reason) => {
    const { client } = await startWithBucket();
    const call = client.deleteObjects({ bucket: "photos", delete: { objects: [{ key: "k" }] }, ...request }, as(alice));
    expect(await refusalOf(call)).toBe(reason);
  });
});
