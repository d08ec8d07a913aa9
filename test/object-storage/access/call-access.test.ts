import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import {
  ObjectStorageService,
  PutObjectRequestSchema,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { ServiceError } from "../../../services/kit/faults/service-error.ts";
import type { Caller } from "../../../services/kit/identity/caller.ts";
import { anonymousCaller, rootCaller } from "../../../services/kit/identity/caller.ts";
import type { AuthorizedBucket } from "../../../services/object-storage/access/access.ts";
import { openAccess } from "../../../services/object-storage/access/call-access.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import type { Harness } from "../harness.ts";
import { alice, as, bob, put, startWithBucket } from "../harness.ts";
import { policyOf } from "./in-process.ts";

const photos = { bucket: "photos" };

/** The access to put an object into `photos`, opened before something happens to the bucket. */
const openBucket = async (harness: Harness, caller: Caller = rootCaller(alice)): Promise<AuthorizedBucket> => {
  const { app } = harness.opened;
  const call = { app, caller, method: ObjectStorageService.method.putObject, log: silentLogger };
  const request = create(PutObjectRequestSchema, { bucket: "photos", key: "cat.jpg" });
  const named = { own: { name: "photos", expectedOwner: undefined } };
  const access = await app.store.read((reader) => openAccess(reader, call, request, named, false));
  return access.bucket;
};

/** What reading the bucket again in a transaction ends as. */
const outcomeOf = (harness: Harness, bucket: AuthorizedBucket): Promise<string> =>
  harness.opened.app.store
    .transact((transaction) => bucket.in(transaction))
    .then(({ bucketId }) => (bucketId === bucket.known.bucketId ? "the bucket" : "another"))
    .catch((error: unknown) => (error instanceof ServiceError ? error.facts.reason : String(error)));

const anybody = { Effect: "Allow", Principal: "*", Action: "s3:PutObject", Resource: "arn:aws:s3:::photos/*" };

describe("an authorized bucket", () => {
  test("is read again in each transaction", async () => {
    const harness = await startWithBucket();
    const access = await openBucket(harness);
    const bucket = await harness.opened.app.store.transact((transaction) => access.in(transaction));
    expect(bucket).toMatchObject({ name: "photos", accountId: alice, region: "us-east-1" });
    expect(access.name).toBe("photos");
  });

  test.each([
    // who creates the bucket again after it was deleted, what reading it then returns
    ["nobody", "NO_SUCH_BUCKET"],
    ["bob", "ACCESS_DENIED"],
    ["alice", "the bucket"],
  ])("after it was deleted and %s created it again: %s", async (creator, outcome) => {
    const harness = await startWithBucket();
    const { client } = harness;
    const access = await openBucket(harness);
    const { bucketId } = access.known;
    await client.deleteBucket(photos, as(alice));
    if (creator !== "nobody") await client.createBucket(photos, as(creator === "bob" ? bob : alice));

    expect(await outcomeOf(harness, access)).toBe(outcome);
    expect(access.known.bucketId === bucketId).toBe(creator !== "alice");
  });

  test("is refused when the right was taken away between the decision and the transaction", async () => {
    const harness = await startWithBucket();
    const { client } = harness;
    await client.putBucketPolicy({ ...photos, policy: policyOf(anybody) }, as(alice));
    const access = await openBucket(harness, anonymousCaller);
    expect(await outcomeOf(harness, access)).toBe("the bucket");
    await client.deleteBucketPolicy(photos, as(alice));
    expect(await outcomeOf(harness, access)).toBe("ACCESS_DENIED");
    await client.putBucketPolicy({ ...photos, policy: policyOf(anybody) }, as(alice));
    expect(await outcomeOf(harness, access)).toBe("the bucket");
    const blocked = { restrictPublicBuckets: true };
    await client.putPublicAccessBlock({ ...photos, publicAccessBlockConfiguration: blocked }, as(alice));
    expect(await outcomeOf(harness, access)).toBe("ACCESS_DENIED");
    await client.deletePublicAccessBlock(photos, as(alice));
    expect(await outcomeOf(harness, access)).toBe("the bucket");
    const ofAccount = { accountId: alice, publicAccessBlockConfiguration: blocked };
    await client.putAccountPublicAccessBlock(ofAccount, as(alice));
    expect(await outcomeOf(harness, access)).toBe("ACCESS_DENIED");
  });
});

test("without ACLs and a policy, deciding reads the bucket and nothing else", async () => {
  const harness = await startWithBucket();
  await put(harness, { bucket: "photos", key: "cat.jpg" }, "meow");
  const { app } = harness.opened;
  const tables: string[] = [];
  const request = create(PutObjectRequestSchema, { bucket: "photos", key: "cat.jpg" });
  const method = ObjectStorageService.method.getObjectAcl;
  await app.store.read(async (reader) => {
    const noting = (get: (table: never, key: never) => unknown) => ({
      value: (table: { readonly name: string }, key: never) => {
        tables.push(table.name);
        return get.call(reader, table as never, key);
      },
    });
    const watched: typeof reader = Object.create(reader, {
      get: noting(reader.get),
      getShared: noting(reader.getShared),
    });
    const named = { own: { name: "photos", expectedOwner: undefined } };
    const call = { app, caller: rootCaller(alice), method, log: silentLogger };
    const { bucket } = await openAccess(watched, call, request, named, false);
    await bucket.in(watched);
  });
  expect(tables).toEqual(["buckets", "buckets"]);
});
