import {
  CreateBucketCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutBucketLoggingCommand,
  PutBucketPolicyCommand,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { expect, onTestFinished, test } from "vitest";

import { eventually } from "../support/eventually.ts";
import { startSystem } from "../support/system.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

test("an installation delivers the access log of a bucket by itself", async () => {
  const system = await startSystem(await temporaryDirectory(), "error", {
    env: { QUARTET_OBJECT_STORAGE_ACCESS_LOG_SECONDS: "1" },
  });
  onTestFinished(() => system.stop());
  const { objectStorage: client } = system.clients;
  for (const Bucket of ["films", "logs"]) await client.send(new CreateBucketCommand({ Bucket }));
  const allowed = { Effect: "Allow", Principal: { Service: "logging.s3.amazonaws.com" }, Action: "s3:PutObject" };
  const Policy = JSON.stringify({
    Version: "2012-10-17",
    Statement: [{ ...allowed, Resource: "arn:aws:s3:::logs/*" }],
  });
  await client.send(new PutBucketPolicyCommand({ Bucket: "logs", Policy }));
  const LoggingEnabled = { TargetBucket: "logs", TargetPrefix: "films/" };
  await client.send(new PutBucketLoggingCommand({ Bucket: "films", BucketLoggingStatus: { LoggingEnabled } }));
  await client.send(new PutObjectCommand({ Bucket: "films", Key: "one", Body: "x" }));
  const key = await eventually(async () => {
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: "logs" }));
    return Contents[0]?.Key;
  }, "the log is delivered");
  const { Body } = await client.send(new GetObjectCommand({ Bucket: "logs", Key: key }));
  expect(await Body?.transformToString()).toMatch(
    / REST\.PUT\.OBJECT one "PUT \/films\/one\?x-id=PutObject HTTP\/1\.1" 200 - /,
  );
});
