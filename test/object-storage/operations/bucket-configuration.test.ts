import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import type { CorsRuleSchema } from "../../../gen/quartet/objectstorage/v1/cors_pb.ts";
import { ErrorReasonSchema } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { faultTable } from "../../../services/kit/faults/service-error.ts";
import type { Harness } from "../harness.ts";
import { alice, as, bob, metadataOf, refusalOf, startWithBucket } from "../harness.ts";

type Rule = MessageInitShape<typeof CorsRuleSchema>;

const bucket = "photos";
const plain: Rule = { allowedMethods: ["GET"], allowedOrigins: ["https://ada.example"] };
const tags = (count: number) => Array.from({ length: count }, (_, index) => ({ key: `key ${index}`, value: "" }));

describe("putBucketCors", () => {
  test("is read back as it was put, replaces what was there, and is gone after its deletion", async () => {
    const { client } = await startWithBucket();
    const everything: Rule = {
      id: "readers",
      allowedMethods: ["GET", "PUT", "HEAD", "POST", "DELETE"],
      allowedOrigins: ["https://*.ada.example", "*"],
      allowedHeaders: ["x-amz-*", "content-type"],
      exposeHeaders: ["ETag"],
      maxAgeSeconds: 600,
    };
    const nobody: Rule = { allowedMethods: ["GET"], allowedOrigins: [""] };
    const corsconfiguration = { corsrules: [everything, plain, nobody] };
    await client.putBucketCors({ bucket, corsconfiguration: { corsrules: [plain] } }, as(alice));
    await client.putBucketCors({ bucket, corsconfiguration }, as(alice));
    const { corsrules } = await client.getBucketCors({ bucket }, as(alice));
    expect(corsrules).toMatchObject([everything, plain, nobody]);

    await client.deleteBucketCors({ bucket }, as(alice));
    await client.deleteBucketCors({ bucket }, as(alice));
    expect(await refusalOf(client.getBucketCors({ bucket }, as(alice)))).toBe("NO_SUCH_CORS_CONFIGURATION");
    expect(await metadataOf(client.getBucketCors({ bucket }, as(alice)))).toEqual({ bucket_name: "photos" });
  });

  test.each<[Rule[], string]>([
    // rules, refusal; in the order of refusal
    [[], "MALFORMED_XML"],
    [[{ allowedMethods: ["GET"] }], "MALFORMED_XML"],
    [[plain, { allowedOrigins: ["*"] }], "MALFORMED_XML"],
    [[{ ...plain, exposeHeaders: ["a".repeat(70_000)] }], "MESSAGE_TOO_LARGE"],
    [
      Array.from({ length: 101 }, () => plain),
      "INVALID_REQUEST: The number of CORS rules should not exceed allowed limit of 100 rules.",
    ],
    [[{ ...plain, id: "a".repeat(256) }], "INVALID_ARGUMENT: The ID of a rule must not exceed 255 characters."],
    [
      [{ ...plain, allowedMethods: ["GET", "PATCH"] }],
      "INVALID_REQUEST: Found unsupported HTTP method in CORS config. Unsupported method is PATCH",
    ],
    [
      [{ ...plain, allowedOrigins: ["https://*.*"] }],
      'INVALID_REQUEST: AllowedOrigin "https://*.*" can not have more than one wildcard.',
    ],
    [
      [{ ...plain, allowedOrigins: ["https://a\r\nset-cookie: b"] }],
      'INVALID_REQUEST: AllowedOrigin "https://a\r\nset-cookie: b" cannot be compared with a header.',
    ],
    [
      [{ ...plain, allowedHeaders: ["*-*"] }],
      'INVALID_REQUEST: AllowedHeader "*-*" can not have more than one wildcard.',
    ],
    [
      [{ ...plain, exposeHeaders: ["x-*"] }],
      'INVALID_REQUEST: ExposeHeader "x-*" contains wildcard. We currently do not support wildcard for ExposeHeader.',
    ],
    [[{ ...plain, exposeHeaders: ["a b"] }], 'INVALID_REQUEST: ExposeHeader "a b" is not a header name.'],
    [[{ ...plain, maxAgeSeconds: -1 }], "INVALID_ARGUMENT: MaxAgeSeconds must not be negative."],
  ])("refuses the rules $0 with $1", async (corsrules, refusal) => {
    const { client } = await startWithBucket();
    const call = client.putBucketCors({ bucket, corsconfiguration: { corsrules } }, as(alice));
    expect(await refusalOf(call)).toBe(refusal);
  });

  test("says how large rules may be", async () => {
    const { client } = await startWithBucket();
    const corsrules = [{ ...plain, exposeHeaders: ["a".repeat(70_000)] }];
    const call = client.putBucketCors({ bucket, corsconfiguration: { corsrules } }, as(alice));
    expect(await metadataOf(call)).toEqual({ limit_bytes: "65536" });
  });

  test("takes 100 rules", async () => {
    const { client } = await startWithBucket();
    const corsrules = Array.from({ length: 100 }, () => plain);
    await client.putBucketCors({ bucket, corsconfiguration: { corsrules } }, as(alice));
    expect((await client.getBucketCors({ bucket }, as(alice))).corsrules).toHaveLength(100);
  });
});

describe("putBucketTagging", () => {
  test("is read back, replaces the tags that the bucket was made with, and is gone after its deletion", async () => {
    const { client } = await startWithBucket();
    const createBucketConfiguration = { tags: [{ key: "team", value: "red" }] };
    await client.createBucket({ bucket: "tagged", createBucketConfiguration }, as(alice));
    const read = async () => (await client.getBucketTagging({ bucket: "tagged" }, as(alice))).tagSet;
    expect(await read()).toMatchObject([{ key: "team", value: "red" }]);

    await client.putBucketTagging(
      { bucket: "tagged", tagging: { tagSet: [{ key: "team", value: "blue" }] } },
      as(alice),
    );
    expect(await read()).toMatchObject([{ key: "team", value: "blue" }]);

    await client.deleteBucketTagging({ bucket: "tagged" }, as(alice));
    expect(await refusalOf(client.getBucketTagging({ bucket: "tagged" }, as(alice)))).toBe("NO_SUCH_TAG_SET");
    await client.deleteBucket({ bucket: "tagged" }, as(alice));
    await client.createBucket({ bucket: "tagged" }, as(alice));
    expect(await refusalOf(client.getBucketTagging({ bucket: "tagged" }, as(alice)))).toBe("NO_SUCH_TAG_SET");
  });

  test("removes all tags with an empty set", async () => {
    const { client } = await startWithBucket();
    await client.putBucketTagging({ bucket, tagging: { tagSet: [{ key: "team" }] } }, as(alice));
    await client.putBucketTagging({ bucket, tagging: { tagSet: [] } }, as(alice));
    expect(await refusalOf(client.getBucketTagging({ bucket }, as(alice)))).toBe("NO_SUCH_TAG_SET");
  });

  test.each([
    // tags, reason
    [tags(50), "answered"],
    [tags(51), "INVALID_TAG: The tags of a resource cannot be more than 50"],
    [[{ key: "a" }, { key: "a" }], "INVALID_TAG: Cannot provide multiple Tags with the same key"],
    [[{ value: "no key" }], "INVALID_TAG: The TagKey you have provided is invalid"],
    [[{ key: "aws:team" }], "INVALID_TAG: System tags cannot be added or updated by the requester"],
  ])("a request with the tags $0 ends as $1", async (tagSet, reason) => {
    const { client } = await startWithBucket();
    expect(await refusalOf(client.putBucketTagging({ bucket, tagging: { tagSet } }, as(alice)))).toBe(reason);
  });
});

test("putBucketCors and putBucketTagging check the access before the document", async () => {
  const { client } = await startWithBucket();
  const corsconfiguration = { corsrules: [{ ...plain, maxAgeSeconds: -1 }] };
  const tagging = { tagSet: [{ key: "aws:team" }] };
  expect(await refusalOf(client.putBucketCors({ bucket: "unknown", corsconfiguration }, as(alice)))).toBe(
    "NO_SUCH_BUCKET",
  );
  expect(await refusalOf(client.putBucketCors({ bucket, corsconfiguration }, as(bob)))).toBe("ACCESS_DENIED");
  expect(await refusalOf(client.putBucketTagging({ bucket: "unknown", tagging }, as(alice)))).toBe("NO_SUCH_BUCKET");
  expect(await refusalOf(client.putBucketTagging({ bucket, tagging }, as(bob)))).toBe("ACCESS_DENIED");
});

test("configurations that nothing changes have one state", async () => {
  const { client } = await startWithBucket();
  expect(await client.getBucketRequestPayment({ bucket }, as(alice))).toMatchObject({ payer: "BucketOwner" });
  expect((await client.getBucketVersioning({ bucket }, as(alice))).status).toBeUndefined();
  expect((await client.getBucketAccelerateConfiguration({ bucket }, as(alice))).status).toBeUndefined();
  expect((await client.getBucketLogging({ bucket }, as(alice))).loggingEnabled).toBeUndefined();
  expect((await client.getBucketOwnershipControls({ bucket }, as(alice))).ownershipControls?.rules).toMatchObject([
    { objectOwnership: "BucketOwnerEnforced" },
  ]);
});

const absences = [
  // operation, reason, outside name
  ["getBucketPolicy", "NO_SUCH_BUCKET_POLICY", "NoSuchBucketPolicy"],
  ["getBucketPolicyStatus", "NO_SUCH_BUCKET_POLICY", "NoSuchBucketPolicy"],
  ["getPublicAccessBlock", "NO_SUCH_PUBLIC_ACCESS_BLOCK_CONFIGURATION", "NoSuchPublicAccessBlockConfiguration"],
  ["getBucketLifecycle", "NO_SUCH_LIFECYCLE_CONFIGURATION", "NoSuchLifecycleConfiguration"],
  ["getBucketLifecycleConfiguration", "NO_SUCH_LIFECYCLE_CONFIGURATION", "NoSuchLifecycleConfiguration"],
  ["getBucketWebsite", "NO_SUCH_WEBSITE_CONFIGURATION", "NoSuchWebsiteConfiguration"],
  ["getBucketReplication", "REPLICATION_CONFIGURATION_NOT_FOUND", "ReplicationConfigurationNotFoundError"],
  ["getObjectLockConfiguration", "OBJECT_LOCK_CONFIGURATION_NOT_FOUND", "ObjectLockConfigurationNotFoundError"],
] as const;

test.each(absences)("%s is refused with %s, outside %s", async (name, reason, outsideName) => {
  const { client } = await startWithBucket();
  expect(await refusalOf(client[name]({ bucket: "photos" }, as(alice)))).toBe(reason);
  expect(await metadataOf(client[name]({ bucket: "photos" }, as(alice)))).toEqual({ bucket_name: "photos" });
  expect(faultTable(ErrorReasonSchema).findByReason(reason)).toMatchObject({ name: outsideName, httpStatus: 404 });
});

test.each([
  "deleteBucketPolicy",
  "deleteBucketEncryption",
  "deletePublicAccessBlock",
  "deleteBucketLifecycle",
  "deleteBucketWebsite",
  "deleteBucketReplication",
] as const)("%s succeeds, and again", async (name) => {
  const { client } = await startWithBucket();
  expect(await refusalOf(client[name]({ bucket: "photos" }, as(alice)))).toBe("answered");
  expect(await refusalOf(client[name]({ bucket: "photos", expectedBucketOwner: alice }, as(alice)))).toBe("answered");
});

describe("putBucketWebsite", () => {
  const put = (harness: Harness, websiteConfiguration: object | undefined) =>
    refusalOf(
      harness.client.putBucketWebsite(
        { bucket: "photos", ...(websiteConfiguration && { websiteConfiguration }) },
        as(alice),
      ),
    );
  const index = { suffix: "index.html" };

  test("is read back as it was put, replaces what was there, and is gone after its deletion", async () => {
    const harness = await startWithBucket();
    const read = () => harness.client.getBucketWebsite({ bucket: "photos" }, as(alice));
    const website = {
      indexDocument: index,
      errorDocument: { key: "error.html" },
      routingRules: [
        {
          condition: { keyPrefixEquals: "docs/", httpErrorCodeReturnedEquals: "404" },
          redirect: { replaceKeyPrefixWith: "documents/", httpRedirectCode: "302", protocol: "https" },
        },
      ],
    };
    expect(await put(harness, website)).toBe("answered");
    expect(await read()).toMatchObject(website);
    const redirectAllRequestsTo = { hostName: "example.com", protocol: "https" };
    expect(await put(harness, { redirectAllRequestsTo })).toBe("answered");
    expect(await read()).toMatchObject({ redirectAllRequestsTo, routingRules: [] });
    expect((await read()).indexDocument).toBeUndefined();
    await harness.client.deleteBucketWebsite({ bucket: "photos" }, as(alice));
    expect(await refusalOf(read())).toBe("NO_SUCH_WEBSITE_CONFIGURATION");
  });

  const rule = (condition: object | undefined, redirect: object | undefined) => ({
    indexDocument: index,
    routingRules: [{ ...(condition && { condition }), ...(redirect && { redirect }) }],
  });
  test.each([
    // website, reason; in the order of refusal
    [rule({}, undefined), /^MALFORMED_XML$/],
    [{ redirectAllRequestsTo: {}, indexDocument: index }, /^MALFORMED_XML$/],
    [{ redirectAllRequestsTo: { hostName: "h" }, indexDocument: index }, /^INVALID_REQUEST: RedirectAllRequestsTo can/],
    [{ redirectAllRequestsTo: { hostName: "h", protocol: "ftp" } }, /^INVALID_REQUEST: Invalid protocol/],
    [{}, /^INVALID_ARGUMENT: A value for IndexDocument Suffix must be provided/],
    [{ indexDocument: {} }, /^INVALID_ARGUMENT: The IndexDocument Suffix is not well formed/],
    [{ indexDocument: { suffix: "a/b" } }, /^INVALID_ARGUMENT: The IndexDocument Suffix is not well formed/],
    [{ indexDocument: index, errorDocument: {} }, /^INVALID_ARGUMENT: The ErrorDocument Key is not well formed/],
    [
      { indexDocument: index, routingRules: Array.from({ length: 51 }, () => ({ redirect: {} })) },
      /^INVALID_REQUEST: 51 routing rules provided/,
    ],
    [rule({}, {}), /^INVALID_REQUEST: Condition cannot be empty/],
    [rule({ httpErrorCodeReturnedEquals: "302" }, {}), /^INVALID_REQUEST: The provided HTTP error code \(302\)/],
    [rule(undefined, { replaceKeyWith: "a", replaceKeyPrefixWith: "b" }), /^INVALID_REQUEST: You can only define/],
    [rule(undefined, { protocol: "ftp" }), /^INVALID_REQUEST: Invalid protocol/],
    [rule(undefined, { httpRedirectCode: "300" }), /^INVALID_REQUEST: The provided HTTP redirect code \(300\)/],
  ])("%o is refused with %s", async (website, reason) => {
    expect(await put(await startWithBucket(), website)).toMatch(reason);
  });
});

describe("putBucketAccelerateConfiguration", () => {
  test.each([
    // bucket, configuration, outcome, what is read then
    ["photos", { status: "Enabled" }, "answered", "Enabled"],
    ["photos", { status: "Suspended" }, "answered", "Suspended"],
    ["photos", { status: "enabled" }, "MALFORMED_XML", undefined],
    ["photos", {}, "MALFORMED_XML", undefined],
    [
      "my.photos",
      { status: "Enabled" },
      "INVALID_REQUEST: S3 Transfer Acceleration is not supported for buckets with periods (.) in their names",
      undefined,
    ],
  ])("of %s with %o ends as %s", async (name, accelerateConfiguration, outcome, status) => {
    const { client } = await startWithBucket();
    await client.createBucket({ bucket: "my.photos" }, as(alice));
    const call = client.putBucketAccelerateConfiguration({ bucket: name, accelerateConfiguration }, as(alice));
    expect(await refusalOf(call)).toBe(outcome);
    expect((await client.getBucketAccelerateConfiguration({ bucket: name }, as(alice))).status).toBe(status);
  });
});
