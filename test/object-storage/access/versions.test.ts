/** Versions of one key are resources of their own: each is decided on by its own ACL and tags. */
import { describe, expect, test } from "vitest";

import { alice, as, bob, put, refusalOf, startWithBucket } from "../harness.ts";
import type { Harness } from "../harness.ts";

const bucket = "photos";
const key = "cat.jpg";

/** A bucket of alice with two versions of a key: the older is public and tagged `stage=draft`, the newer is neither. */
const startVersioned = async () => {
  const harness = await startWithBucket({ objectOwnership: "ObjectWriter" });
  const { client } = harness;
  await client.putBucketVersioning({ bucket, versioningConfiguration: { status: "Enabled" } }, as(alice));
  const older = await put(harness, { bucket, key, acl: "public-read", tagging: "stage=draft" }, "older");
  const newer = await put(harness, { bucket, key, tagging: "stage=final" }, "newer");
  return { harness, older: older.versionId ?? "", newer: newer.versionId ?? "" };
};

const head = ({ client }: Harness, versionId: string | undefined, account: string): Promise<string> =>
  refusalOf(client.headObject({ bucket, key, ...(versionId && { versionId }) }, as(account)));

describe("versions of one key", () => {
  test("are readable by the ACL of each", async () => {
    const { harness, older, newer } = await startVersioned();
    expect([await head(harness, older, bob), await head(harness, older, "")]).toEqual(["answered", "answered"]);
    expect([await head(harness, newer, bob), await head(harness, newer, "")]).toEqual([
      "ACCESS_DENIED",
      "ACCESS_DENIED",
    ]);
    expect(await head(harness, undefined, bob)).toBe("ACCESS_DENIED");

    await harness.client.putObjectAcl({ bucket, key, versionId: older, acl: "private" }, as(alice));
    await harness.client.putObjectAcl({ bucket, key, acl: "public-read" }, as(alice));
    expect([await head(harness, older, bob), await head(harness, newer, bob)]).toEqual(["ACCESS_DENIED", "answered"]);
    await harness.client.deleteObject({ bucket, key, versionId: newer }, as(alice));
    expect(await head(harness, undefined, bob)).toBe("ACCESS_DENIED");
  });

  test("are readable by a policy on the tags of each", async () => {
    const { harness, older, newer } = await startVersioned();
    const { client } = harness;
    await client.putObjectAcl({ bucket, key, versionId: older, acl: "private" }, as(alice));
    const policy = JSON.stringify({
      Version: "2012-10-17",
      Statement: [
        {
          Effect: "Allow",
          Principal: { AWS: bob },
          Action: ["s3:GetObject", "s3:GetObjectVersion"],
          Resource: `arn:aws:s3:::${bucket}/*`,
          Condition: { StringEquals: { "s3:ExistingObjectTag/stage": "final" } },
        },
      ],
    });
    await client.putBucketPolicy({ bucket, policy }, as(alice));
    const all = async () => [
      await head(harness, older, bob),
      await head(harness, newer, bob),
      await head(harness, undefined, bob),
    ];
    expect(await all()).toEqual(["ACCESS_DENIED", "answered", "answered"]);
    const tagged = (stage: string) => ({ tagSet: [{ key: "stage", value: stage }] });
    await client.putObjectTagging({ bucket, key, versionId: older, tagging: tagged("final") }, as(alice));
    await client.putObjectTagging({ bucket, key, tagging: tagged("draft") }, as(alice));
    expect(await all()).toEqual(["answered", "ACCESS_DENIED", "ACCESS_DENIED"]);
  });
});
