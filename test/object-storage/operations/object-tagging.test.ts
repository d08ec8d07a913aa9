import { describe, expect, test } from "vitest";

import { alice, as, bob, get, put, refusalOf, startWithBucket } from "../harness.ts";

const cat = { bucket: "photos", key: "cat.jpg" };

describe("putObjectTagging", () => {
  test("replaces the tags and nothing else", async () => {
    const harness = await startWithBucket();
    const { client } = harness;
    await put(harness, { ...cat, tagging: "colour=grey", metadata: { by: "ada" } }, "meow");
    const before = (await get(harness, cat)).head;
    expect((await client.getObjectTagging(cat, as(alice))).tagSet).toMatchObject([{ key: "colour", value: "grey" }]);

    const tagSet = [{ key: "colour", value: "black" }, { key: "mood" }];
    await client.putObjectTagging({ ...cat, tagging: { tagSet } }, as(alice));
    expect((await client.getObjectTagging(cat, as(alice))).tagSet).toMatchObject([
      { key: "colour", value: "black" },
      { key: "mood", value: "" },
    ]);
    const { head, body } = await get(harness, cat);
    expect(head).toMatchObject({
      tagCount: 2,
      metadata: { by: "ada" },
      eTag: before.eTag,
      lastModified: before.lastModified,
    });
    expect(body.toString()).toBe("meow");

    await client.deleteObjectTagging(cat, as(alice));
    expect((await client.getObjectTagging(cat, as(alice))).tagSet).toEqual([]);
    expect((await get(harness, cat)).head.tagCount).toBeUndefined();
  });

  test.each([
    // request, reason; in the order of refusal
    [{ bucket: "unknown", tagging: { tagSet: [{ key: "<" }] } }, "NO_SUCH_BUCKET"],
    [
      { tagging: { tagSet: Array.from({ length: 11 }, (_, index) => ({ key: `${index}` })) } },
      "INVALID_TAG: The tags of a resource cannot be more than 10",
    ],
    [{ versionId: "1", tagging: { tagSet: [{ key: "<" }] } }, "INVALID_TAG: The TagKey you have provided is invalid"],
    [{ versionId: "1", key: "unknown", tagging: { tagSet: [] } }, "INVALID_VERSION_ID"],
    [{ key: "unknown", tagging: { tagSet: [] } }, "NO_SUCH_KEY"],
  ])("refuses %o with %s", async (request, reason) => {
    const { client } = await startWithBucket();
    expect(await refusalOf(client.putObjectTagging({ ...cat, ...request }, as(alice)))).toBe(reason);
  });
});

describe.each(["getObjectTagging", "deleteObjectTagging"] as const)("%s", (name) => {
  test.each([
    // request, account, reason; in the order of refusal
    [{ versionId: "1", key: "unknown" }, bob, "ACCESS_DENIED"],
    [{ versionId: "1", key: "unknown" }, alice, "INVALID_VERSION_ID"],
    [{ key: "unknown" }, alice, "NO_SUCH_KEY"],
  ])("refuses %o by the account %s with %s", async (request, account, reason) => {
    const { client } = await startWithBucket();
    expect(await refusalOf(client[name]({ ...cat, ...request }, as(account)))).toBe(reason);
  });
});
