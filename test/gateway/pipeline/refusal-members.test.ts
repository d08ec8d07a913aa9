import { createHash } from "node:crypto";

import { afterAll, beforeAll, expect, test } from "vitest";

import type { TestRequest } from "../support/signing-client.ts";
import type { StorageFixture } from "../support/storage-fixture.ts";
import { startStorageFixture } from "../support/storage-fixture.ts";

let storage: StorageFixture;
beforeAll(async () => {
  storage = await startStorageFixture();
  await storage.call({ method: "PUT", target: "/photos" });
  await storage.call({
    method: "PUT",
    target: "/photos?versioning",
    body: "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>",
  });
});
afterAll(() => storage.stop());

/** The members of an error besides those that each has, in order. */
const membersOf = (body: string): string[] =>
  [...body.matchAll(/<(?!Error>|\?)([\w-]+)>([^<]*)</g)]
    .map(([, name = "", value = ""]) => `${name}=${value}`)
    .filter((member) => !/^(?:Message|Resource|RequestId|HostId)=/.test(member));

test.each<[TestRequest, string[]]>([
  // request, code and further members
  [{ method: "PATCH", target: "/" }, ["Code=MethodNotAllowed", "Method=PATCH", "ResourceType=SERVICE"]],
  [{ method: "PATCH", target: "/photos" }, ["Code=MethodNotAllowed", "Method=PATCH", "ResourceType=BUCKET"]],
  [{ method: "PATCH", target: "/photos/cat/1" }, ["Code=MethodNotAllowed", "Method=PATCH", "ResourceType=OBJECT"]],
  [{ method: "GET", target: "/nothing" }, ["Code=NoSuchBucket", "BucketName=nothing"]],
  [{ method: "GET", target: "/photos?policy" }, ["Code=NoSuchBucketPolicy", "BucketName=photos"]],
  [{ method: "GET", target: "/photos?tagging" }, ["Code=NoSuchTagSet", "BucketName=photos"]],
  [{ method: "GET", target: "/photos/none" }, ["Code=NoSuchKey", "Key=none"]],
  [{ method: "PUT", target: "/photos/a?tagging", body: "<Tagging><TagSet/></Tagging>" }, ["Code=NoSuchKey", "Key=a"]],
  [
    {
      method: "PUT",
      target: "/photos?tagging",
      body: "<Tagging><TagSet><Tag><Key>k</Key><Value>%</Value></Tag></TagSet></Tagging>",
    },
    ["Code=InvalidTag", "TagKey=k", "TagValue=%"],
  ],
  [
    {
      method: "PUT",
      target: "/photos/cat",
      headers: { "x-amz-server-side-encryption-customer-algorithm": "AES128" },
      body: "meow",
    },
    [
      "Code=InvalidEncryptionAlgorithmError",
      "ArgumentName=x-amz-server-side-encryption-customer-algorithm",
      "ArgumentValue=AES128",
    ],
  ],
])("%o is refused with the members %j", async (request, members) => {
  expect(membersOf((await storage.call(request)).body)).toEqual(members);
});

test.each([
  // subresource, document
  ["ownershipControls", "<OwnershipControls><Rule><ObjectOwnership>Mine</ObjectOwnership></Rule></OwnershipControls>"],
  [
    "encryption",
    "<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>rot13</SSEAlgorithm></ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>",
  ],
  ["versioning", "<VersioningConfiguration><Status>Perhaps</Status></VersioningConfiguration>"],
  ["cors", "<CORSConfiguration><CORSRule><MaxAgeSeconds>soon</MaxAgeSeconds></CORSRule></CORSConfiguration>"],
])("a document of %s with a value that is none is MalformedXML", async (subresource, body) => {
  const refused = await storage.call({ method: "PUT", target: `/photos?${subresource}`, body });
  expect(membersOf(refused.body)).toEqual(["Code=MalformedXML"]);
});

test("a version that is a delete marker is refused with the method and what it is", async () => {
  const { headers } = await storage.call({ method: "DELETE", target: "/photos/dog" });
  const refused = await storage.call({
    method: "GET",
    target: `/photos/dog?versionId=${String(headers["x-amz-version-id"])}`,
  });
  expect(refused.status).toBe(405);
  expect(membersOf(refused.body)).toEqual(["Code=MethodNotAllowed", "Method=GET", "ResourceType=DeleteMarker"]);
});

test("parts that are missing or not in order are refused with the upload", async () => {
  const { body } = await storage.call({ method: "POST", target: "/photos/film?uploads" });
  const uploadId = /<UploadId>([^<]+)</.exec(body)?.[1] ?? "";
  const complete = (...parts: readonly number[]) =>
    storage.call({
      method: "POST",
      target: `/photos/film?uploadId=${uploadId}`,
      body: `<CompleteMultipartUpload>${parts
        .map((number) => `<Part><PartNumber>${number}</PartNumber><ETag>e</ETag></Part>`)
        .join("")}</CompleteMultipartUpload>`,
    });
  expect(membersOf((await complete(1)).body)).toEqual([
    "Code=InvalidPart",
    "ETag=e",
    "PartNumber=1",
    `UploadId=${uploadId}`,
  ]);
  expect(membersOf((await complete(2, 1)).body)).toEqual(["Code=InvalidPartOrder", `UploadId=${uploadId}`]);
});

test.each([
  // origin's bucket, members
  ["/photos", ["Code=AccessForbidden", "Method=PUT", "ResourceType=BUCKET"]],
  ["/photos/cat", ["Code=AccessForbidden", "Method=PUT", "ResourceType=OBJECT"]],
  ["/nothing", ["Code=AccessForbidden", "Method=PUT", "ResourceType=BUCKET"]],
])("a preflight request for %s without rules is refused with %j", async (target, members) => {
  const headers = { origin: "https://ada.example", "access-control-request-method": "PUT" };
  expect(membersOf((await storage.call({ method: "OPTIONS", target, headers })).body)).toEqual(members);
});

test("an empty document with the hash of another one is refused for its hash", async () => {
  const declared = createHash("sha256").update("<Tagging/>").digest("hex");
  const headers = { "x-amz-content-sha256": declared };
  const refused = await storage.call({ method: "PUT", target: "/photos?tagging", headers });
  expect(membersOf(refused.body)).toEqual([
    "Code=XAmzContentSHA256Mismatch",
    `ClientComputedContentSHA256=${declared}`,
    "S3ComputedContentSHA256=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  ]);
});
