import type { MessageInitShape } from "@bufbuild/protobuf";
import { expect, test } from "vitest";

import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { guard } from "../../../services/object-storage/access/guard.ts";
import type { OperationName } from "../../../services/object-storage/application.ts";
import { decisionsByPermission } from "../../support/guarded-service.ts";
import { ownerAccount } from "../../support/service-harness.ts";
import { as, put, startHarness, startWithBucket } from "../harness.ts";
import { admissionOf, usersOfAlice } from "./in-process.ts";

/**
 * The operations with several permissions: the decision on a user without any, with all, and without each of them in
 * the order of the contract. What a request without optional members does not need is `+`.
 */
const several: Readonly<Record<string, string>> = {
  CreateBucket: "-+-+++++",
  PutObject: "-+-++++",
  GetObject: "-+-+",
  HeadObject: "-+-+",
  DeleteObject: "-+-++",
  CreateMultipartUpload: "-+-++++",
  UploadPartCopy: "-+--",
  CopyObject: "-+--++++",
  DeleteObjects: "e+e++",
  GetObjectAttributes: "-+-+-+",
  PutObjectReplica: "-+-++",
  GetObjectAcl: "-+-+",
  PutObjectAcl: "-+-+",
  PutObjectRetention: "-+-+",
  GetObjectTagging: "-+-+",
  PutObjectTagging: "-+-+",
  DeleteObjectTagging: "-+-+",
};

test("no operation is reached without its permissions, and each with them", async () => {
  const harness = await startHarness();
  await harness.client.createBucket({ bucket: "photos" }, as(ownerAccount));
  await put(harness, { bucket: "photos", key: "cat.jpg" }, "meow", {}, as(ownerAccount));
  const members = {
    bucket: "photos",
    accountId: ownerAccount,
    key: "cat.jpg",
    copySource: "photos/cat.jpg",
    delete: { objects: [{ key: "cat.jpg" }] },
  };
  const lines = await decisionsByPermission(ObjectStorageService, "s3", {
    app: harness.opened.app,
    members,
    guard: async (request, context) => ({ refusedEntries: (await guard(request, context)).refusedElements }),
  });
  expect(lines).toEqual(ObjectStorageService.methods.map(({ name }) => `${name} ${several[name] ?? "-+-"}`));
  expect(lines).toHaveLength(111);
});

type Row<Name extends OperationName> = readonly [
  name: Name,
  members: MessageInitShape<(typeof ObjectStorageService)["method"][Name]["input"]>,
  actions: readonly string[],
];
type AnyRow = { [Name in OperationName]: Row<Name> }[OperationName];

const cat = { bucket: "photos", key: "cat.jpg" };
const source = { ...cat, copySource: "photos/dog.jpg" };

test.each<AnyRow>([
  // operation, members, the permissions that it needs and no fewer
  ["createBucket", { bucket: "new", acl: "private" }, ["CreateBucket"]],
  ["createBucket", { bucket: "new", acl: "public-read" }, ["CreateBucket", "PutBucketAcl"]],
  ["createBucket", { bucket: "new", grantRead: "id=1" }, ["CreateBucket", "PutBucketAcl"]],
  [
    "createBucket",
    { bucket: "new", createBucketConfiguration: { tags: [{ key: "team", value: "red" }] } },
    ["CreateBucket", "TagResource"],
  ],
  ["createBucket", { bucket: "new", objectOwnership: "ObjectWriter" }, ["CreateBucket", "PutBucketOwnershipControls"]],
  [
    "createBucket",
    { bucket: "new", objectLockEnabledForBucket: true },
    ["CreateBucket", "PutBucketObjectLockConfiguration", "PutBucketVersioning"],
  ],
  ["putObject", { ...cat, acl: "private" }, ["PutObject", "PutObjectAcl"]],
  ["putObject", { ...cat, grantReadAcp: "id=1" }, ["PutObject", "PutObjectAcl"]],
  ["putObject", { ...cat, tagging: "a=b" }, ["PutObject", "PutObjectTagging"]],
  ["putObject", { ...cat, objectLockMode: "GOVERNANCE" }, ["PutObject", "PutObjectRetention"]],
  ["putObject", { ...cat, objectLockLegalHoldStatus: "ON" }, ["PutObject", "PutObjectLegalHold"]],
  [
    "createMultipartUpload",
    { ...cat, acl: "private", tagging: "a=b" },
    ["PutObject", "PutObjectAcl", "PutObjectTagging"],
  ],
  ["putObjectReplica", { ...cat, tagging: "a=b" }, ["ReplicateObject", "ReplicateTags"]],
  ["putObjectReplica", { ...cat, deleteMarker: true }, ["ReplicateDelete"]],
  ["copyObject", source, ["PutObject", "GetObject"]],
  ["copyObject", { ...cat, copySource: "photos/dog.jpg?versionId=null" }, ["PutObject", "GetObjectVersion"]],
  ["copyObject", { ...source, acl: "private" }, ["PutObject", "GetObject", "PutObjectAcl"]],
  ["uploadPartCopy", { ...cat, copySource: "photos/dog.jpg?versionId=null" }, ["PutObject", "GetObjectVersion"]],
  ["getObject", { ...cat, versionId: "null" }, ["GetObjectVersion"]],
  ["headObject", { ...cat, versionId: "null" }, ["GetObjectVersion"]],
  ["getObjectAttributes", { ...cat, versionId: "null" }, ["GetObjectVersion", "GetObjectVersionAttributes"]],
  ["deleteObject", { ...cat, versionId: "null" }, ["DeleteObjectVersion"]],
  ["deleteObject", { ...cat, bypassGovernanceRetention: true }, ["DeleteObject", "BypassGovernanceRetention"]],
  [
    "putObjectRetention",
    { ...cat, bypassGovernanceRetention: true },
    ["PutObjectRetention", "BypassGovernanceRetention"],
  ],
  ["putObjectAcl", { ...cat, versionId: "null" }, ["PutObjectVersionAcl"]],
  ["getObjectTagging", { ...cat, versionId: "null" }, ["GetObjectVersionTagging"]],
  ["deleteObjectTagging", { ...cat, versionId: "null" }, ["DeleteObjectVersionTagging"]],
])("%s with %j needs %j", async (name, members, actions) => {
  const { app } = (await startWithBucket()).opened;
  const decide = (allowed: readonly string[]) => {
    const Action = allowed.map((action) => `s3:${action}`);
    const statements = allowed.length === 0 ? [] : [{ Effect: "Allow", Action, Resource: "*" }];
    return admissionOf(app, name, members as never, usersOfAlice(...statements));
  };
  expect(await decide(actions)).toBe("answered");
  for (const missing of actions) expect(await decide(actions.filter((each) => each !== missing))).toBe("ACCESS_DENIED");
});

// the resource of a policy that allows the listing of buckets, as documents of the public service write it
test.each([
  ["arn:aws:s3:::*", "answered"],
  ["arn:svc:object-storage:::*", "answered"],
  ["*", "answered"],
  ["arn:aws:s3:::photos", "ACCESS_DENIED"],
  ["arn:aws:s3:::photos/*", "ACCESS_DENIED"],
])("all buckets are listed with a policy on %s: %s", async (Resource, outcome) => {
  const { app } = (await startWithBucket()).opened;
  const allow = { Effect: "Allow", Action: ["s3:GetBucketLocation", "s3:ListAllMyBuckets"], Resource };
  expect(await admissionOf(app, "listBuckets", {}, usersOfAlice(allow))).toBe(outcome);
});

test("a batch deletes what its caller may delete, and says of each other key that it is denied", async () => {
  const harness = await startWithBucket();
  const { client, opened } = harness;
  for (const key of ["mine/a", "mine/b", "theirs/a"]) await put(harness, { bucket: "photos", key }, "x");
  const policy = JSON.stringify({
    Version: "2012-10-17",
    Statement: [
      { Effect: "Allow", Principal: "*", Action: "s3:DeleteObject", Resource: "arn:aws:s3:::photos/mine/*" },
      { Effect: "Deny", Principal: "*", Action: "s3:DeleteObject", Resource: "arn:aws:s3:::photos/mine/b" },
    ],
  });
  await client.putBucketPolicy({ bucket: "photos", policy }, as("111111111111"));
  const objects = ["mine/a", "mine/b", "theirs/a", "theirs/none"].map((key) => ({ key }));
  const answer = await client.deleteObjects({ bucket: "photos", delete: { objects } });
  expect(answer.deleted.map(({ key }) => key)).toEqual(["mine/a"]);
  expect(answer.errors.map(({ key, code }) => `${key} ${code}`)).toEqual([
    "mine/b AccessDenied",
    "theirs/a AccessDenied",
    "theirs/none AccessDenied",
  ]);
  expect((await client.listObjectsV2({ bucket: "photos" }, as("111111111111"))).keyCount).toBe(2);
  expect(await admissionOf(opened.app, "deleteObjects", { bucket: "photos" }, usersOfAlice())).toBe("answered");
});
