import { describe, expect, test } from "vitest";

import { alice, as, bob, put, refusalOf, startHarness, startWithBucket } from "../harness.ts";

const bucket = "photos";
const controls = (objectOwnership: string) => ({ bucket, ownershipControls: { rules: [{ objectOwnership }] } });

describe("ownership controls", () => {
  test("are those of the installation until they are put, and are gone after their deletion", async () => {
    const { client } = await startWithBucket();
    const read = async () => (await client.getBucketOwnershipControls({ bucket }, as(alice))).ownershipControls?.rules;
    expect(await read()).toMatchObject([{ objectOwnership: "BucketOwnerEnforced" }]);
    for (const mode of ["BucketOwnerEnforced", "ObjectWriter", "BucketOwnerPreferred", "BucketOwnerPreferred"]) {
      await client.putBucketOwnershipControls(controls(mode), as(alice));
      expect(await read()).toMatchObject([{ objectOwnership: mode }]);
    }
    for (let round = 0; round < 2; round += 1) {
      await client.deleteBucketOwnershipControls({ bucket }, as(alice));
      expect(await refusalOf(client.getBucketOwnershipControls({ bucket }, as(alice)))).toBe(
        "OWNERSHIP_CONTROLS_NOT_FOUND",
      );
    }
    expect(await refusalOf(client.putBucketAcl({ bucket, acl: "public-read" }, as(alice)))).toBe("answered");
  });

  test("of a new bucket are those that it is created with, or those of the installation", async () => {
    const { client } = await startHarness({ objectOwnership: "ObjectWriter" });
    await client.createBucket({ bucket: "photos" }, as(alice));
    await client.createBucket({ bucket: "strict", objectOwnership: "BucketOwnerEnforced" }, as(alice));
    const modeOf = async (name: string) =>
      (await client.getBucketOwnershipControls({ bucket: name }, as(alice))).ownershipControls?.rules[0]
        ?.objectOwnership;
    expect([await modeOf("photos"), await modeOf("strict")]).toEqual(["ObjectWriter", "BucketOwnerEnforced"]);
  });

  test.each([
    // request, the bucket's ACL, account, reason; in the order of refusal
    [{ ...controls("ObjectWriter"), bucket: "unknown" }, "private", alice, "NO_SUCH_BUCKET"],
    [{ bucket, ownershipControls: {} }, "private", bob, "ACCESS_DENIED"],
    [{ bucket, ownershipControls: {} }, "private", alice, "MALFORMED_XML"],
    [{ bucket, ownershipControls: { rules: [{}] } }, "private", alice, "MALFORMED_XML"],
    [
      { bucket, ownershipControls: { rules: [...controls("ObjectWriter").ownershipControls.rules, {}] } },
      "private",
      alice,
      "MALFORMED_XML",
    ],
    [controls("BucketOwnerEnforced"), "public-read", alice, "INVALID_BUCKET_ACL_WITH_OBJECT_OWNERSHIP"],
    [controls("BucketOwnerPreferred"), "public-read", alice, "answered"],
    [controls("BucketOwnerEnforced"), "private", alice, "answered"],
  ])("%j on a bucket with the ACL %s by %s ends as %s", async (request, acl, account, reason) => {
    const { client } = await startHarness({ objectOwnership: "ObjectWriter" });
    await client.createBucket({ bucket, acl }, as(alice));
    expect(await refusalOf(client.putBucketOwnershipControls(request, as(account)))).toBe(reason);
  });

  test("that are enforced make the bucket's owner the owner of what others wrote, until they are not", async () => {
    const harness = await startHarness({ objectOwnership: "ObjectWriter" });
    const { client } = harness;
    await client.createBucket({ bucket, acl: "public-read-write" }, as(alice));
    await put(harness, { bucket, key: "bobs" }, "x", {}, as(bob));
    await put(harness, { bucket, key: "nobodys" }, "x", {}, {});
    const owners = async () =>
      (await client.listObjectsV2({ bucket, fetchOwner: true }, as(alice))).contents.map(
        ({ owner }) => owner?.displayName,
      );
    const head = (account: string) => refusalOf(client.headObject({ bucket, key: "bobs" }, as(account)));
    expect(await owners()).toEqual([bob, alice]);
    expect([await head(alice), await head(bob)]).toEqual(["ACCESS_DENIED", "answered"]);

    await client.putBucketAcl({ bucket, acl: "private" }, as(alice));
    await client.putBucketOwnershipControls(controls("BucketOwnerEnforced"), as(alice));
    expect(await owners()).toEqual([alice, alice]);
    expect([await head(alice), await head(bob)]).toEqual(["answered", "ACCESS_DENIED"]);

    await client.deleteBucketOwnershipControls({ bucket }, as(alice));
    expect(await owners()).toEqual([bob, alice]);
  });
});

describe("a public access block", () => {
  test("is read back as it was put, and is gone after its deletion", async () => {
    const { client } = await startWithBucket();
    const publicAccessBlockConfiguration = { blockPublicAcls: true, restrictPublicBuckets: true };
    await client.putPublicAccessBlock({ bucket, publicAccessBlockConfiguration }, as(alice));
    expect((await client.getPublicAccessBlock({ bucket }, as(alice))).publicAccessBlockConfiguration).toMatchObject({
      blockPublicAcls: true,
      ignorePublicAcls: false,
      blockPublicPolicy: false,
      restrictPublicBuckets: true,
    });
    await client.deletePublicAccessBlock({ bucket }, as(alice));
    await client.deletePublicAccessBlock({ bucket }, as(alice));
    expect(await refusalOf(client.getPublicAccessBlock({ bucket }, as(alice)))).toBe(
      "NO_SUCH_PUBLIC_ACCESS_BLOCK_CONFIGURATION",
    );
  });

  test.each([
    // what asks for a public ACL, outcome where public ACLs are blocked
    ["putBucketAcl", { bucket, acl: "public-read" }, "ACCESS_DENIED"],
    ["putBucketAcl", { bucket, acl: "authenticated-read" }, "ACCESS_DENIED"],
    ["putBucketAcl", { bucket, acl: "private" }, "answered"],
    ["putObjectAcl", { bucket, key: "cat.jpg", acl: "public-read" }, "ACCESS_DENIED"],
    ["putObjectAcl", { bucket, key: "cat.jpg", acl: "bucket-owner-read" }, "answered"],
    ["copyObject", { bucket, key: "dog.jpg", acl: "public-read", copySource: "photos/cat.jpg" }, "ACCESS_DENIED"],
    ["createMultipartUpload", { bucket, key: "dog.jpg", acl: "public-read" }, "ACCESS_DENIED"],
    ["createBucket", { bucket: "other", objectOwnership: "ObjectWriter", acl: "public-read" }, "answered"],
  ] as const)("that blocks public ACLs: %s with %j ends as %s", async (name, request, outcome) => {
    const harness = await startHarness({ objectOwnership: "ObjectWriter" });
    const { client } = harness;
    await client.createBucket({ bucket }, as(alice));
    await put(harness, { bucket, key: "cat.jpg" }, "meow");
    const publicAccessBlockConfiguration = { blockPublicAcls: true };
    await client.putPublicAccessBlock({ bucket, publicAccessBlockConfiguration }, as(alice));
    expect(await refusalOf(client[name](request as never, as(alice)))).toBe(outcome);
  });

  test("of the installation counts in every bucket", async () => {
    const harness = await startHarness({ objectOwnership: "ObjectWriter", publicBuckets: "block" });
    const { client } = harness;
    expect(await refusalOf(client.createBucket({ bucket, acl: "public-read" }, as(alice)))).toBe("ACCESS_DENIED");
    await client.createBucket({ bucket }, as(alice));
    expect(await refusalOf(client.putBucketAcl({ bucket, acl: "public-read" }, as(alice)))).toBe("ACCESS_DENIED");
    expect(await refusalOf(client.getPublicAccessBlock({ bucket }, as(alice)))).toBe(
      "NO_SUCH_PUBLIC_ACCESS_BLOCK_CONFIGURATION",
    );
  });
});

describe("the payer of requests", () => {
  test.each([
    // payer, reason
    ["Requester", "answered"],
    ["BucketOwner", "answered"],
    ["Nobody", "MALFORMED_XML"],
    [undefined, "MALFORMED_XML"],
  ])("%s ends as %s", async (payer, reason) => {
    const { client } = await startWithBucket();
    const request = { bucket, requestPaymentConfiguration: { payer } };
    expect(await refusalOf(client.putBucketRequestPayment(request, as(alice)))).toBe(reason);
    const read = await client.getBucketRequestPayment({ bucket }, as(alice));
    expect(read.payer).toBe(payer === "Requester" ? "Requester" : "BucketOwner");
  });

  test("is asked for of other accounts that read objects, and anonymous callers cannot pay", async () => {
    const harness = await startWithBucket();
    const { client } = harness;
    await put(harness, { bucket, key: "cat.jpg" }, "meow");
    const policy = JSON.stringify({
      Version: "2012-10-17",
      Statement: [{ Effect: "Allow", Principal: "*", Action: "s3:GetObject", Resource: "arn:aws:s3:::photos/*" }],
    });
    await client.putBucketPolicy({ bucket, policy }, as(alice));
    const requestPaymentConfiguration = { payer: "Requester" };
    await client.putBucketRequestPayment({ bucket, requestPaymentConfiguration }, as(alice));
    const head = (requestPayer: string | undefined, account: string) =>
      refusalOf(client.headObject({ bucket, key: "cat.jpg", ...(requestPayer && { requestPayer }) }, as(account)));
    expect(await head(undefined, alice)).toBe("answered");
    expect(await head(undefined, bob)).toBe("ACCESS_DENIED");
    expect(await head("requester", bob)).toBe("answered");
    expect(await head("requester", "")).toBe("ACCESS_DENIED");
  });
});
