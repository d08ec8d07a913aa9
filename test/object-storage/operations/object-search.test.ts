import { describe, expect, test } from "vitest";

import { declaredAccessPoints } from "../../../services/object-storage/access/access-points.ts";
import { changeSearchIndex, findBucket } from "../../../services/object-storage/store/bucket.ts";
import { currentVersions } from "../../../services/object-storage/store/layout.ts";
import { findCurrentRow } from "../../../services/object-storage/store/object.ts";
import { searchEntries } from "../../../services/object-storage/store/search-entries.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { ownKey } from "../encryption/keys.ts";
import type { Harness, HarnessOptions } from "../harness.ts";
import { alice, as, bob, put, refusalOf, startWithBucket } from "../harness.ts";

const bucket = "photos";
const project = { source: "Tag", name: "project" };
const author = { source: "Metadata", name: "author" };
const contentType = { source: "ContentType" };

const is = (attribute: object, equals: string) => ({ attribute, equals });
const begins = (attribute: object, beginsWith: string) => ({ attribute, beginsWith });

/** A service whose bucket has an index, without objects. */
const start = async (options: HarnessOptions = {}): Promise<Harness> => {
  const harness = await startWithBucket(options);
  const searchIndexConfiguration = { attributes: [project, author, contentType] };
  await harness.client.putBucketSearchIndex({ bucket, searchIndexConfiguration }, as(alice));
  await harness.opened.jobs.idle();
  return harness;
};

const search = ({ client }: Harness, request: object, account = alice) =>
  client.searchObjects({ bucket, ...request }, as(account));

const keysOf = async (harness: Harness, request: object, account = alice) =>
  (await search(harness, request, account)).contents.map(({ key }) => key);

describe("searchObjects", () => {
  const fill = async (harness: Harness, clock: FakeClock): Promise<void> => {
    const all = [
      { key: "a/1", tagging: "project=apollo", metadata: { author: "ann" } },
      { key: "a/2", tagging: "project=apollo&x=y", metadata: { author: "ben" }, contentType: "image/png" },
      { key: "b/é", tagging: "project=apollo-2", metadata: { author: "ann" }, contentType: "image/jpeg" },
      { key: "c", tagging: "project=", metadata: { author: "Ann" } },
      { key: "d" },
    ];
    for (const [index, head] of all.entries()) {
      await put(harness, { bucket, ...head }, "x".repeat(index));
      clock.advance(1_000);
    }
  };
  const at = (seconds: number) => ({ seconds: BigInt(1_800_000_000 + seconds), nanos: 0 });

  test.each([
    // request, keys
    [{ conditions: [is(project, "apollo")] }, ["a/1", "a/2"]],
    [{ conditions: [begins(project, "apollo")] }, ["a/1", "a/2", "b/é"]],
    [{ conditions: [begins(project, "")] }, ["c", "a/1", "a/2", "b/é"]],
    [{ conditions: [is(project, "")] }, ["c"]],
    [{ conditions: [is(project, "gemini")] }, []],
    [{ conditions: [is({ source: "Metadata", name: "AUTHOR" }, "ann")] }, ["a/1", "b/é"]],
    [{ conditions: [is(contentType, "binary/octet-stream")] }, ["a/1", "c", "d"]],
    [{ conditions: [begins(contentType, "image/")] }, ["b/é", "a/2"]],
    [{ conditions: [begins(contentType, "image/"), is(author, "ann")] }, ["b/é"]],
    [{ conditions: [begins(author, "a"), begins(project, "apollo-")] }, ["b/é"]],
    [{ conditions: [is(project, "apollo")], prefix: "a/2" }, ["a/2"]],
    [{ conditions: [begins(project, "apollo")], prefix: "b" }, ["b/é"]],
    [{ conditions: [begins(project, "")], encodingType: "url", prefix: "b" }, ["b/%C3%A9"]],
    [{ conditions: [begins(contentType, "")], sizeAtLeast: 1n, sizeAtMost: 3n }, ["c", "b/é", "a/2"]],
    [{ conditions: [begins(project, "a")], modifiedSince: at(1), modifiedBefore: at(2) }, ["a/2"]],
    [{ conditions: [is(project, "apollo")], maxKeys: 0 }, []],
  ])("finds by %o: %j", async (request, keys) => {
    const clock = new FakeClock(1_800_000_000_000);
    const harness = await start({ clock });
    await fill(harness, clock);
    expect(await keysOf(harness, request)).toEqual(keys);
  });

  test("shows what each object is", async () => {
    const harness = await start({ clock: new FakeClock(1_800_000_000_000) });
    await put(harness, { bucket, key: "a", tagging: "project=x", storageClass: "ONEZONE_IA" }, "0123456789");
    expect(await search(harness, { conditions: [is(project, "x")] })).toMatchObject({
      keyCount: 1,
      isTruncated: false,
      contents: [
        {
          key: "a",
          eTag: '"781e5e245d69b566979b86e28d23f2c7"',
          size: 10n,
          storageClass: "ONEZONE_IA",
          checksumAlgorithm: ["CRC64NVME"],
          checksumType: "FULL_OBJECT",
          lastModified: { seconds: 1_800_000_000n },
        },
      ],
    });
  });

  test.each([
    // conditions, pages of two
    [[is(contentType, "text/plain")], [["k0", "k1"], ["k2", "k3"], ["k4"]]],
    [[begins(project, "")], [["k1", "k3"], ["k0", "k2"], ["k4"]]],
  ])("goes on page by page by %o", async (conditions, pages) => {
    const harness = await start();
    for (let number = 0; number < 5; number += 1)
      await put(harness, {
        bucket,
        key: `k${number}`,
        tagging: `project=${number % 2 === 0 ? "é1" : "a:2"}`,
        contentType: "text/plain",
      });
    const found: string[][] = [];
    for (let continuationToken: string | undefined, isOver = false; !isOver;) {
      const page = await search(harness, { conditions, maxKeys: 2, continuationToken });
      found.push(page.contents.map(({ key = "" }) => key));
      continuationToken = page.nextContinuationToken;
      isOver = continuationToken === undefined;
      expect(page.isTruncated).toBe(!isOver);
    }
    expect(found).toEqual(pages);
  });

  test("looks at 5,000 entries of a call, and goes on there", async () => {
    const harness = await start();
    const { app } = harness.opened;
    await put(harness, { bucket, key: "z", tagging: "project=apollo" }, "needle");
    const bucketRecord = await app.store.read((reader) => findBucket(reader, bucket));
    const row = await app.store.read((reader) => findCurrentRow(reader, bucketRecord?.bucketId ?? "", "z"));
    const keys = Array.from({ length: 6_000 }, (_, index) => `k${String(index).padStart(5, "0")}`);
    if (row === undefined) throw new Error("the object is not listed");
    await app.store.transact(async (transaction) => {
      for (const key of keys) {
        transaction.put(currentVersions, [bucketRecord?.bucketId ?? "", key], { ...row, sizeBytes: 0n });
        transaction.put(searchEntries, [bucketRecord?.searchIndex?.indexId ?? "", "tag/project", "apollo", key], {});
      }
    });
    const request = { conditions: [is(project, "apollo")], sizeAtLeast: 1n };
    const first = await search(harness, request);
    expect([first.contents.length, first.isTruncated]).toEqual([0, true]);
    const second = await search(harness, { ...request, continuationToken: first.nextContinuationToken });
    expect([second.contents.map(({ key }) => key), second.isTruncated]).toEqual([["z"], false]);
  });
});

describe("who may not read what is asked for", () => {
  const allow = (action: string, resource: string) => ({
    Effect: "Allow",
    Principal: { AWS: bob },
    Action: action,
    Resource: resource,
  });
  const policyOf = (...Statement: object[]) => JSON.stringify({ Version: "2012-10-17", Statement });
  const listing = allow("s3:ListBucket", "arn:aws:s3:::photos");

  test.each([
    // further statement, conditions, keys that Bob finds
    [allow("s3:GetObject", "arn:aws:s3:::photos/open/*"), [is(project, "x")], []],
    [allow("s3:GetObjectTagging", "arn:aws:s3:::photos/open/*"), [is(project, "x")], ["open/a"]],
    [allow("s3:GetObjectTagging", "arn:aws:s3:::photos/*"), [is(author, "ann")], []],
    [allow("s3:GetObject", "arn:aws:s3:::photos/open/*"), [is(author, "ann")], ["open/a"]],
    [allow("s3:GetObject", "arn:aws:s3:::photos/open/*"), [begins(contentType, "")], ["open/a"]],
    [allow("s3:GetObject", "arn:aws:s3:::photos/*"), [is(author, "ann"), is(project, "x")], []],
    [allow("s3:GetObject*", "arn:aws:s3:::photos/closed/*"), [is(author, "ann"), is(project, "x")], ["closed/a"]],
    [
      {
        ...allow("s3:GetObjectTagging", "arn:aws:s3:::photos/*"),
        Condition: { StringEquals: { "s3:ExistingObjectTag/level": "1" } },
      },
      [is(project, "x")],
      ["closed/a"],
    ],
  ])("does not find it with the statement %o by %o: %j", async (statement, conditions, keys) => {
    const harness = await start();
    await put(harness, { bucket, key: "open/a", tagging: "project=x&level=0", metadata: { author: "ann" } });
    await put(harness, { bucket, key: "closed/a", tagging: "project=x&level=1", metadata: { author: "ann" } });
    await harness.client.putBucketPolicy({ bucket, policy: policyOf(listing, statement) }, as(alice));
    expect(await keysOf(harness, { conditions }, bob)).toEqual(keys);
    expect(await keysOf(harness, { conditions })).toEqual(["closed/a", "open/a"]);
  });

  test("finds under a prefix where the policy allows to list only there", async () => {
    const harness = await start();
    await put(harness, { bucket, key: "open/a", tagging: "project=x" });
    const onlyThere = { ...listing, Condition: { StringEquals: { "s3:prefix": "open/" } } };
    const policy = policyOf(onlyThere, allow("s3:GetObjectTagging", "arn:aws:s3:::photos/*"));
    await harness.client.putBucketPolicy({ bucket, policy }, as(alice));
    const conditions = [is(project, "x")];
    expect(await keysOf(harness, { conditions, prefix: "open/" }, bob)).toEqual(["open/a"]);
    expect(await refusalOf(search(harness, { conditions }, bob))).toBe("ACCESS_DENIED");
  });

  test("by an access point finds only what its policy allows as well", async () => {
    const point = `arn:aws:s3:us-east-1:${alice}:accesspoint/shots`;
    const denial = {
      Effect: "Deny",
      Principal: "*",
      Action: "s3:GetObjectTagging",
      Resource: `${point}/object/closed/*`,
    };
    const policy = { Version: "2012-10-17", Statement: [denial] };
    const accessPoints = declaredAccessPoints({ [`shots-${alice}`]: { bucket, policy } }, { region: "us-east-1" });
    const harness = await start({ accessPoints });
    await put(harness, { bucket, key: "open/a", tagging: "project=x" });
    await put(harness, { bucket, key: "closed/a", tagging: "project=x" });
    const conditions = [is(project, "x")];
    expect(await keysOf(harness, { conditions })).toEqual(["closed/a", "open/a"]);
    expect(await keysOf(harness, { bucket: point, conditions })).toEqual(["open/a"]);
  });

  test("without the key of the caller finds content under it by tags only", async () => {
    const harness = await start();
    const head = { bucket, key: "a", tagging: "project=x", metadata: { author: "ann" } };
    await put(harness, { ...head, contentType: "text/plain", ...ownKey(1) });
    expect(await keysOf(harness, { conditions: [is(project, "x")] })).toEqual(["a"]);
    expect(await keysOf(harness, { conditions: [is(author, "ann")] })).toEqual([]);
    expect(await keysOf(harness, { conditions: [begins(contentType, "")] })).toEqual([]);
    expect(await keysOf(harness, { conditions: [is(project, "x"), is(author, "ann")] })).toEqual([]);
  });
});

describe("a search is refused", () => {
  const other = { source: "Tag", name: "other" };

  test.each([
    // request, account, reason; in the order of refusal
    [
      { conditions: [], maxKeys: -1 },
      alice,
      "INVALID_INPUT: Value '-1' at 'max_keys' failed to satisfy constraint: Member must have value greater than or equal to 0",
    ],
    [{ conditions: [] }, bob, "ACCESS_DENIED"],
    [{ conditions: [] }, alice, "MALFORMED_XML"],
    [{ conditions: Array.from({ length: 11 }, () => is(project, "x")) }, alice, "MALFORMED_XML"],
    [{ conditions: [{ equals: "x" }] }, alice, "MALFORMED_XML"],
    [{ conditions: [{ attribute: project }] }, alice, "MALFORMED_XML"],
    [{ conditions: [{ attribute: project, equals: "x", beginsWith: "x" }] }, alice, "MALFORMED_XML"],
    [{ conditions: [is({ source: "Tag" }, "x")], continuationToken: "garbage" }, alice, "MALFORMED_XML"],
    [{ conditions: [is(other, "x")], continuationToken: "garbage" }, alice, "INVALID_PAGE_TOKEN"],
    [
      { conditions: [is(project, "x"), is(other, "x")] },
      alice,
      "INVALID_ARGUMENT: The bucket has no search index of this attribute.",
    ],
  ])("with %o by the account %s as %s", async (request, account, reason) => {
    expect(await refusalOf(search(await start(), request, account))).toBe(reason);
  });

  test("where there is no index", async () => {
    expect(await refusalOf(search(await startWithBucket(), { conditions: [is(project, "x")] }))).toBe(
      "NO_SUCH_SEARCH_INDEX",
    );
  });

  test("while the index is built", async () => {
    const harness = await start();
    const { app } = harness.opened;
    await app.store.transact(async (transaction) => {
      const found = await findBucket(transaction, bucket);
      if (found?.searchIndex === undefined) throw new Error("the bucket has no index");
      changeSearchIndex(transaction, found, { ...found.searchIndex, isActive: false });
    });
    expect(await refusalOf(search(harness, { conditions: [is(project, "x")] }))).toBe("SEARCH_INDEX_BUILDING");
    expect((await harness.client.getBucketSearchIndex({ bucket }, as(alice))).status).toBe("BUILDING");
  });

  test("with the token of another search", async () => {
    const harness = await start();
    for (const key of ["a", "b"]) await put(harness, { bucket, key, tagging: "project=x" });
    const first = await search(harness, { conditions: [is(project, "x")], maxKeys: 1 });
    const continuationToken = first.nextContinuationToken;
    expect(await keysOf(harness, { conditions: [is(project, "x")], continuationToken })).toEqual(["b"]);
    for (const request of [
      { conditions: [begins(project, "x")] },
      { conditions: [is(project, "x")], prefix: "a" },
      { conditions: [is(project, "x")], sizeAtLeast: 1n },
      { conditions: [is(project, "x"), is(author, "y")] },
    ])
      expect(await refusalOf(search(harness, { ...request, continuationToken }))).toBe("INVALID_PAGE_TOKEN");
  });
});
