import {
  CreateBucketCommand,
  DeleteBucketLifecycleCommand,
  GetBucketLifecycleConfigurationCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutBucketLifecycleConfigurationCommand,
  PutObjectCommand,
  RestoreObjectCommand,
} from "@aws-sdk/client-s3";
import { expect, test } from "vitest";

import { startStorageClient } from "../support/storage-client.ts";

const Bucket = "films";

/** A client of the official SDK with a bucket, at a gateway with its clock. */
const startClient = async () => {
  const started = await startStorageClient();
  await started.client.send(new CreateBucketCommand({ Bucket }));
  return started;
};

test("rules of a bucket are what the official SDK has put, and writes announce what they end", async () => {
  const { client } = await startClient();
  await expect(client.send(new GetBucketLifecycleConfigurationCommand({ Bucket }))).rejects.toMatchObject({
    name: "NoSuchLifecycleConfiguration",
  });
  const Rules = [
    { ID: "drafts", Status: "Enabled", Filter: { Prefix: "drafts/" }, Expiration: { Days: 1 } },
    {
      ID: "old",
      Status: "Disabled",
      Filter: { And: { Prefix: "a", Tags: [{ Key: "k", Value: "v" }] } },
      Transitions: [{ Date: new Date(Date.UTC(2030, 0, 1)), StorageClass: "GLACIER" }],
      NoncurrentVersionExpiration: { NoncurrentDays: 3, NewerNoncurrentVersions: 2 },
    },
    { ID: "uploads", Status: "Enabled", Filter: {}, AbortIncompleteMultipartUpload: { DaysAfterInitiation: 7 } },
  ] as const;
  const LifecycleConfiguration = { Rules: [...Rules] };
  await client.send(
    new PutBucketLifecycleConfigurationCommand({ Bucket, LifecycleConfiguration: LifecycleConfiguration as never }),
  );
  expect((await client.send(new GetBucketLifecycleConfigurationCommand({ Bucket }))).Rules).toEqual([...Rules]);
  const { Expiration } = await client.send(new PutObjectCommand({ Bucket, Key: "drafts/1", Body: "x" }));
  expect(Expiration).toMatch(/^expiry-date="[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} 00:00:00 GMT", rule-id="drafts"$/);
  expect((await client.send(new HeadObjectCommand({ Bucket, Key: "drafts/1" }))).Expiration).toBe(Expiration);
  await client.send(new DeleteBucketLifecycleCommand({ Bucket }));
});

test("an archived object is restored with the official SDK", async () => {
  const { client, clock } = await startClient();
  const Key = "negative";
  await client.send(new PutObjectCommand({ Bucket, Key, Body: "film", StorageClass: "GLACIER" }));
  await expect(client.send(new GetObjectCommand({ Bucket, Key }))).rejects.toMatchObject({
    name: "InvalidObjectState",
    StorageClass: "GLACIER",
    $metadata: { httpStatusCode: 403 },
  });
  const RestoreRequest = { Days: 1, GlacierJobParameters: { Tier: "Standard" } } as const;
  const first = await client.send(new RestoreObjectCommand({ Bucket, Key, RestoreRequest }));
  expect(first.$metadata.httpStatusCode).toBe(202);
  expect((await client.send(new HeadObjectCommand({ Bucket, Key }))).Restore).toBe('ongoing-request="true"');
  await expect(client.send(new RestoreObjectCommand({ Bucket, Key, RestoreRequest }))).rejects.toMatchObject({
    name: "RestoreAlreadyInProgress",
    $metadata: { httpStatusCode: 409 },
  });
  clock.advance(60_000);
  const read = await client.send(new GetObjectCommand({ Bucket, Key }));
  expect(await read.Body?.transformToString()).toBe("film");
  expect(read.Restore).toMatch(/^ongoing-request="false", expiry-date="/);
  const again = await client.send(new RestoreObjectCommand({ Bucket, Key, RestoreRequest: { Days: 2 } }));
  expect(again.$metadata.httpStatusCode).toBe(200);
});
