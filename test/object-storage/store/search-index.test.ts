import { expect, test } from "vitest";

import { searchEntries } from "../../../services/object-storage/store/search-entries.ts";
import type { Damage } from "../../../services/object-storage/work/scrub-records.ts";
import { scrubRecords } from "../../../services/object-storage/work/scrub-records.ts";
import { ownKey } from "../encryption/keys.ts";
import type { Harness } from "../harness.ts";
import { alice, as, put, startWithBucket } from "../harness.ts";
import { complete, sendPart, smallParts, startUpload } from "../multipart.ts";

const bucket = "photos";

/** A change, and the entries after it, each as value and key. */
type Step = readonly [what: string, change: (harness: Harness) => Promise<unknown>, entries: readonly string[]];

/** The entries of the index of tags and authors after each step, and what the scrub finds then. */
const resultsOf = async (harness: Harness, steps: readonly Step[]) => {
  const attributes = [
    { source: "Metadata", name: "author" },
    { source: "Tag", name: "kind" },
  ];
  await harness.client.putBucketSearchIndex({ bucket, searchIndexConfiguration: { attributes } }, as(alice));
  await harness.opened.jobs.idle();
  const { store } = harness.opened.app;
  const pace = { spend: async (): Promise<void> => undefined };
  const results: [string, string[], readonly Damage[]][] = [];
  for (const [what, change] of steps) {
    await change(harness);
    const entries = await store.read((reader) => Array.fromAsync(reader.range(searchEntries, {})));
    const { damages } = await scrubRecords(store, pace, new AbortController().signal);
    results.push([what, entries.map(({ key: [, , value, key] }) => `${value} ${key}`), damages]);
  }
  return results;
};

/** The index equals the objects after each step. */
const expectedOf = (steps: readonly Step[]) => steps.map(([what, , entries]) => [what, entries, []]);

const putTagged =
  (key: string, kind: string, author = "ann"): Step[1] =>
  (harness) =>
    put(harness, { bucket, key, tagging: `kind=${kind}`, metadata: { author } }, key);
const remove =
  (key: string, versionId?: string): Step[1] =>
  ({ client }) =>
    client.deleteObject({ bucket, key, versionId }, as(alice));
const tag =
  (key: string, kind: string): Step[1] =>
  ({ client }) =>
    client.putObjectTagging({ bucket, key, tagging: { tagSet: [{ key: "kind", value: kind }] } }, as(alice));

test("the index follows each change of an object", async () => {
  const steps: readonly Step[] = [
    ["put", putTagged("a", "cat"), ["ann a", "cat a"]],
    ["put over it", putTagged("a", "dog"), ["ann a", "dog a"]],
    ["put over it without attributes", (harness) => put(harness, { bucket, key: "a" }), []],
    ["tag", tag("a", "cow"), ["cow a"]],
    ["tag again", tag("a", "cat"), ["cat a"]],
    [
      "copy",
      ({ client }) => client.copyObject({ bucket, key: "b", copySource: `${bucket}/a` }, as(alice)),
      ["cat a", "cat b"],
    ],
    [
      "copy with other attributes",
      ({ client }) =>
        client.copyObject(
          {
            bucket,
            key: "b",
            copySource: `${bucket}/a`,
            metadataDirective: "REPLACE",
            metadata: { author: "ben" },
            taggingDirective: "REPLACE",
            tagging: "kind=fox",
          },
          as(alice),
        ),
      ["ben b", "cat a", "fox b"],
    ],
    [
      "rename",
      ({ client }) => client.renameObject({ bucket, key: "c", renameSource: "b" }, as(alice)),
      ["ben c", "cat a", "fox c"],
    ],
    [
      "rename over another",
      ({ client }) => client.renameObject({ bucket, key: "a", renameSource: "c" }, as(alice)),
      ["ben a", "fox a"],
    ],
    ["append", (harness) => put(harness, { bucket, key: "a", writeOffsetBytes: 0n }, "more"), ["ben a", "fox a"]],
    ["untag", ({ client }) => client.deleteObjectTagging({ bucket, key: "a" }, as(alice)), ["ben a"]],
    [
      "complete an upload",
      async (harness) => {
        const uploadId = await startUpload(harness, { metadata: { author: "eve" }, tagging: "kind=film" });
        const { eTag } = await sendPart(harness, uploadId, 1, Buffer.from("part"));
        await complete(harness, uploadId, [{ partNumber: 1, eTag }]);
      },
      ["ben a", "eve film.mp4", "film film.mp4"],
    ],
    [
      "put under a key of the caller",
      (harness) => put(harness, { bucket, key: "a", tagging: "kind=x", metadata: { author: "y" }, ...ownKey(1) }),
      ["eve film.mp4", "film film.mp4", "x a"],
    ],
    ["delete", remove("a"), ["eve film.mp4", "film film.mp4"]],
    [
      "delete a batch",
      ({ client }) => client.deleteObjects({ bucket, delete: { objects: [{ key: "film.mp4" }] } }, as(alice)),
      [],
    ],
  ];
  const harness = await startWithBucket({ limits: smallParts });
  expect(await resultsOf(harness, steps)).toEqual(expectedOf(steps));
});

test("the index holds current versions only", async () => {
  const harness = await startWithBucket();
  const { client } = harness;
  const version = (status: string) =>
    client.putBucketVersioning({ bucket, versioningConfiguration: { status } }, as(alice));
  const ids: string[] = [];
  const kept =
    (change: (harness: Harness) => Promise<{ readonly versionId?: string }>): Step[1] =>
    async (each) =>
      ids.push((await change(each)).versionId ?? "");
  const steps: readonly Step[] = [
    ["put the null version", putTagged("a", "null"), ["ann a", "null a"]],
    [
      "put a version",
      async (each) => [await version("Enabled"), await putTagged("a", "one")(each)],
      ["ann a", "one a"],
    ],
    ["put another", kept((each) => put(each, { bucket, key: "a", tagging: "kind=two" })), ["two a"]],
    [
      "tag an older version",
      (each) =>
        each.client.putObjectTagging(
          { bucket, key: "a", versionId: "null", tagging: { tagSet: [{ key: "kind", value: "nil" }] } },
          as(alice),
        ),
      ["two a"],
    ],
    ["delete by a marker", kept((each) => each.client.deleteObject({ bucket, key: "a" }, as(alice))), []],
    ["delete the marker", (each) => remove("a", ids[1])(each), ["two a"]],
    ["delete the newest version", (each) => remove("a", ids[0])(each), ["ann a", "one a"]],
    ["delete the older null version", remove("a", "null"), ["ann a", "one a"]],
    [
      "put while versions are suspended",
      async (each) => [await version("Suspended"), await putTagged("a", "null")(each)],
      ["ann a", "null a"],
    ],
    ["put over the null version", putTagged("a", "nil", "ben"), ["ben a", "nil a"]],
    ["delete by a null marker", remove("a"), []],
    ["put over the null marker", putTagged("a", "cat"), ["ann a", "cat a"]],
    ["delete the null version", remove("a", "null"), ["ann a", "one a"]],
  ];
  expect(await resultsOf(harness, steps)).toEqual(expectedOf(steps));
});
