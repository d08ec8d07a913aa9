/*
 * Goal: what is put into a bucket is kept in another installation as well, as it is. Method: two installations with the
 * official SDK; the first knows the second as another region, with a key that may only store replicas.
 */
import type { HeadObjectCommandOutput, S3Client } from "@aws-sdk/client-s3";
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectAttributesCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  PutObjectCommand,
  PutObjectTaggingCommand,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { expect, test } from "vitest";

import { eventually } from "../support/eventually.ts";
import { copyAll, startTwoInstallations, versionsOf } from "./two-installations.ts";

/** What a reader is told of an object, but for how its replication is. */
const shown = ({ $metadata: _call, ReplicationStatus: _status, ...others }: HeadObjectCommandOutput) => others;

const statusOf = async (client: S3Client, Key: string): Promise<string | undefined> =>
  (await client.send(new HeadObjectCommand({ Bucket: "photos", Key }))).ReplicationStatus;

const untilCopied = (client: S3Client, key: string): Promise<true> =>
  eventually(async () => (await statusOf(client, key)) === "COMPLETED", `${key} is copied`, 20_000);

test("versions, tags and delete markers of a bucket are in a bucket of another installation, as they are", async () => {
  const sides = await startTwoInstallations();
  await copyAll(sides.here, sides.there);
  const { here, there } = { here: sides.here.client, there: sides.there.client };
  const small = { Key: "cat.jpg", Body: "meow", ContentType: "image/jpeg", Metadata: { colour: "red" } };
  await here.send(new PutObjectCommand({ Bucket: "photos", ...small, Tagging: "kind=cat&of=a%20b%2Bc" }));
  const { UploadId } = await here.send(
    new CreateMultipartUploadCommand({ Bucket: "photos", Key: "film", ChecksumAlgorithm: "SHA256" }),
  );
  const film = [Buffer.alloc(5 * 1024 * 1024, "film"), Buffer.alloc(1_000_000, "end")];
  const Parts = [];
  for (const [index, Body] of film.entries()) {
    const PartNumber = index + 1;
    const part = { Bucket: "photos", Key: "film", UploadId, PartNumber, Body, ChecksumAlgorithm: "SHA256" as const };
    const { ETag, ChecksumSHA256 } = await here.send(new UploadPartCommand(part));
    Parts.push({ PartNumber, ETag, ChecksumSHA256 });
  }
  await here.send(
    new CompleteMultipartUploadCommand({ Bucket: "photos", Key: "film", UploadId, MultipartUpload: { Parts } }),
  );

  for (const Key of ["cat.jpg", "film"]) {
    await untilCopied(here, Key);
    const of = { Key, ChecksumMode: "ENABLED" as const };
    const original = await here.send(new HeadObjectCommand({ Bucket: "photos", ...of }));
    const replica = await there.send(new HeadObjectCommand({ Bucket: "kept", ...of }));
    expect(shown(replica)).toEqual(shown(original));
    expect(replica.ReplicationStatus).toBe("REPLICA");
  }
  const { Body } = await there.send(new GetObjectCommand({ Bucket: "kept", Key: "film" }));
  expect(Buffer.concat(film).equals((await Body?.transformToByteArray()) ?? Buffer.of())).toBe(true);
  const attributes = { Key: "film", ObjectAttributes: ["ObjectParts" as const, "Checksum" as const] };
  const { ObjectParts } = await there.send(new GetObjectAttributesCommand({ Bucket: "kept", ...attributes }));
  expect(ObjectParts).toEqual(
    (await here.send(new GetObjectAttributesCommand({ Bucket: "photos", ...attributes }))).ObjectParts,
  );
  const tagsThere = async () =>
    (await there.send(new GetObjectTaggingCommand({ Bucket: "kept", Key: "cat.jpg" }))).TagSet;
  expect(await tagsThere()).toEqual([
    { Key: "kind", Value: "cat" },
    { Key: "of", Value: "a b+c" },
  ]);

  const Tagging = { TagSet: [{ Key: "kind", Value: "lion" }] };
  await here.send(new PutObjectTaggingCommand({ Bucket: "photos", Key: "cat.jpg", Tagging }));
  await eventually(async () => (await tagsThere())?.[0]?.Value === "lion", "the tag has changed there");
  await here.send(new DeleteObjectCommand({ Bucket: "photos", Key: "cat.jpg" }));
  await eventually(async () => (await versionsOf(sides.there)).length === 3, "the delete marker is there");
  expect(await versionsOf(sides.there)).toEqual(await versionsOf(sides.here));
}, 120_000);
