import { describe, expect, test } from "vitest";

import { searchEntries } from "../../../services/object-storage/store/search-entries.ts";
import { eventually } from "../../support/eventually.ts";
import type { Harness } from "../harness.ts";
import { alice, as, bob, put, refusalOf, startHarness, startWithBucket } from "../harness.ts";

const bucket = "photos";
const byTag = { source: "Tag", name: "Project" };
const byAuthor = { source: "Metadata", name: "author" };

const putIndex = ({ client }: Harness, attributes: readonly object[]) =>
  client.putBucketSearchIndex({ bucket, searchIndexConfiguration: { attributes: [...attributes] } }, as(alice));

const statusOf = async ({ client }: Harness) => (await client.getBucketSearchIndex({ bucket }, as(alice))).status;

const isActive = (harness: Harness) => eventually(async () => (await statusOf(harness)) === "ACTIVE", "it is built");

/** The entries of all indexes, without the ids of the indexes. */
const entriesOf = ({ opened }: Harness) =>
  opened.app.store.read(async (reader) =>
    (await Array.fromAsync(reader.range(searchEntries, {}))).map(({ key: [, ...entry] }) => entry.join(" ")),
  );

describe("putBucketSearchIndex", () => {
  test("indexes what is there, in the background, and what comes", async () => {
    const harness = await startWithBucket();
    await put(harness, { bucket, key: "a", tagging: "Project=apollo&other=x", metadata: { author: "ann" } });
    await put(harness, { bucket, key: "b", contentType: "image/png" });
    await putIndex(harness, [byTag, { source: "Metadata", name: "Author" }, { source: "ContentType" }]);
    await isActive(harness);
    await put(harness, { bucket, key: "c", tagging: "Project=gemini" });

    expect(await harness.client.getBucketSearchIndex({ bucket }, as(alice))).toMatchObject({
      attributes: [byTag, byAuthor, { source: "ContentType" }],
      status: "ACTIVE",
    });
    expect(await entriesOf(harness)).toEqual([
      "content-type binary/octet-stream a",
      "content-type binary/octet-stream c",
      "content-type image/png b",
      "metadata/author ann a",
      "tag/Project apollo a",
      "tag/Project gemini c",
    ]);
  });

  test("builds in several steps, across a restart", async () => {
    const harness = await startHarness();
    await harness.client.createBucket({ bucket }, as(alice));
    const keys = Array.from({ length: 450 }, (_, index) => `k${String(index).padStart(3, "0")}`);
    await Promise.all(keys.map((key) => put(harness, { bucket, key, tagging: `Project=p${key.at(-1)}` })));
    await putIndex(harness, [byTag]);
    await harness.stop();
    const again = await startHarness({ directory: harness.directory });
    await isActive(again);
    expect((await entriesOf(again)).length).toBe(450);
  });

  test("keeps an index that is put again, and replaces one of other attributes", async () => {
    const harness = await startWithBucket();
    await put(harness, { bucket, key: "a", tagging: "Project=apollo", metadata: { author: "ann" } });
    await putIndex(harness, [byTag, byAuthor]);
    await isActive(harness);
    await putIndex(harness, [byAuthor, byTag]);
    expect(await statusOf(harness)).toBe("ACTIVE");
    await putIndex(harness, [byAuthor]);
    await isActive(harness);
    await eventually(async () => (await entriesOf(harness)).length === 1, "the older index is removed");
    expect(await entriesOf(harness)).toEqual(["metadata/author ann a"]);
  });

  test.each([
    // attributes, account, reason; in the order of refusal
    [[byTag], bob, "ACCESS_DENIED"],
    [[], alice, "MALFORMED_XML"],
    [Array.from({ length: 21 }, (_, index) => ({ source: "Tag", name: `t${index}` })), alice, "MALFORMED_XML"],
    [[byTag, byTag], alice, "MALFORMED_XML"],
    [[byAuthor, { source: "Metadata", name: "AUTHOR" }], alice, "MALFORMED_XML"],
    [[{ name: "a" }], alice, "MALFORMED_XML"],
    [[{ source: "Colour", name: "a" }], alice, "MALFORMED_XML"],
    [[{ source: "Tag" }], alice, "MALFORMED_XML"],
    [[{ source: "Tag", name: "t".repeat(129) }], alice, "MALFORMED_XML"],
    [[{ source: "ContentType", name: "a" }], alice, "MALFORMED_XML"],
  ])("with %o by the account %s ends as %s", async (attributes, account, reason) => {
    const { client } = await startWithBucket();
    const request = { bucket, searchIndexConfiguration: { attributes } };
    expect(await refusalOf(client.putBucketSearchIndex(request, as(account)))).toBe(reason);
  });
});

describe("deleteBucketSearchIndex", () => {
  test("removes the index, also one that is being built, and can be repeated", async () => {
    const harness = await startWithBucket();
    await put(harness, { bucket, key: "a", tagging: "Project=apollo" });
    await putIndex(harness, [byTag]);
    await isActive(harness);
    await harness.client.deleteBucketSearchIndex({ bucket }, as(alice));
    await eventually(async () => (await entriesOf(harness)).length === 0, "the index is removed");
    await putIndex(harness, [byTag]);
    await harness.client.deleteBucketSearchIndex({ bucket }, as(alice));
    await harness.client.deleteBucketSearchIndex({ bucket }, as(alice));
    await harness.opened.jobs.idle();
    expect(await entriesOf(harness)).toEqual([]);
    expect(await refusalOf(harness.client.getBucketSearchIndex({ bucket }, as(alice)))).toBe("NO_SUCH_SEARCH_INDEX");
    await put(harness, { bucket, key: "b", tagging: "Project=apollo" });
    expect(await entriesOf(harness)).toEqual([]);
  });

  test("goes with the bucket", async () => {
    const harness = await startWithBucket();
    await putIndex(harness, [byTag]);
    await harness.client.deleteBucket({ bucket }, as(alice));
    await harness.client.createBucket({ bucket }, as(alice));
    await harness.opened.jobs.idle();
    expect(await refusalOf(harness.client.getBucketSearchIndex({ bucket }, as(alice)))).toBe("NO_SUCH_SEARCH_INDEX");
  });
});
