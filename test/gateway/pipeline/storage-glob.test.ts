import { CreateBucketCommand, ListObjectsV2Command, PutObjectCommand } from "@aws-sdk/client-s3";
import { expect, test } from "vitest";

import { startStorageClient } from "../support/storage-client.ts";

const Bucket = "films";

test("the official SDK lists objects by a glob, which it sends as a further query parameter", async () => {
  const { client } = await startStorageClient();
  await client.send(new CreateBucketCommand({ Bucket }));
  for (const Key of ["a/1.mp4", "a/1.txt", "b {2}.mp4", "é/3.mp4"])
    await client.send(new PutObjectCommand({ Bucket, Key, Body: "film" }));
  const list = (glob: string) => {
    const command = new ListObjectsV2Command({ Bucket, Delimiter: "/" });
    command.middlewareStack.add(
      (next) => (step) => {
        Object.assign((step.request as { query: object }).query, { "match-glob": glob });
        return next(step);
      },
      { step: "build" },
    );
    return client.send(command);
  };
  expect(await list("{a/*,b \\{?\\}}.mp4")).toMatchObject({
    KeyCount: 2,
    Contents: [{ Key: "b {2}.mp4" }],
    CommonPrefixes: [{ Prefix: "a/" }],
  });
  expect((await list("é/**")).CommonPrefixes).toEqual([{ Prefix: "é/" }]);
  await expect(list("a[")).rejects.toMatchObject({
    name: "InvalidArgument",
    message: "The glob is not valid: the set at character 2 does not end.",
    ArgumentName: "match-glob",
    ArgumentValue: "a[",
  });
});
