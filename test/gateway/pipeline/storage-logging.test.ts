import {
  CreateBucketCommand,
  GetBucketLoggingCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutBucketLoggingCommand,
  PutBucketPolicyCommand,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { expect, test } from "vitest";

import { formBody, formHeaders } from "../support/form.ts";
import { testKey } from "../support/signing-client.ts";
import { startStorageClient } from "../support/storage-client.ts";

const policy = JSON.stringify({
  Version: "2012-10-17",
  Statement: [
    {
      Effect: "Allow",
      Principal: { Service: "logging.s3.amazonaws.com" },
      Action: "s3:PutObject",
      Resource: "arn:aws:s3:::logs/*",
    },
  ],
});

test("requests on a bucket are in its access log as they arrived and were answered", async () => {
  const { client, storage } = await startStorageClient();
  for (const Bucket of ["films", "logs"]) await client.send(new CreateBucketCommand({ Bucket }));
  await client.send(new PutBucketPolicyCommand({ Bucket: "logs", Policy: policy }));
  const LoggingEnabled = { TargetBucket: "logs", TargetPrefix: "films/" };
  await client.send(new PutBucketLoggingCommand({ Bucket: "films", BucketLoggingStatus: { LoggingEnabled } }));
  expect((await client.send(new GetBucketLoggingCommand({ Bucket: "films" }))).LoggingEnabled).toEqual(LoggingEnabled);
  await client.send(new PutObjectCommand({ Bucket: "films", Key: "a/b", Body: "content" }));
  await (await client.send(new GetObjectCommand({ Bucket: "films", Key: "a/b" }))).Body?.transformToString();
  await expect(client.send(new GetObjectCommand({ Bucket: "films", Key: "none" }))).rejects.toMatchObject({
    name: "NoSuchKey",
  });
  const anonymous = {
    method: "GET",
    target: "/films/a/b?X-Amz-Nothing=1",
    headers: { referer: "http://example.com/" },
  };
  expect((await storage.send(anonymous)).status).toBe(403);
  const form = { method: "POST", target: "/films", headers: formHeaders, body: formBody({ key: "c" }, "content") };
  expect((await storage.send(form)).status).toBe(403);
  await storage.deliverLogs();

  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: "logs" }));
  expect(Contents.map(({ Key }) => Key)).toEqual([
    expect.stringMatching(/^films\/\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d-[0-9A-F]{16}$/),
  ]);
  const { Body } = await client.send(new GetObjectCommand({ Bucket: "logs", Key: Contents[0]?.Key }));
  const lines = ((await Body?.transformToString()) ?? "").trimEnd().split("\n");
  const id = "[0-9a-f]{64}";
  const [get, put, read, missed, denied, posted] = lines;
  expect(lines).toHaveLength(6);
  expect(posted).toMatch(/ REST.POST.OBJECT c "POST \/films HTTP\/1.1" 403 AccessDenied /);
  expect(get).toMatch(
    new RegExp(
      `^${id} films \\[[^\\]]+\\] 127.0.0.1 ${id} \\S+ REST.GET.LOGGING_STATUS - "GET /films/\\?logging= HTTP/1.1" 200 - \\d+ - `,
    ),
  );
  expect(put).toMatch(
    / REST.PUT.OBJECT a\/b "PUT \/films\/a\/b\?x-id=PutObject HTTP\/1.1" 200 - - 7 \d+ \d+ "-" "aws-sdk-js[^"]*" - /,
  );
  expect(read).toMatch(
    / REST.GET.OBJECT a\/b "GET \/films\/a\/b\?x-id=GetObject HTTP\/1.1" 200 - 7 7 \d+ \d+ "-" "[^"]+" - \S+ SigV4 - AuthHeader 127.0.0.1:\d+ - - -$/,
  );
  expect(missed).toMatch(/ REST.GET.OBJECT none "[^"]+" 404 NoSuchKey \d+ - /);
  expect(denied).toMatch(
    / 127.0.0.1 - \S+ REST.GET.OBJECT a\/b "GET \/films\/a\/b\?X-Amz-Nothing=1 HTTP\/1.1" 403 AccessDenied \d+ - \d+ \d+ "http:\/\/example.com\/" "-" - \S+ - - - /,
  );
  expect(lines.join("")).not.toContain(testKey.secretAccessKey);
});

test("a log keeps no signature of a URL that could be used again", async () => {
  const { client, storage } = await startStorageClient();
  await client.send(new CreateBucketCommand({ Bucket: "logs" }));
  await client.send(new PutBucketPolicyCommand({ Bucket: "logs", Policy: policy }));
  const LoggingEnabled = { TargetBucket: "logs", TargetPrefix: "" };
  await client.send(new PutBucketLoggingCommand({ Bucket: "logs", BucketLoggingStatus: { LoggingEnabled } }));
  await client.send(new PutObjectCommand({ Bucket: "logs", Key: "k", Body: "x" }));
  const url = await getSignedUrl(client, new GetObjectCommand({ Bucket: "logs", Key: "k" }));
  const { pathname, search, searchParams } = new URL(url);
  expect((await storage.send({ method: "GET", target: `${pathname}${search}` })).status).toBe(200);
  await storage.deliverLogs();
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: "logs", Prefix: "2" }));
  const { Body } = await client.send(new GetObjectCommand({ Bucket: "logs", Key: Contents[0]?.Key }));
  const text = (await Body?.transformToString()) ?? "";
  expect(text).toContain("X-Amz-Signature=hidden");
  expect(text).toContain(" QueryString ");
  expect(text).not.toContain(searchParams.get("X-Amz-Signature"));
});
