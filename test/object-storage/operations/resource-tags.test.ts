import { describe, expect, test } from "vitest";

import { alice, as, bob, refusalOf, startWithBucket } from "../harness.ts";

const expectedBucketOwner = alice;
const bucket = "arn:aws:s3:::photos";
const resource = { bucket, expectedBucketOwner };
const tags = (...keys: string[]) => keys.map((key) => ({ key, value: "1" }));

/** Keys and values of a bucket's tags, as both ways to read them say. */
const tagsOf = async ({ client }: Awaited<ReturnType<typeof startWithBucket>>): Promise<string[]> => {
  const listed = (await client.listTagsForResource(resource, as(alice))).tags.map(
    ({ key, value }) => `${key}=${value}`,
  );
  if (listed.length > 0) {
    const { tagSet } = await client.getBucketTagging({ bucket: "photos" }, as(alice));
    expect(tagSet.map(({ key, value }) => `${key}=${value}`)).toEqual(listed);
  }
  return listed;
};

describe("tagResource", () => {
  test("adds tags to those that are there, and replaces those with the same key", async () => {
    const harness = await startWithBucket();
    const { client } = harness;
    expect(await tagsOf(harness)).toEqual([]);
    await client.putBucketTagging({ bucket: "photos", tagging: { tagSet: tags("team", "stage") } }, as(alice));
    const added = { ...resource, tags: [{ key: "team", value: "red" }, ...tags("cost")] };
    await client.tagResource(added, as(alice));
    await client.tagResource(added, as(alice));
    expect(await tagsOf(harness)).toEqual(["stage=1", "team=red", "cost=1"]);
  });

  test.each<[{ key?: string; value: string }[], string]>([
    // tags, refusal; in the order of refusal
    [[{ key: "a", value: "&" }], "INVALID_TAG: The TagValue you have provided is invalid"],
    [[{ value: "1" }], "INVALID_TAG: The TagKey you have provided is invalid"],
    [
      tags(...Array.from({ length: 50 }, (_, index) => `${index}`)),
      "INVALID_TAG: The tags of a resource cannot be more than 50",
    ],
  ])("refuses %o with %s", async (refused, refusal) => {
    const harness = await startWithBucket();
    await harness.client.tagResource({ ...resource, tags: tags("team") }, as(alice));
    expect(await refusalOf(harness.client.tagResource({ ...resource, tags: refused }, as(alice)))).toBe(refusal);
    expect(await tagsOf(harness)).toEqual(["team=1"]);
  });
});

describe("untagResource", () => {
  test("removes tags by their keys, and with the last of them the set", async () => {
    const harness = await startWithBucket();
    const { client } = harness;
    await client.tagResource({ ...resource, tags: tags("team", "stage") }, as(alice));
    await client.untagResource({ ...resource, tagKeys: ["stage", "nobody"] }, as(alice));
    expect(await tagsOf(harness)).toEqual(["team=1"]);
    await client.untagResource({ ...resource, tagKeys: ["team"] }, as(alice));
    await client.untagResource({ ...resource, tagKeys: ["team"] }, as(alice));
    expect(await refusalOf(client.getBucketTagging({ bucket: "photos" }, as(alice)))).toBe("NO_SUCH_TAG_SET");
  });
});

describe("listTagsForResource", () => {
  test.each([
    // what is asked for, refusal; in the order of refusal
    [
      { ...resource, bucket: "arn:aws:s3:us-east-1:111111111111:accesspoint/reports" },
      "INVALID_REQUEST: The ARN is not that of a bucket. Only buckets have tags that are managed by ARN.",
    ],
    [
      { ...resource, bucket: "arn:aws:s3:::photos/cat.jpg" },
      "INVALID_REQUEST: The ARN is not that of a bucket. Only buckets have tags that are managed by ARN.",
    ],
    [{ ...resource, bucket: "arn:aws:s3:::nowhere" }, "NO_SUCH_BUCKET"],
    [{ ...resource, expectedBucketOwner: bob }, "ACCESS_DENIED"],
  ])("refuses %o with %s", async (request, refusal) => {
    const { client } = await startWithBucket();
    expect(await refusalOf(client.listTagsForResource(request, as(alice)))).toBe(refusal);
  });

  test("is for who may, and knows buckets by their names too", async () => {
    const { client } = await startWithBucket();
    expect(await refusalOf(client.listTagsForResource(resource, as(bob)))).toBe("ACCESS_DENIED");
    expect((await client.listTagsForResource({ ...resource, bucket: "photos" }, as(alice))).tags).toEqual([]);
  });
});
