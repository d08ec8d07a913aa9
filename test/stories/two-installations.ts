import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer } from "node:net";

import type { ListObjectVersionsCommandOutput, ReplicationRule } from "@aws-sdk/client-s3";
import {
  CreateBucketCommand,
  ListObjectVersionsCommand,
  PutBucketReplicationCommand,
  PutBucketVersioningCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { onTestFinished } from "vitest";

import type { System } from "../support/system.ts";
import { startSystem } from "../support/system.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const account = "000000000000";
const key = { accessKeyId: "AKIACOPIES0000000001", secretAccessKey: "the-secret-of-the-copies" };

const statement = (further: object) => ({ Version: "2012-10-17", Statement: [{ Effect: "Allow", ...further }] });

/** One of two installations, and its bucket that keeps versions. */
export interface Side {
  readonly system: System;
  readonly client: S3Client;
  readonly bucket: string;
}

/**
 * The configuration of one of two installations: a user of the other one may store replicas in its bucket and nothing
 * else, and a role may read its own versions for that.
 */
const configurationOf = (region: string, bucket: string, other: { region: string; bucket: string; url: string }) => {
  const replicas = statement({
    Action: ["s3:ReplicateObject", "s3:ReplicateDelete", "s3:ReplicateTags"],
    Resource: `arn:aws:s3:::${bucket}/*`,
  });
  const copies = statement({
    Action: ["s3:GetObjectVersionForReplication", "s3:Replicate*"],
    Resource: [`arn:aws:s3:::${bucket}/*`, `arn:aws:s3:::${other.bucket}/*`],
  });
  const user = {
    name: "copies",
    policies: [replicas],
    accessKeys: [{ id: key.accessKeyId, secret: key.secretAccessKey }],
  };
  return {
    region,
    accounts: { [account]: { users: [user] } },
    roles: [
      {
        account,
        name: "copies",
        trustPolicy: statement({ Principal: { Service: "s3.amazonaws.com" }, Action: "sts:AssumeRole" }),
        policies: [copies],
      },
    ],
    objectStorage: { regions: { [other.region]: { url: other.url, ...key } } },
  };
};

/** An address that is known before there is anything behind it. */
const startRelay = async () => {
  let port = 0;
  const server = createServer((near) => {
    const far = connect(port, "127.0.0.1");
    near.on("error", () => far.destroy());
    far.on("error", () => near.destroy());
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
    near.pipe(far).pipe(near);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, leadTo: (target: string) => (port = Number(new URL(target).port)) };
};

const start = async (region: string, bucket: string, configuration: object): Promise<Side> => {
  const limits = { restartDelayMsMax: 200 };
  const system = await startSystem(await temporaryDirectory(), "silent", { configuration, limits });
  const { accessKeyId, secretAccessKey } = system;
  const client = new S3Client({
    endpoint: system.installation.gatewayUrl,
    region,
    credentials: { accessKeyId, secretAccessKey },
    forcePathStyle: true,
    maxAttempts: 1,
  });
  onTestFinished(async () => {
    client.destroy();
    await system.stop();
  });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  const VersioningConfiguration = { Status: "Enabled" as const };
  await client.send(new PutBucketVersioningCommand({ Bucket: bucket, VersioningConfiguration }));
  return { system, client, bucket };
};

/** Two installations with the buckets `photos` and `kept`, that know each other as regions. */
export const startTwoInstallations = async (): Promise<{ here: Side; there: Side }> => {
  const [east, west] = [await startRelay(), await startRelay()];
  const eastern = { region: "us-east-1", bucket: "photos", url: east.url };
  const western = { region: "us-west-2", bucket: "kept", url: west.url };
  const there = await start("us-west-2", "kept", configurationOf("us-west-2", "kept", eastern));
  west.leadTo(there.system.installation.gatewayUrl);
  const here = await start("us-east-1", "photos", configurationOf("us-east-1", "photos", western));
  east.leadTo(here.system.installation.gatewayUrl);
  return { here, there };
};

/** Has all versions and delete markers of one side copied to the other. */
export const copyAll = async (from: Side, to: Side, further: Partial<ReplicationRule> = {}): Promise<void> => {
  const rule = {
    Status: "Enabled" as const,
    Priority: 1,
    Filter: {},
    DeleteMarkerReplication: { Status: "Enabled" as const },
    Destination: { Bucket: `arn:aws:s3:::${to.bucket}` },
    ...further,
  };
  const ReplicationConfiguration = { Role: `arn:aws:iam::${account}:role/copies`, Rules: [rule] };
  await from.client.send(new PutBucketReplicationCommand({ Bucket: from.bucket, ReplicationConfiguration }));
};

/** What a bucket has of all versions and delete markers, but for their content. */
export const versionsOf = async ({ client, bucket: Bucket }: Side) => {
  const all = [];
  for (let from: { KeyMarker?: string | undefined; VersionIdMarker?: string | undefined } | undefined = {}; from;) {
    const page: ListObjectVersionsCommandOutput = await client.send(new ListObjectVersionsCommand({ Bucket, ...from }));
    for (const { Key, VersionId, IsLatest, LastModified } of [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])])
      all.push({ Key, VersionId, IsLatest, LastModified });
    const next = { KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker };
    from = page.IsTruncated === true ? next : undefined;
  }
  return all.toSorted((one, other) => `${one.VersionId}`.localeCompare(`${other.VersionId}`));
};
