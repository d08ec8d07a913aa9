import {
  CreateBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectLegalHoldCommand,
  GetObjectLockConfigurationCommand,
  GetObjectRetentionCommand,
  HeadObjectCommand,
  PutObjectCommand,
  PutObjectLegalHoldCommand,
  PutObjectLockConfigurationCommand,
  PutObjectRetentionCommand,
} from "@aws-sdk/client-s3";
import { expect, test } from "vitest";

import { startStorageClient } from "../support/storage-client.ts";

const hourMs = 3_600_000;

test("an archive that nobody can delete, with the official SDK", async () => {
  const { client } = await startStorageClient();
  const Bucket = "ledger";
  const Key = "2026.csv";
  await client.send(new CreateBucketCommand({ Bucket, ObjectLockEnabledForBucket: true }));
  const DefaultRetention = { Mode: "GOVERNANCE", Days: 30 } as const;
  await client.send(
    new PutObjectLockConfigurationCommand({
      Bucket,
      ObjectLockConfiguration: { ObjectLockEnabled: "Enabled", Rule: { DefaultRetention } },
    }),
  );
  const { ObjectLockConfiguration } = await client.send(new GetObjectLockConfigurationCommand({ Bucket }));
  expect(ObjectLockConfiguration).toEqual({ ObjectLockEnabled: "Enabled", Rule: { DefaultRetention } });

  const { VersionId } = await client.send(new PutObjectCommand({ Bucket, Key, Body: "sum,1" }));
  const until = new Date(Math.floor(Date.now() / 1000) * 1000 + 60 * 24 * hourMs);
  const Retention = { Mode: "COMPLIANCE", RetainUntilDate: until } as const;
  await expect(client.send(new PutObjectRetentionCommand({ Bucket, Key, Retention }))).rejects.toMatchObject({
    name: "AccessDenied",
    $metadata: { httpStatusCode: 403 },
  });
  const BypassGovernanceRetention = true;
  await client.send(new PutObjectRetentionCommand({ Bucket, Key, Retention, BypassGovernanceRetention }));
  expect((await client.send(new GetObjectRetentionCommand({ Bucket, Key }))).Retention).toEqual(Retention);
  await client.send(new PutObjectLegalHoldCommand({ Bucket, Key, LegalHold: { Status: "ON" } }));
  expect((await client.send(new GetObjectLegalHoldCommand({ Bucket, Key }))).LegalHold).toEqual({ Status: "ON" });
  expect(await client.send(new HeadObjectCommand({ Bucket, Key }))).toMatchObject({
    ObjectLockMode: "COMPLIANCE",
    ObjectLockRetainUntilDate: until,
    ObjectLockLegalHoldStatus: "ON",
  });

  const removal = { Bucket, Key, VersionId, BypassGovernanceRetention };
  await expect(client.send(new DeleteObjectCommand(removal))).rejects.toMatchObject({ name: "AccessDenied" });
  const batch = { Bucket, Delete: { Objects: [{ Key, VersionId }] }, BypassGovernanceRetention };
  expect((await client.send(new DeleteObjectsCommand(batch))).Errors).toMatchObject([{ Key, Code: "AccessDenied" }]);

  const ObjectLockRetainUntilDate = new Date(Date.now() + hourMs);
  const written = { Bucket, Key: "draft", Body: "x", ObjectLockMode: "GOVERNANCE", ObjectLockRetainUntilDate } as const;
  const draft = await client.send(new PutObjectCommand(written));
  const ofDraft = { Bucket, Key: "draft", VersionId: draft.VersionId };
  await expect(client.send(new DeleteObjectCommand(ofDraft))).rejects.toMatchObject({ name: "AccessDenied" });
  await client.send(new DeleteObjectCommand({ ...ofDraft, BypassGovernanceRetention }));
  await expect(client.send(new HeadObjectCommand(ofDraft))).rejects.toMatchObject({ name: "NotFound" });
});
