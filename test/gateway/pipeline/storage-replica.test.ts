import {
  CreateBucketCommand,
  GetObjectCommand,
  ListObjectVersionsCommand,
  PutBucketVersioningCommand,
} from "@aws-sdk/client-s3";
import { expect, test } from "vitest";

import { crc64Of, idAt } from "../../object-storage/support/versions.ts";
import { startStorageClient } from "../support/storage-client.ts";

const Bucket = "films";

test("a program stores versions of another store by HTTP, with their dates, in any order", async () => {
  const { client, storage } = await startStorageClient();
  await client.send(new CreateBucketCommand({ Bucket }));
  const VersioningConfiguration = { Status: "Enabled" as const };
  await client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration }));
  const put = async (date: string, body: string) => {
    const headers = {
      "x-amz-replica-last-modified": date,
      "x-amz-replica-etag": '"0123456789abcdef0123456789abcdef"',
      "x-amz-checksum-crc64nvme": await crc64Of(Buffer.from(body)),
      "x-amz-meta-by": "ann",
      "x-amz-tagging": "kind=film",
      "content-type": "video/mp4",
    };
    const target = `/films/a%20b/%C3%A9?replica=&versionId=${idAt(Date.parse(date))}`;
    const { status, body: answer } = await storage.call({ method: "PUT", target, headers, body });
    return [status, answer];
  };
  expect(await put("2024-05-06T07:08:09.123Z", "second")).toEqual([200, ""]);
  expect(await put("2019-01-02T03:04:05.000Z", "first")).toEqual([200, ""]);

  const { Versions = [] } = await client.send(new ListObjectVersionsCommand({ Bucket }));
  expect(Versions.map(({ LastModified, IsLatest }) => [LastModified?.toISOString(), IsLatest])).toEqual([
    ["2024-05-06T07:08:09.000Z", true],
    ["2019-01-02T03:04:05.000Z", false],
  ]);
  const read = await client.send(new GetObjectCommand({ Bucket, Key: "a b/é" }));
  expect([await read.Body?.transformToString(), read.ContentType, read.Metadata, read.TagCount]).toEqual([
    "second",
    "video/mp4",
    { by: "ann" },
    1,
  ]);
  expect(read.ETag).toBe('"0123456789abcdef0123456789abcdef"');
  expect((await put("not a date", "x"))[0]).toBe(400);
});
