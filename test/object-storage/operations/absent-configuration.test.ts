import { expect, test } from "vitest";

import { ErrorReasonSchema } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { faultTable } from "../../../services/kit/faults/service-error.ts";
import { alice, as, bob, metadataOf, notImplemented, refusalOf, startWithBucket } from "../harness.ts";

const reads = [
  // operation, reason, outside name
  ["getBucketPolicy", "NO_SUCH_BUCKET_POLICY", "NoSuchBucketPolicy"],
  ["getBucketPolicyStatus", "NO_SUCH_BUCKET_POLICY", "NoSuchBucketPolicy"],
  ["getBucketEncryption", "ENCRYPTION_CONFIGURATION_NOT_FOUND", "ServerSideEncryptionConfigurationNotFoundError"],
  ["getPublicAccessBlock", "NO_SUCH_PUBLIC_ACCESS_BLOCK_CONFIGURATION", "NoSuchPublicAccessBlockConfiguration"],
  ["getBucketLifecycle", "NO_SUCH_LIFECYCLE_CONFIGURATION", "NoSuchLifecycleConfiguration"],
  ["getBucketLifecycleConfiguration", "NO_SUCH_LIFECYCLE_CONFIGURATION", "NoSuchLifecycleConfiguration"],
  ["getBucketWebsite", "NO_SUCH_WEBSITE_CONFIGURATION", "NoSuchWebsiteConfiguration"],
  ["getBucketReplication", "REPLICATION_CONFIGURATION_NOT_FOUND", "ReplicationConfigurationNotFoundError"],
  ["getObjectLockConfiguration", "OBJECT_LOCK_CONFIGURATION_NOT_FOUND", "ObjectLockConfigurationNotFoundError"],
] as const;

const deletions = [
  "deleteBucketPolicy",
  "deleteBucketEncryption",
  "deletePublicAccessBlock",
  "deleteBucketLifecycle",
  "deleteBucketWebsite",
  "deleteBucketReplication",
] as const;

test.each(reads)("%s is refused with %s, outside %s", async (name, reason, outsideName) => {
  const { client } = await startWithBucket();
  expect(await refusalOf(client[name]({ bucket: "photos" }, as(alice)))).toBe(reason);
  expect(await metadataOf(client[name]({ bucket: "photos" }, as(alice)))).toEqual({ bucket_name: "photos" });
  expect(faultTable(ErrorReasonSchema).findByReason(reason)).toMatchObject({ name: outsideName, httpStatus: 404 });
});

test.each(deletions)("%s succeeds, and again", async (name) => {
  const { client } = await startWithBucket();
  expect(await refusalOf(client[name]({ bucket: "photos" }, as(alice)))).toBe("answered");
  expect(await refusalOf(client[name]({ bucket: "photos", expectedBucketOwner: alice }, as(alice)))).toBe("answered");
});

test.each([...reads.map(([name]) => name), ...deletions])("%s refuses as every use of a bucket does", async (name) => {
  const { client } = await startWithBucket();
  const call = (request: object, options = as(alice)) =>
    refusalOf(client[name]({ bucket: "photos", ...request }, options));
  expect(await call({ bucket: "arn:aws:s3:us-east-1:1:accesspoint/x" })).toBe(notImplemented("Bucket"));
  expect(await call({ bucket: "unknown", expectedBucketOwner: "x" })).toBe("NO_SUCH_BUCKET");
  expect(await call({ expectedBucketOwner: "x" }, as(bob))).toBe("INVALID_EXPECTED_BUCKET_OWNER");
  expect(await call({ expectedBucketOwner: bob })).toBe("ACCESS_DENIED");
  expect(await call({}, as(bob))).toBe("ACCESS_DENIED");
  expect(await call({}, {})).toBe("ACCESS_DENIED");
});
