import {
  CreateBucketCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  RenameObjectCommand,
} from "@aws-sdk/client-s3";
import { expect, test } from "vitest";

import { startStorageClient } from "../support/storage-client.ts";

const Bucket = "films";

test("the official SDK renames an object, under conditions", async () => {
  const { client } = await startStorageClient();
  await client.send(new CreateBucketCommand({ Bucket }));
  await client.send(new PutObjectCommand({ Bucket, Key: "a b/é", Body: "film", Metadata: { by: "ann" } }));
  const RenameSource = encodeURIComponent("a b/é");
  await expect(
    client.send(new RenameObjectCommand({ Bucket, Key: "new", RenameSource, SourceIfMatch: '"other"' })),
  ).rejects.toMatchObject({ name: "PreconditionFailed", Condition: "x-amz-rename-source-if-match" });
  await client.send(new RenameObjectCommand({ Bucket, Key: "new", RenameSource, DestinationIfNoneMatch: "*" }));
  const renamed = await client.send(new GetObjectCommand({ Bucket, Key: "new" }));
  expect([await renamed.Body?.transformToString(), renamed.Metadata]).toEqual(["film", { by: "ann" }]);
  await expect(client.send(new HeadObjectCommand({ Bucket, Key: "a b/é" }))).rejects.toMatchObject({
    name: "NotFound",
  });
});
