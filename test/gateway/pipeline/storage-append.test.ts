import { CreateBucketCommand, GetObjectCommand, HeadObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { expect, test } from "vitest";

import { startStorageClient } from "../support/storage-client.ts";

const log = { Bucket: "logs", Key: "today" };

test("the official SDK appends to an object, and is refused at another offset", async () => {
  const { client } = await startStorageClient();
  await client.send(new CreateBucketCommand({ Bucket: log.Bucket }));
  const append = (WriteOffsetBytes: number, Body: string) =>
    client.send(new PutObjectCommand({ ...log, WriteOffsetBytes, Body }));
  const created = await append(0, "one\n");
  const appended = await append(4, "two\n");
  expect([created.Size, appended.Size, appended.ChecksumType]).toEqual([4, 8, "FULL_OBJECT"]);
  await expect(append(4, "three\n")).rejects.toMatchObject({
    name: "InvalidWriteOffset",
    message: "The write offset value that you specified does not match the current object size.",
    $metadata: { httpStatusCode: 400 },
  });
  const { ETag, ChecksumCRC32 } = await client.send(new HeadObjectCommand({ ...log, ChecksumMode: "ENABLED" }));
  expect([ETag, ChecksumCRC32]).toEqual([appended.ETag, appended.ChecksumCRC32]);
  const read = await client.send(new GetObjectCommand(log));
  expect(await read.Body?.transformToString()).toBe("one\ntwo\n");
});
