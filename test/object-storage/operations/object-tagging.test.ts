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
    [
      { tagging: { tagSet: Array.from({ length: 11 }, (_, index) => ({ key: `${index}` })) } },
      "INVALID_TAG: The tags of a resource cannot be more than 10",
    ],
    [{ tagging: { tagSet: [{ key: "<" }] } }, "INVALID_TAG: The TagKey you have provided is invalid"],
    [{ versionId: "1", tagging: { tagSet: [] } }, "INVALID_VERSION_ID"],
    [{ bucket: "unknown", tagging: { tagSet: [] } }, "NO_SUCH_BUCKET"],
    [{ key: "unknown", tagging: { tagSet: [] } }, "NO_SUCH_KEY"],
  ])("refuses %o with %s", async (request, reason) => {
    const { client } = await startWithBucket();
    expect(await refusalOf(client.putObjectTagging({ ...cat, ...request }, as(alice)))).toBe(reason);
  });

  test("is for the owner only, and so are reading and deleting", async () => {
    const harness = await startWithBucket();
    await put(harness, cat, "meow");
    const { client } = harness;
    expect(await refusalOf(client.putObjectTagging({ ...cat, tagging: { tagSet: [] } }, as(bob)))).toBe(
      "ACCESS_DENIED",
    );
    expect(await refusalOf(client.getObjectTagging(cat, as(bob)))).toBe("ACCESS_DENIED");
    expect(await refusalOf(client.deleteObjectTagging(cat))).toBe("ACCESS_DENIED");
    expect(await refusalOf(client.getObjectTagging({ ...cat, key: "unknown" }, as(alice)))).toBe("NO_SUCH_KEY");
    expect(await refusalOf(client.deleteObjectTagging({ ...cat, key: "unknown" }, as(alice)))).toBe("NO_SUCH_KEY");
  });
});
