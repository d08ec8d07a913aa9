import {
  CopyObjectCommand,
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  ListObjectVersionsCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { describe, expect, test } from "vitest";

import { startStorageClient } from "../support/storage-client.ts";

describe("versions, with the official SDK", () => {
  test("bring back what was deleted and overwritten, and are removed in a batch", async () => {
    const { client } = await startStorageClient();
    const Bucket = "photos";
    const Key = "cat.jpg";
    await client.send(new CreateBucketCommand({ Bucket }));
    await client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status: "Enabled" } }));
    const first = await client.send(new PutObjectCommand({ Bucket, Key, Body: "first" }));
    const second = await client.send(new PutObjectCommand({ Bucket, Key, Body: "second" }));
    const marker = await client.send(new DeleteObjectCommand({ Bucket, Key }));
    expect(marker.DeleteMarker).toBe(true);
    await expect(client.send(new GetObjectCommand({ Bucket, Key }))).rejects.toMatchObject({ name: "NoSuchKey" });
    await expect(client.send(new GetObjectCommand({ Bucket, Key, VersionId: marker.VersionId }))).rejects.toMatchObject(
      { name: "MethodNotAllowed" },
    );
    await expect(client.send(new GetObjectCommand({ Bucket, Key, VersionId: "0".repeat(32) }))).rejects.toMatchObject({
      name: "NoSuchVersion",
    });

    await client.send(new DeleteObjectCommand({ Bucket, Key, VersionId: marker.VersionId }));
    const current = await client.send(new GetObjectCommand({ Bucket, Key }));
    expect(current.VersionId).toBe(second.VersionId);
    const CopySource = `${Bucket}/${Key}?versionId=${first.VersionId}`;
    const copy = await client.send(new CopyObjectCommand({ Bucket, Key, CopySource }));
    expect(copy.CopySourceVersionId).toBe(first.VersionId);
    const restored = await client.send(new GetObjectCommand({ Bucket, Key }));
    expect(await restored.Body?.transformToString()).toBe("first");

    const Objects: { Key: string; VersionId: string | undefined }[] = [];
    let markers: { KeyMarker?: string | undefined; VersionIdMarker?: string | undefined } = {};
    for (let isTruncated: boolean | undefined = true; isTruncated === true;) {
      const page = await client.send(new ListObjectVersionsCommand({ Bucket, MaxKeys: 1, ...markers }));
      for (const { VersionId } of page.Versions ?? []) Objects.push({ Key, VersionId });
      isTruncated = page.IsTruncated;
      markers = { KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker };
    }
    expect(Objects.map(({ VersionId }) => VersionId)).toEqual([copy.VersionId, second.VersionId, first.VersionId]);
    const removed = await client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
    expect(removed.Errors).toBeUndefined();
    await client.send(new DeleteBucketCommand({ Bucket }));
  });
});
