/**
 * Each record of object storage is damaged in turn, one of each table, and the service started on it: it must start,
 * and the buckets of other accounts must be served as before. See test/support/damage-campaign.ts.
 */
import { randomBytes } from "node:crypto";

import { expect, test } from "vitest";

import { ServerSideEncryption } from "../../gen/quartet/objectstorage/v1/encryption_pb.ts";
import type { Logger } from "../../services/kit/log/log.ts";
import { accessLogs } from "../../services/object-storage/store/access-logs.ts";
import { layout, quarantine } from "../../services/object-storage/store/layout.ts";
import type { Campaign, CampaignService } from "../support/damage-campaign.ts";
import { outcomesOf, runCampaign } from "../support/damage-campaign.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import type { Harness } from "./harness.ts";
import { alice, as, bob, get, put, startHarness } from "./harness.ts";

const bucketOf = (account: string): string => `photos-${account}`;
const large = randomBytes(200_000);

const upload = async ({ client }: Harness, account: string, key: string, isCompleted: boolean): Promise<void> => {
  const place = { bucket: bucketOf(account), key };
  const { uploadId = "" } = await client.createMultipartUpload(place, as(account));
  async function* messages() {
    yield await Promise.resolve({ ...place, uploadId, partNumber: 1 });
    yield { body: large };
  }
  const { eTag } = await client.uploadPart(messages() as AsyncIterable<never>, as(account));
  const completed = { ...place, uploadId, completeMultipartUpload: { parts: [{ partNumber: 1, eTag }] } };
  if (isCompleted) await client.completeMultipartUpload(completed, as(account));
};

const prefixed = (value: string) => ({ key: { filterRules: [{ name: "prefix", value }] } });
const notified = { sqs: { url: "http://127.0.0.1:1", region: "us-east-1", accessKeyId: "", secretAccessKey: "" } };

const fillAccount = async (harness: Harness, account: string): Promise<void> => {
  const { client, opened } = harness;
  const bucket = bucketOf(account);
  await client.createBucket({ bucket }, as(account));
  const publicAccessBlockConfiguration = { blockPublicAcls: true };
  await client.putAccountPublicAccessBlock({ accountId: account, publicAccessBlockConfiguration }, as(account));
  const searchIndexConfiguration = { attributes: [{ source: "ContentType" }] };
  await client.putBucketSearchIndex({ bucket, searchIndexConfiguration }, as(account));
  const versioningConfiguration = { status: "Enabled" };
  await put(harness, { bucket, key: "dir/null" }, "null", {}, as(account));
  await client.putBucketVersioning({ bucket, versioningConfiguration }, as(account));
  await put(harness, { bucket, key: "dir/large" }, large, {}, as(account));
  await put(harness, { bucket, key: "dir/large" }, "again", {}, as(account));
  // Nobody is there, so notifications wait.
  const queueArn = `arn:aws:sqs:us-east-1:${account}:uploads`;
  const queueConfigurations = [{ queueArn, events: ["s3:ObjectCreated:*"], filter: prefixed("noted/") }];
  await client.putBucketNotificationConfiguration(
    { bucket, notificationConfiguration: { queueConfigurations }, skipDestinationValidation: true },
    as(account),
  );
  await put(harness, { bucket, key: "noted/first" }, "noted", {}, as(account));
  const serverSideEncryption = ServerSideEncryption.KMS;
  await put(harness, { bucket, key: "sealed", serverSideEncryption }, "sealed", {}, as(account));
  await client.copyObject({ bucket, key: "copy", copySource: `${bucket}/dir/large` }, as(account));
  const rule = { status: "Enabled", filter: {}, abortIncompleteMultipartUpload: { daysAfterInitiation: 1 } };
  await client.putBucketLifecycleConfiguration({ bucket, lifecycleConfiguration: { rules: [rule] } }, as(account));
  await upload(harness, account, "upload", false);
  await upload(harness, account, "uploaded", true);
  await opened.jobs.idle();
};

const callsOf = (harness: Harness, account: string): Record<string, () => Promise<unknown>> => {
  const { client } = harness;
  const bucket = bucketOf(account);
  const by = as(account);
  return {
    listBuckets: () => client.listBuckets({}, by),
    headBucket: () => client.headBucket({ bucket }, by),
    listObjectsV2: () => client.listObjectsV2({ bucket, maxKeys: 1 }, by),
    listAll: () => client.listObjectsV2({ bucket, delimiter: "/" }, by),
    listObjectVersions: () => client.listObjectVersions({ bucket }, by),
    getObject: () => get(harness, { bucket, key: "dir/large" }, by),
    // The key of all that is sealed so is one record.
    ...(account === alice && { getSealed: () => get(harness, { bucket, key: "sealed" }, by) }),
    getCopy: () => get(harness, { bucket, key: "copy" }, by),
    putObject: () => put(harness, { bucket, key: "new" }, "new", {}, by),
    putLarge: () => put(harness, { bucket, key: "large" }, large, {}, by),
    putNoted: () => put(harness, { bucket, key: "noted/second" }, "noted", {}, by),
    getNotification: () => client.getBucketNotificationConfiguration({ bucket }, by),
    putAgain: () => put(harness, { bucket, key: "dir/large" }, "third", {}, by),
    listMultipartUploads: () => client.listMultipartUploads({ bucket }, by),
    uploadNew: () => upload(harness, account, "another", true),
    getLifecycle: () => client.getBucketLifecycleConfiguration({ bucket }, by),
    getAccountBlock: () => client.getAccountPublicAccessBlock({ accountId: account }, by),
    getSearchIndex: () => client.getBucketSearchIndex({ bucket }, by),
    deleteNew: () => client.deleteObject({ bucket, key: "new" }, by),
    deleteOld: () => client.deleteObject({ bucket, key: "dir/large" }, by),
    putAccountBlock: () =>
      client.putAccountPublicAccessBlock(
        { accountId: account, publicAccessBlockConfiguration: { blockPublicAcls: true } },
        by,
      ),
    createBucket: () => client.createBucket({ bucket: `second-${account}` }, by),
    forkBucket: () => client.forkBucket({ bucket, destination: `fork-${account}` }, by),
    deleteBucket: () => client.deleteBucket({ bucket: `second-${account}` }, by),
  };
};

const limits = { partBytesMin: 100_000 };

const mayBeEmpty = [
  "unreferenced_blobs",
  "null_versions",
  "forks",
  "job_bodies",
  "job_states",
  "jobs_scheduled",
  "jobs_ready",
  "jobs_leased",
  "jobs_expiring",
  "jobs_new",
  "mfa_uses",
  "lifecycle_progress",
  "inventory_reports",
];

test("no damaged record keeps the service from starting, or other accounts from being served", async () => {
  const fill: Campaign["fill"] = async (noteOwn) => {
    const directory = await temporaryDirectory();
    const harness = await startHarness({ directory, clock: new FakeClock(), limits, notified });
    const { store } = harness.opened.app;
    await store.transact((transaction) => {
      transaction.put(quarantine, ["blob/ab"], { reason: "its file is missing", foundMs: 1n, seenMs: 1n });
      transaction.put(accessLogs, ["gone", 1, "i"], { bucket: "gone", lines: [{ timeMs: 1n, text: "a line" }] });
    });
    for (const account of [alice, bob]) {
      await fillAccount(harness, account);
      if (account === alice) await noteOwn(store);
    }
    await harness.stop();
    return directory;
  };
  const start = async (directory: string, log: Logger): Promise<CampaignService> => {
    const clock = new FakeClock();
    const harness = await startHarness({ directory, clock, log, limits, notified });
    return {
      call: (tenant) => {
        const account = tenant === "own" ? alice : bob;
        return outcomesOf(callsOf(harness, account));
      },
      passSecond: async () => {
        clock.advance(1_000);
        await harness.opened.jobs.idle();
      },
      stop: harness.stop,
    };
  };
  const { problems, cases } = await runCampaign({ layout, mayBeEmpty, fill, start });
  expect(problems).toEqual([]);
  expect(cases).toBeGreaterThan(layout.length);
});
