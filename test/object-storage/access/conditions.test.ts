import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import type { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { ServerSideEncryption } from "../../../gen/quartet/objectstorage/v1/encryption_pb.ts";
import type { Caller } from "../../../services/kit/identity/caller.ts";
import type { OperationName } from "../../../services/object-storage/application.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { alice, as, put, startWithBucket } from "../harness.ts";
import { admissionOf, anybodyWith, policyOf, refusedOf, usersOfAlice } from "./in-process.ts";

type Row<Name extends OperationName> = readonly [
  key: string,
  operator: string,
  value: string | readonly string[],
  name: Name,
  holds: MessageInitShape<(typeof ObjectStorageService)["method"][Name]["input"]>,
  fails: MessageInitShape<(typeof ObjectStorageService)["method"][Name]["input"]>,
];
type AnyRow = { [Name in OperationName]: Row<Name> }[OperationName];

const bucket = "photos";
const cat = { bucket, key: "cat.jpg" };
const dog = { bucket, key: "dog.jpg" };
const source = { ...cat, copySource: "photos/dog.jpg" };
const { AES256, KMS } = ServerSideEncryption;

/** A bucket that is created with a tag. */
const tagged = (value: string) => ({
  bucket: "new",
  createBucketConfiguration: { tags: [{ key: "team", value }] },
});

/** The operations that set ACLs, with what their requests need. */
const creations = [
  ["createBucket", { bucket: "new" }],
  ["putObject", cat],
  ["copyObject", source],
  ["createMultipartUpload", cat],
  ["putObjectAcl", cat],
  ["putBucketAcl", { bucket }],
] as const;

/** The operations that begin an object. */
const writes = [
  ["putObject", cat],
  ["copyObject", source],
  ["createMultipartUpload", cat],
] as const;

describe("a condition on the request", () => {
  test.each<AnyRow>([
    // key, operator, value, operation, members with which it holds, members with which it does not
    ["s3:prefix", "StringLike", "home/*", "listObjectsV2", { bucket, prefix: "home/a" }, { bucket, prefix: "top" }],
    ["s3:prefix", "StringEquals", "home/", "listObjects", { bucket, prefix: "home/" }, { bucket }],
    ["s3:prefix", "StringEquals", "home/", "listObjectVersions", { bucket, prefix: "home/" }, { bucket }],
    ["s3:prefix", "StringEquals", "home/", "listMultipartUploads", { bucket, prefix: "home/" }, { bucket }],
    ["s3:delimiter", "StringEquals", "/", "listObjectsV2", { bucket, delimiter: "/" }, { bucket }],
    ["s3:max-keys", "NumericLessThanEquals", "10", "listObjectsV2", { bucket, maxKeys: 10 }, { bucket, maxKeys: 11 }],
    ["object-storage:prefix", "StringEquals", "a", "listObjectsV2", { bucket, prefix: "a" }, { bucket, prefix: "b" }],
    [
      "s3:x-amz-acl",
      "StringEquals",
      "private",
      "putObject",
      { ...cat, acl: "private" },
      { ...cat, acl: "public-read" },
    ],
    ["s3:x-svc-acl", "StringEquals", "private", "putObject", { ...cat, acl: "private" }, cat],
    ["s3:x-amz-grant-read", "StringEquals", "id=1", "putObject", { ...cat, grantRead: "id=1" }, cat],
    ["s3:x-amz-storage-class", "StringEquals", "STANDARD", "putObject", { ...cat, storageClass: "STANDARD" }, cat],
    [
      "s3:x-amz-server-side-encryption",
      "StringEquals",
      "aws:kms",
      "putObject",
      { ...cat, serverSideEncryption: KMS },
      { ...cat, serverSideEncryption: AES256 },
    ],
    [
      "s3:x-amz-server-side-encryption-aws-kms-key-id",
      "StringEquals",
      "k",
      "putObject",
      { ...cat, sseKmsKeyId: "k" },
      { ...cat, sseKmsKeyId: "l" },
    ],
    [
      "s3:x-amz-server-side-encryption-customer-algorithm",
      "Null",
      "false",
      "putObject",
      { ...cat, sseCustomerAlgorithm: "AES256" },
      cat,
    ],
    [
      "s3:x-amz-website-redirect-location",
      "StringLike",
      "/*",
      "putObject",
      { ...cat, websiteRedirectLocation: "/x" },
      { ...cat, websiteRedirectLocation: "https://x" },
    ],
    ["s3:if-none-match", "Null", "false", "putObject", { ...cat, ifNoneMatch: "*" }, cat],
    ["s3:RequestObjectTag/team", "StringEquals", "red", "putObject", { ...cat, tagging: "team=red" }, cat],
    [
      "s3:RequestObjectTag/team",
      "StringEquals",
      "red",
      "putObjectTagging",
      { ...cat, tagging: { tagSet: [{ key: "team", value: "red" }] } },
      { ...cat, tagging: { tagSet: [{ key: "team", value: "blue" }] } },
    ],
    [
      "s3:RequestObjectTagKeys",
      "ForAllValues:StringEquals",
      ["team"],
      "putObject",
      { ...cat, tagging: "team=red" },
      { ...cat, tagging: "team=red&size=s" },
    ],
    ["s3:ExistingObjectTag/kind", "StringEquals", "cat", "getObject", cat, dog],
    ["s3:ExistingObjectTag/kind", "StringEquals", "cat", "deleteObject", cat, dog],
    ["s3:ExistingObjectTag/kind", "StringEquals", "cat", "putObjectAcl", cat, { bucket, key: "none" }],
    ["s3:VersionId", "StringEquals", "null", "getObject", { ...cat, versionId: "null" }, { ...cat, versionId: "1" }],
    [
      "s3:x-amz-copy-source",
      "StringLike",
      "photos/dog*",
      "copyObject",
      { ...cat, copySource: "/photos/dog%2Ejpg" },
      { ...cat, copySource: "photos/cat.jpg" },
    ],
    [
      "s3:x-amz-metadata-directive",
      "StringEquals",
      "REPLACE",
      "copyObject",
      { ...cat, copySource: "photos/dog.jpg", metadataDirective: "REPLACE" },
      { ...cat, copySource: "photos/dog.jpg" },
    ],
    [
      "s3:x-amz-object-ownership",
      "StringEquals",
      "ObjectWriter",
      "createBucket",
      { bucket: "new", objectOwnership: "ObjectWriter" },
      { bucket: "new", objectOwnership: "BucketOwnerPreferred" },
    ],
    [
      "s3:LocationConstraint",
      "StringEquals",
      "eu-west-1",
      "createBucket",
      { bucket: "new", createBucketConfiguration: { locationConstraint: "eu-west-1" } },
      { bucket: "new" },
    ],
    ["s3:object-lock-mode", "StringEquals", "GOVERNANCE", "putObject", { ...cat, objectLockMode: "GOVERNANCE" }, cat],
    [
      "s3:object-lock-mode",
      "StringEquals",
      "GOVERNANCE",
      "putObjectRetention",
      { ...cat, retention: { mode: "GOVERNANCE" } },
      { ...cat, retention: { mode: "COMPLIANCE" } },
    ],
    [
      "s3:object-lock-legal-hold",
      "StringEquals",
      "OFF",
      "putObjectLegalHold",
      { ...cat, legalHold: { status: "OFF" } },
      { ...cat, legalHold: { status: "ON" } },
    ],
    [
      "s3:object-lock-retain-until-date",
      "DateLessThan",
      "2030-01-01T00:00:00Z",
      "putObjectRetention",
      { ...cat, retention: { retainUntilDate: { seconds: 1_893_455_999n } } },
      { ...cat, retention: { retainUntilDate: { seconds: 1_893_456_000n } } },
    ],
    [
      "s3:object-lock-retain-until-date",
      "DateLessThan",
      "2030-01-01T00:00:00Z",
      "copyObject",
      { ...source, objectLockRetainUntilDate: { seconds: 1_893_455_999n } },
      { ...source, objectLockRetainUntilDate: { seconds: 1_893_456_000n } },
    ],
    [
      "s3:object-lock-retain-until-date",
      "Null",
      "true",
      "putObjectRetention",
      { ...cat, retention: { retainUntilDate: { seconds: 8_640_000_000_001n } } },
      { ...cat, retention: { retainUntilDate: { seconds: 8_640_000_000_000n } } },
    ],
    ["aws:RequestTag/team", "StringEquals", "red", "createBucket", tagged("red"), tagged("blue")],
    ["aws:TagKeys", "ForAnyValue:StringEquals", "team", "createBucket", tagged("red"), { bucket: "new" }],
    [
      "aws:RequestTag/team",
      "StringEquals",
      "red",
      "putBucketTagging",
      { bucket, tagging: { tagSet: [{ key: "team", value: "red" }] } },
      { bucket, tagging: { tagSet: [{ key: "team", value: "blue" }] } },
    ],
    ["s3:delimiter", "StringEquals", "/", "listObjects", { bucket, delimiter: "/" }, { bucket }],
    ["s3:delimiter", "StringEquals", "/", "listObjectVersions", { bucket, delimiter: "/" }, { bucket }],
    ["s3:delimiter", "StringEquals", "/", "listMultipartUploads", { bucket, delimiter: "/" }, { bucket }],
    ["s3:max-keys", "NumericLessThanEquals", "10", "listObjects", { bucket, maxKeys: 10 }, { bucket, maxKeys: 11 }],
    ["s3:max-keys", "NumericLessThanEquals", "10", "listObjectVersions", { bucket, maxKeys: 10 }, { bucket }],
    ...creations.flatMap(([name, own]): AnyRow[] => [
      ["s3:x-amz-acl", "StringEquals", "private", name, { ...own, acl: "private" }, { ...own, acl: "public-read" }],
      ["s3:x-amz-grant-full-control", "StringEquals", "id=1", name, { ...own, grantFullControl: "id=1" }, own],
      ["s3:x-amz-grant-read", "StringEquals", "id=1", name, { ...own, grantRead: "id=1" }, own],
      ["s3:x-amz-grant-read-acp", "StringEquals", "id=1", name, { ...own, grantReadAcp: "id=1" }, own],
      ["s3:x-amz-grant-write-acp", "StringEquals", "id=1", name, { ...own, grantWriteAcp: "id=1" }, own],
    ]),
    ["s3:x-amz-grant-write", "StringEquals", "id=1", "createBucket", { bucket, grantWrite: "id=1" }, { bucket }],
    ["s3:x-amz-grant-write", "StringEquals", "id=1", "putBucketAcl", { bucket, grantWrite: "id=1" }, { bucket }],
    ...writes.flatMap(([name, own]): AnyRow[] => [
      ["s3:x-amz-storage-class", "StringEquals", "GLACIER", name, { ...own, storageClass: "GLACIER" }, own],
      [
        "s3:x-amz-server-side-encryption",
        "StringEquals",
        "aws:kms",
        name,
        { ...own, serverSideEncryption: KMS },
        { ...own, serverSideEncryption: AES256 },
      ],
      [
        "s3:x-amz-server-side-encryption-aws-kms-key-id",
        "StringEquals",
        "k",
        name,
        { ...own, sseKmsKeyId: "k" },
        { ...own, sseKmsKeyId: "l" },
      ],
      ["s3:object-lock-legal-hold", "StringEquals", "ON", name, { ...own, objectLockLegalHoldStatus: "ON" }, own],
      ["s3:RequestObjectTag/team", "StringEquals", "red", name, { ...own, tagging: "team=red" }, own],
    ]),
    [
      "s3:x-amz-copy-source",
      "StringLike",
      "photos/dog*",
      "uploadPartCopy",
      { ...cat, copySource: "photos/dog.jpg" },
      { ...cat, copySource: "photos/cat.jpg" },
    ],
  ])("%s %s %j of %s", async (key, operator, value, name, holds, fails) => {
    const harness = await startWithBucket();
    const { app } = harness.opened;
    await put(harness, { ...cat, tagging: "kind=cat" }, "meow");
    await put(harness, { ...dog, tagging: "kind=dog" }, "woof");
    const statement = { Effect: "Allow", Action: "s3:*", Resource: "*", Condition: { [operator]: { [key]: value } } };
    const user = usersOfAlice(statement);
    expect(await admissionOf(app, name, holds as never, user)).toBe("answered");
    expect(await admissionOf(app, name, fails as never, user)).toBe("ACCESS_DENIED");
  });
});

describe("a condition on the version", () => {
  const versions = (...values: readonly string[]) => ({ StringEquals: { "s3:VersionId": values } });
  const everything = { Effect: "Allow", Action: "s3:*", Resource: "*" };

  test("of a copy's source holds for the version that is read", async () => {
    const { app } = (await startWithBucket()).opened;
    const kept = { Effect: "Deny", Action: "s3:GetObjectVersion", Resource: "*", Condition: versions("null") };
    const user = usersOfAlice(everything, kept);
    const from = (version: string) => ({ ...cat, copySource: `photos/dog.jpg?versionId=${version}` });
    expect(await admissionOf(app, "copyObject", from("null"), user)).toBe("ACCESS_DENIED");
    expect(await admissionOf(app, "copyObject", from("1"), user)).toBe("answered");
    expect(await admissionOf(app, "copyObject", source, user)).toBe("answered");
  });

  test("holds for each object of a batch by itself", async () => {
    const { app } = (await startWithBucket()).opened;
    const kept = { Effect: "Deny", Action: "s3:DeleteObjectVersion", Resource: "*", Condition: versions("1", "3") };
    const objects = ["1", "2", "3"].map((versionId) => ({ key: "cat.jpg", versionId }));
    const refused = await refusedOf(app, { bucket, delete: { objects } }, usersOfAlice(everything, kept));
    expect(refused).toEqual([0, 2]);
  });
});

test("a condition on the days that a lock remains counts from the time of the service", async () => {
  const clock = new FakeClock(Date.UTC(2026, 0, 1));
  const { app } = (await startWithBucket({ clock })).opened;
  const Condition = { NumericLessThanEquals: { "s3:object-lock-remaining-retention-days": "10" } };
  const user = usersOfAlice({ Effect: "Allow", Action: "s3:*", Resource: "*", Condition });
  const until = (ms: number) => ({ ...cat, retention: { retainUntilDate: { seconds: BigInt(ms / 1000) } } });
  expect(await admissionOf(app, "putObjectRetention", until(Date.UTC(2026, 0, 11)), user)).toBe("answered");
  expect(await admissionOf(app, "putObjectRetention", until(Date.UTC(2026, 0, 11, 0, 0, 1)), user)).toBe(
    "ACCESS_DENIED",
  );
});

describe("a condition on the caller", () => {
  test.each<readonly [string, string, string, Partial<Caller>, Partial<Caller>]>([
    // key, operator, value, facts of the call with which it holds, with which it does not
    ["aws:SourceIp", "IpAddress", "192.0.2.0/24", { sourceIp: "192.0.2.7" }, { sourceIp: "198.51.100.7" }],
    ["aws:SecureTransport", "Bool", "true", { isSecureTransport: true }, { isSecureTransport: false }],
    ["s3:TlsVersion", "NumericGreaterThanEquals", "1.3", { tlsVersion: "1.3" }, { tlsVersion: "1.2" }],
    ["aws:MultiFactorAuthPresent", "BoolIfExists", "true", {}, { tokenIssueTimeMs: 1 }],
    ["aws:UserAgent", "StringLike", "aws-cli/*", { userAgent: "aws-cli/2" }, { userAgent: "curl" }],
    ["aws:Referer", "StringLike", "https://a/*", { referer: "https://a/b" }, { referer: "https://b/" }],
    ["s3:authType", "StringEquals", "REST-HEADER", { authType: "REST-HEADER" }, { authType: "REST-QUERY-STRING" }],
    ["s3:signatureversion", "StringEquals", "AWS4-HMAC-SHA256", { signatureVersion: "AWS4-HMAC-SHA256" }, {}],
    ["s3:signatureAge", "NumericLessThan", "600000", { signatureAgeMs: 599_999 }, { signatureAgeMs: 600_000 }],
    ["aws:PrincipalTag/team", "StringEquals", "red", { principalTags: { team: "red" } }, { principalTags: {} }],
  ])("%s %s %s", async (key, operator, value, holds, fails) => {
    const harness = await startWithBucket();
    const { app } = harness.opened;
    const statement = anybodyWith({ Action: "s3:PutObject", Condition: { [operator]: { [key]: value } } });
    await harness.client.putBucketPolicy({ bucket, policy: policyOf(statement) }, as(alice));
    expect(await admissionOf(app, "putObject", cat, { ...usersOfAlice(), ...holds })).toBe("answered");
    expect(await admissionOf(app, "putObject", cat, { ...usersOfAlice(), ...fails })).toBe("ACCESS_DENIED");
  });

  test.each([
    // key, value, outcome
    ["aws:RequestedRegion", "us-east-1", "answered"],
    ["aws:RequestedRegion", "eu-west-1", "ACCESS_DENIED"],
    ["aws:PrincipalIsAWSService", "false", "answered"],
    ["aws:ViaAWSService", "false", "answered"],
  ])("%s is %s: %s", async (key, value, outcome) => {
    const { app } = (await startWithBucket()).opened;
    const Condition = { StringEquals: { [key]: value } };
    const user = usersOfAlice({ Effect: "Allow", Action: "s3:*", Resource: "*", Condition });
    expect(await admissionOf(app, "putObject", cat, user)).toBe(outcome);
  });

  test("aws:CurrentTime is the time of the service", async () => {
    const clock = new FakeClock(Date.UTC(2026, 0, 2, 3, 4, 5));
    const harness = await startWithBucket({ clock });
    const { app } = harness.opened;
    const Condition = { DateLessThan: { "aws:CurrentTime": "2026-01-02T03:05:00Z" } };
    const user = usersOfAlice({ Effect: "Allow", Action: "s3:*", Resource: "*", Condition });
    expect(await admissionOf(app, "putObject", cat, user)).toBe("answered");
    clock.advance(55_000);
    expect(await admissionOf(app, "putObject", cat, user)).toBe("ACCESS_DENIED");
  });
});

describe("a key in a policy", () => {
  const reading = (resource: string) => usersOfAlice({ Effect: "Allow", Action: "s3:GetObject", Resource: resource });

  test.each([
    // resource, key, outcome
    ["arn:aws:s3:::photos/a*", "a/../b", "answered"],
    ["arn:aws:s3:::photos/b", "a/../b", "ACCESS_DENIED"],
    ["arn:aws:s3:::photos//a", "/a", "answered"],
    ["arn:aws:s3:::photos/a", "/a", "ACCESS_DENIED"],
    ["arn:aws:s3:::photos/a//b", "a//b", "answered"],
    ["arn:aws:s3:::photos/a/b", "a//b", "ACCESS_DENIED"],
    ["arn:aws:s3:::photos/a%20b", "a b", "ACCESS_DENIED"],
    ["arn:aws:s3:::photos/a b", "a b", "answered"],
    ["arn:aws:s3:::photos/a:b:c", "a:b:c", "answered"],
    ["arn:aws:s3:::photos/a:*", "a:b:c", "answered"],
    ["arn:aws:s3:::photos/?", "é", "answered"],
    ["arn:aws:s3:::photos/\u{1F600}", "\u{1F600}", "answered"],
    ["arn:aws:s3:::photos/a\\*", "a*", "ACCESS_DENIED"],
    ["arn:aws:s3:::photos/${*}", "*", "answered"],
    ["arn:aws:s3:::photos/${*}", "x", "ACCESS_DENIED"],
    ["arn:aws:s3:::photos/${aws:username}/*", "carol/a", "answered"],
    ["arn:aws:s3:::photos/${aws:username}/*", "dave/a", "ACCESS_DENIED"],
    ["arn:svc:object-storage:::photos/a", "a", "answered"],
    ["arn:aws:s3:::PHOTOS/a", "a", "ACCESS_DENIED"],
  ])("%s and the key %j: %s", async (resource, key, outcome) => {
    const { app } = (await startWithBucket()).opened;
    expect(await admissionOf(app, "getObject", { bucket, key }, reading(resource))).toBe(outcome);
  });
});
