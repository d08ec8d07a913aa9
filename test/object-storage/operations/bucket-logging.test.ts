import { describe, expect, test } from "vitest";

import type { Harness } from "../harness.ts";
import { alice, as, bob, refusalOf, startWithBucket } from "../harness.ts";

/** Alice's `photos`, `logs` and, with ACLs, `lists`; Bob's `bobs`. */
const start = async (): Promise<Harness> => {
  const harness = await startWithBucket();
  const { client } = harness;
  await client.createBucket({ bucket: "logs" }, as(alice));
  await client.createBucket({ bucket: "lists", objectOwnership: "ObjectWriter" }, as(alice));
  await client.createBucket({ bucket: "bobs" }, as(bob));
  return harness;
};

const putLogging = ({ client }: Harness, loggingEnabled: object | undefined) =>
  client.putBucketLogging(
    { bucket: "photos", bucketLoggingStatus: loggingEnabled === undefined ? {} : { loggingEnabled } },
    as(alice),
  );

const read = async ({ client }: Harness) =>
  (await client.getBucketLogging({ bucket: "photos" }, as(alice))).loggingEnabled;

const grantTo = (grantee: object, permission: string) => [{ grantee, permission }];
const group = { type: "Group", uri: "http://acs.amazonaws.com/groups/global/AuthenticatedUsers" };

describe("PutBucketLogging", () => {
  test("is what GetBucketLogging returns, until an empty document ends the log", async () => {
    const harness = await start();
    expect(await read(harness)).toBeUndefined();
    const partitioned = { partitionedPrefix: { partitionDateSource: "EventTime" } };
    await putLogging(harness, { targetBucket: "logs", targetPrefix: "of/", targetObjectKeyFormat: partitioned });
    expect(await read(harness)).toMatchObject({
      targetBucket: "logs",
      targetPrefix: "of/",
      targetObjectKeyFormat: { partitionedPrefix: { partitionDateSource: "EventTime" } },
    });
    await putLogging(harness, { targetBucket: "photos" });
    expect(await read(harness)).toMatchObject({ targetBucket: "photos", targetPrefix: "" });
    await putLogging(harness, undefined);
    await putLogging(harness, undefined);
    expect(await read(harness)).toBeUndefined();
  });

  test.each([
    // logging, refusal; in the order in which they are refused
    [{ targetPrefix: "" }, "MALFORMED_XML"],
    [{ targetBucket: "logs", targetGrants: grantTo(group, "READ_ACP") }, "MALFORMED_XML"],
    [{ targetBucket: "logs", targetObjectKeyFormat: {} }, "MALFORMED_XML"],
    [{ targetBucket: "logs", targetObjectKeyFormat: { simplePrefix: {}, partitionedPrefix: {} } }, "MALFORMED_XML"],
    [
      { targetBucket: "logs", targetObjectKeyFormat: { partitionedPrefix: { partitionDateSource: "Never" } } },
      "MALFORMED_XML",
    ],
    [
      { targetBucket: "nowhere", targetGrants: grantTo({ type: "CanonicalUser", id: "x" }, "READ") },
      "INVALID_ARGUMENT: Invalid id",
    ],
    [{ targetBucket: "nowhere" }, "INVALID_TARGET_BUCKET_FOR_LOGGING: The target bucket for logging does not exist"],
    [
      { targetBucket: "bobs" },
      "INVALID_TARGET_BUCKET_FOR_LOGGING: The owner for the bucket to be logged and the target bucket must be the same.",
    ],
    [{ targetBucket: "logs", targetGrants: grantTo(group, "READ") }, "ACCESS_CONTROL_LIST_NOT_SUPPORTED"],
    [
      { targetBucket: "lists" },
      "INVALID_TARGET_BUCKET_FOR_LOGGING: You must give the log-delivery group WRITE and READ_ACP permissions to the target bucket",
    ],
  ])("of %o ends as %s", async (loggingEnabled, refusal) => {
    const harness = await start();
    expect(await refusalOf(putLogging(harness, loggingEnabled))).toBe(refusal);
    expect(await read(harness)).toBeUndefined();
  });

  test("accepts a target with ACLs whose list grants the group for logs both permissions", async () => {
    const harness = await start();
    await harness.client.putBucketAcl({ bucket: "lists", acl: "log-delivery-write" }, as(alice));
    await putLogging(harness, { targetBucket: "lists", targetGrants: grantTo(group, "READ") });
    expect(await read(harness)).toMatchObject({ targetBucket: "lists", targetGrants: [{ permission: "READ" }] });
  });
});
