import { describe, expect, test } from "vitest";

import { anonymousCaller } from "../../../services/kit/identity/caller.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { aliceRoot, bobRoot, outcomeOf, policyOf, refusalsOf, usersOfAlice } from "../access/in-process.ts";
import type { Harness } from "../harness.ts";
import { alice, as, bob, put, refusalOf, startHarness } from "../harness.ts";

const bucket = "photos";
const ofAlice = { accountId: alice };
const everybody = { Effect: "Allow", Principal: "*", Action: "s3:GetObject", Resource: "arn:aws:s3:::photos/*" };
const publicPolicy = policyOf(everybody);

type Switch = "blockPublicAcls" | "ignorePublicAcls" | "blockPublicPolicy" | "restrictPublicBuckets";

const start = async (): Promise<Harness> => {
  const harness = await startHarness({ objectOwnership: "ObjectWriter" });
  await harness.client.createBucket({ bucket }, as(alice));
  await put(harness, { bucket, key: "cat.jpg" }, "meow");
  return harness;
};

const block = ({ client }: Harness, ...switches: readonly Switch[]) =>
  client.putAccountPublicAccessBlock(
    {
      ...ofAlice,
      publicAccessBlockConfiguration: Object.fromEntries(switches.map((name) => [name, true])),
    },
    as(alice),
  );

describe("what all buckets of an account block", () => {
  test("is read back as it was put, and is gone after its deletion", async () => {
    const harness = await start();
    const { client } = harness;
    const read = () => client.getAccountPublicAccessBlock(ofAlice, as(alice));
    expect(await refusalOf(read())).toBe("NO_SUCH_PUBLIC_ACCESS_BLOCK_CONFIGURATION");
    for (let round = 0; round < 2; round += 1) {
      await block(harness, "blockPublicAcls", "restrictPublicBuckets");
      expect((await read()).publicAccessBlockConfiguration).toMatchObject({
        blockPublicAcls: true,
        ignorePublicAcls: false,
        blockPublicPolicy: false,
        restrictPublicBuckets: true,
      });
    }
    for (let round = 0; round < 2; round += 1) {
      await client.deleteAccountPublicAccessBlock(ofAlice, as(alice));
      expect(await refusalOf(read())).toBe("NO_SUCH_PUBLIC_ACCESS_BLOCK_CONFIGURATION");
    }
  });

  test("is there after a restart, and is that of this account only", async () => {
    const directory = await temporaryDirectory();
    const first = await startHarness({ directory });
    await block(first, "ignorePublicAcls");
    await first.stop();
    const { client } = await startHarness({ directory });
    const { publicAccessBlockConfiguration } = await client.getAccountPublicAccessBlock(ofAlice, as(alice));
    expect(publicAccessBlockConfiguration).toMatchObject({ ignorePublicAcls: true, blockPublicAcls: false });
    expect(await refusalOf(client.getAccountPublicAccessBlock({ accountId: bob }, as(bob)))).toBe(
      "NO_SUCH_PUBLIC_ACCESS_BLOCK_CONFIGURATION",
    );
  });

  test("is not seen in what a bucket says itself", async () => {
    const harness = await start();
    await block(harness, "ignorePublicAcls");
    expect(await refusalOf(harness.client.getPublicAccessBlock({ bucket }, as(alice)))).toBe(
      "NO_SUCH_PUBLIC_ACCESS_BLOCK_CONFIGURATION",
    );
  });

  const allowing = (Action: string) => usersOfAlice({ Effect: "Allow", Action, Resource: "*" });

  // the operation, the action that it needs
  test.for([
    ["getAccountPublicAccessBlock", "s3:GetAccountPublicAccessBlock"],
    ["putAccountPublicAccessBlock", "s3:PutAccountPublicAccessBlock"],
    ["deleteAccountPublicAccessBlock", "s3:PutAccountPublicAccessBlock"],
  ] as const)("%s is for principals of the account that may %s", async ([name, action]) => {
    const harness = await start();
    await block(harness, "ignorePublicAcls");
    const { app } = harness.opened;
    const request = { ...ofAlice, publicAccessBlockConfiguration: {} };
    const denied = ["ACCESS_DENIED", expect.stringContaining("s3:")];
    expect(await refusalsOf(app, name, request, bobRoot)).toEqual(denied);
    expect(await refusalsOf(app, name, { ...request, accountId: bob }, aliceRoot)).toEqual(denied);
    expect(await outcomeOf(app, name, request, anonymousCaller)).toBe("ACCESS_DENIED");
    expect(await outcomeOf(app, name, { ...request, accountId: "" }, anonymousCaller)).toBe("ACCESS_DENIED");
    expect(await outcomeOf(app, name, request, allowing("s3:PutBucketPublicAccessBlock"))).toBe("ACCESS_DENIED");
    expect(await outcomeOf(app, name, request, allowing(action))).toBe("answered");
  });
});

describe("in a bucket of an account that blocks", () => {
  test.each([
    // what asks for a public ACL, outcome where the account blocks public ACLs
    ["putBucketAcl", { bucket, acl: "public-read" }, "ACCESS_DENIED"],
    ["putBucketAcl", { bucket, acl: "private" }, "answered"],
    ["putObjectAcl", { bucket, key: "cat.jpg", acl: "public-read" }, "ACCESS_DENIED"],
    ["copyObject", { bucket, key: "dog.jpg", acl: "public-read", copySource: "photos/cat.jpg" }, "ACCESS_DENIED"],
    ["createMultipartUpload", { bucket, key: "dog.jpg", acl: "public-read" }, "ACCESS_DENIED"],
    ["createBucket", { bucket: "other", objectOwnership: "ObjectWriter", acl: "public-read" }, "ACCESS_DENIED"],
    ["createBucket", { bucket: "other", objectOwnership: "ObjectWriter", acl: "private" }, "answered"],
  ] as const)("public ACLs: %s with %j ends as %s", async (name, request, outcome) => {
    const harness = await start();
    await block(harness, "blockPublicAcls");
    expect(await refusalOf(harness.client[name](request as never, as(alice)))).toBe(outcome);
  });

  test("public policies, a public one is refused", async () => {
    const harness = await start();
    const { client } = harness;
    await block(harness, "blockPublicPolicy");
    expect(await refusalOf(client.putBucketPolicy({ bucket, policy: publicPolicy }, as(alice)))).toBe("ACCESS_DENIED");
    const named = policyOf({ ...everybody, Principal: { AWS: bob } });
    expect(await refusalOf(client.putBucketPolicy({ bucket, policy: named }, as(alice)))).toBe("answered");
  });

  // what the account blocks, what the bucket does, and how reading ends for nobody and another account
  test.each<[readonly Switch[], readonly Switch[], "acl" | "policy", string]>([
    [[], [], "acl", "answered"],
    [["ignorePublicAcls"], [], "acl", "ACCESS_DENIED"],
    [[], ["ignorePublicAcls"], "acl", "ACCESS_DENIED"],
    [["ignorePublicAcls"], ["blockPublicPolicy"], "acl", "ACCESS_DENIED"],
    [["restrictPublicBuckets"], ["blockPublicAcls"], "acl", "answered"],
    [[], [], "policy", "answered"],
    [["restrictPublicBuckets"], [], "policy", "ACCESS_DENIED"],
    [["blockPublicAcls"], ["restrictPublicBuckets"], "policy", "ACCESS_DENIED"],
    [["ignorePublicAcls", "blockPublicPolicy"], ["blockPublicAcls"], "policy", "answered"],
  ])("%j, and does %j itself, a public %s: %s", async (ofAccount, ofBucket, by, outcome) => {
    const harness = await start();
    const { client, opened } = harness;
    if (by === "acl") await client.putObjectAcl({ bucket, key: "cat.jpg", acl: "public-read" }, as(alice));
    else await client.putBucketPolicy({ bucket, policy: publicPolicy }, as(alice));
    if (ofAccount.length > 0) await block(harness, ...ofAccount);
    const publicAccessBlockConfiguration = Object.fromEntries(ofBucket.map((name) => [name, true]));
    await client.putPublicAccessBlock({ bucket, publicAccessBlockConfiguration }, as(alice));
    const read = { bucket, key: "cat.jpg" };
    for (const caller of [anonymousCaller, bobRoot])
      expect(await outcomeOf(opened.app, "headObject", read, caller)).toBe(outcome);
    expect(await outcomeOf(opened.app, "headObject", read, aliceRoot)).toBe("answered");
  });

  test("what was public is public again when the account blocks it no more", async () => {
    const harness = await start();
    const { client, opened } = harness;
    await client.putBucketPolicy({ bucket, policy: publicPolicy }, as(alice));
    const read = () => outcomeOf(opened.app, "headObject", { bucket, key: "cat.jpg" }, anonymousCaller);
    await block(harness, "restrictPublicBuckets");
    expect(await read()).toBe("ACCESS_DENIED");
    await client.deleteAccountPublicAccessBlock(ofAlice, as(alice));
    expect(await read()).toBe("answered");
  });
});
