import { expect, test } from "vitest";

import { anonymousCaller } from "../../../services/kit/identity/caller.ts";
import { alice, as, bob, put, startWithBucket } from "../harness.ts";
import { aliceRoot, allowancesOf, bobRoot, policyOf, refusalsOf } from "./in-process.ts";

const bucket = "photos";
const everybody = { Effect: "Allow", Principal: "*" };
const policy = policyOf(
  { ...everybody, Action: ["s3:GetObject", "s3:PutObject"], Resource: "arn:aws:s3:::photos/*" },
  { ...everybody, Action: ["s3:GetBucketPolicy", "s3:PutBucketPolicy"], Resource: "arn:aws:s3:::photos" },
);

test("refusals that no policy decides are recorded with the rule that refuses", async () => {
  const harness = await startWithBucket({ objectOwnership: "ObjectWriter" });
  const { client, opened } = harness;
  const { app } = opened;
  await put(harness, { bucket, key: "cat.jpg" }, "a cat");
  await client.putBucketPolicy({ bucket, policy }, as(alice));

  const owned = { bucket, expectedBucketOwner: bob };
  expect(await refusalsOf(app, "headBucket", owned, aliceRoot)).toEqual([
    "ACCESS_DENIED",
    "s3:HeadBucket arn:aws:s3:::photos expected-owner",
  ]);
  const copy = { bucket, key: "copy.jpg", copySource: "photos/cat.jpg" };
  expect(await refusalsOf(app, "copyObject", copy, anonymousCaller)).toEqual([
    "ACCESS_DENIED",
    "s3:GetObject arn:aws:s3:::photos/cat.jpg unsigned-copy",
  ]);
  expect(await refusalsOf(app, "getObject", { bucket, key: "dog.jpg" }, anonymousCaller)).toEqual([
    "ACCESS_DENIED",
    "s3:ListBucket arn:aws:s3:::photos no-listing",
  ]);
  expect(await refusalsOf(app, "getBucketPolicy", { bucket }, bobRoot)).toEqual([
    "METHOD_NOT_ALLOWED",
    "s3:GetBucketPolicy arn:aws:s3:::photos owner-account",
  ]);
  const othersAcl = { bucket, accessControlPolicy: { grants: [], owner: { id: app.canonicalUserId(bob) } } };
  expect(await refusalsOf(app, "putBucketAcl", othersAcl, aliceRoot)).toEqual([
    "ACCESS_DENIED",
    "s3:PutBucketAcl arn:aws:s3:::photos acl-owner",
  ]);

  await client.putPublicAccessBlock(
    { bucket, publicAccessBlockConfiguration: { blockPublicAcls: true, blockPublicPolicy: true } },
    as(alice),
  );
  expect(await refusalsOf(app, "putBucketPolicy", { bucket, policy }, aliceRoot)).toEqual([
    "ACCESS_DENIED",
    "s3:PutBucketPolicy arn:aws:s3:::photos public-access-block",
  ]);
  expect(await refusalsOf(app, "putBucketAcl", { bucket, acl: "public-read" }, aliceRoot)).toEqual([
    "ACCESS_DENIED",
    "s3:PutBucketAcl arn:aws:s3:::photos public-access-block",
  ]);

  const requestPaymentConfiguration = { payer: "Requester" };
  await client.putBucketRequestPayment({ bucket, requestPaymentConfiguration }, as(alice));
  expect(await refusalsOf(app, "getObject", { bucket, key: "cat.jpg" }, bobRoot)).toEqual([
    "ACCESS_DENIED",
    "s3:GetObject arn:aws:s3:::photos/cat.jpg requester-pays",
  ]);
});

test("a public bucket that may not be created is recorded", async () => {
  const { opened } = await startWithBucket({ objectOwnership: "ObjectWriter", publicBuckets: "block" });
  expect(await refusalsOf(opened.app, "createBucket", { bucket: "films", acl: "public-read" }, aliceRoot)).toEqual([
    "ACCESS_DENIED",
    "s3:PutBucketAcl arn:aws:s3:::films public-access-block",
  ]);
});

test("what the owner's root changes is recorded, and what it reads is not", async () => {
  const harness = await startWithBucket({});
  const { app } = harness.opened;
  expect(
    await allowancesOf(app, "putObjectTagging", { bucket, key: "cat.jpg", tagging: { tagSet: [] } }, aliceRoot),
  ).toEqual(["NO_SUCH_KEY", "s3:PutObjectTagging arn:aws:s3:::photos/cat.jpg owner"]);
  expect(await allowancesOf(app, "headBucket", { bucket }, aliceRoot)).toEqual(["answered"]);
});
