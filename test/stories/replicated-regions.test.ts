/*
 * Goal: what is put into a bucket is kept in another installation as well, as it is. Method: two installations with the
 * official SDK; the first knows the second as another region, with a key that may only store replicas.
 */
import type { HeadObjectCommandOutput } from "@aws-sdk/client-s3";
import {
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectAttributesCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  ListObjectVersionsCommand,
  PutBucketReplicationCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  PutObjectTaggingCommand,
  S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { expect, onTestFinished, test } from "vitest";

import { eventually } from "../support/eventually.ts";
import type { System } from "../support/system.ts";
import { startSystem } from "../support/system.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const account = "000000000000";
const role = `arn:aws:iam::${account}:role/copies`;
const copierKey = { accessKeyId: "AKIACOPIES0000000001", secretAccessKey: "the-secret-of-the-copies" };

const statement = (further: object) => ({ Version: "2012-10-17", Statement: [{ Effect: "Allow", ...further }] });

/** The second installation, in which one user may store replicas in one bucket and nothing else. */
const west = {
  region: "us-west-2",
  accounts: {
    [account]: {
      users: [
        {
          name: "copies",
          policies: [
            statement({
              Action: ["s3:ReplicateObject", "s3:ReplicateDelete", "s3:ReplicateTags"],
              Resource: "arn:aws:s3:::kept/*",
            }),
          ],
          accessKeys: [{ id: copierKey.accessKeyId, secret: copierKey.secretAccessKey }],
        },
      ],
    },
  },
};

/** The first one, which knows the second. */
const east = (url: string) => ({
  region: "us-east-1",
  roles: [
    {
      account,
      name: "copies",
      trustPolicy: statement({ Principal: { Service: "s3.amazonaws.com" }, Action: "sts:AssumeRole" }),
      policies: [
        statement({
          Action: ["s3:GetObjectVersionForReplication", "s3:Replicate*"],
          Resource: ["arn:aws:s3:::photos/*", "arn:aws:s3:::kept/*"],
        }),
      ],
    },
  ],
  objectStorage: { regions: { "us-west-2": { url, ...copierKey } } },
});

const clientOf = ({ installation, accessKeyId, secretAccessKey }: System, region: string): S3Client => {
  const credentials = { accessKeyId, secretAccessKey };
  const client = new S3Client({ endpoint: installation.gatewayUrl, region, credentials, forcePathStyle: true });
  onTestFinished(() => client.destroy());
  return client;
};

const keepVersions = async (client: S3Client, Bucket: string): Promise<void> => {
  await client.send(new CreateBucketCommand({ Bucket }));
  const VersioningConfiguration = { Status: "Enabled" as const };
  await client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration }));
};

const startTwo = async () => {
  const start = async (configuration: object): Promise<System> => {
    const system = await startSystem(await temporaryDirectory(), "error", { configuration });
    onTestFinished(() => system.stop());
    return system;
  };
  const second = await start(west);
  const first = await start(east(second.installation.gatewayUrl));
  const clients = { here: clientOf(first, "us-east-1"), there: clientOf(second, "us-west-2") };
  await keepVersions(clients.there, "kept");
  await keepVersions(clients.here, "photos");
  const rule = {
    Status: "Enabled" as const,
    Priority: 1,
    Filter: {},
    DeleteMarkerReplication: { Status: "Enabled" as const },
    Destination: { Bucket: "arn:aws:s3:::kept" },
  };
  const ReplicationConfiguration = { Role: role, Rules: [rule] };
  await clients.here.send(new PutBucketReplicationCommand({ Bucket: "photos", ReplicationConfiguration }));
  return clients;
};

/** What a reader is told of an object, but for how its replication is. */
const shown = ({ $metadata: _call, ReplicationStatus: _status, ...others }: HeadObjectCommandOutput) => others;

const statusOf = async (client: S3Client, Key: string): Promise<string | undefined> =>
  (await client.send(new HeadObjectCommand({ Bucket: "photos", Key }))).ReplicationStatus;

const untilCopied = (client: S3Client, key: string): Promise<true> =>
  eventually(async () => (await statusOf(client, key)) === "COMPLETED", `${key} is copied`, 20_000);

test("versions, tags and delete markers of a bucket are in a bucket of another installation, as they are", async () => {
  const { here, there } = await startTwo();
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
  const versionsOf = async (client: S3Client, Bucket: string) => {
    const { Versions = [], DeleteMarkers = [] } = await client.send(new ListObjectVersionsCommand({ Bucket }));
    return [...Versions, ...DeleteMarkers].map(({ Key, VersionId, IsLatest, LastModified }) => ({
      Key,
      VersionId,
      IsLatest,
      LastModified,
    }));
  };
  await eventually(async () => (await versionsOf(there, "kept")).length === 3, "the delete marker is there");
  expect(await versionsOf(there, "kept")).toEqual(await versionsOf(here, "photos"));
}, 120_000);
