import { describe, expect, test } from "vitest";

import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { ServiceError } from "../../../services/kit/faults/service-error.ts";
import { rootCaller } from "../../../services/kit/identity/caller.ts";
import { openBucket } from "../../../services/object-storage/access/bucket-access.ts";
import type { Harness } from "../harness.ts";
import { alice, as, bob, startWithBucket } from "../harness.ts";

const photos = { bucket: "photos" };

/** Alice's access to `photos`, opened before something happens to the bucket. */
const openAccess = (harness: Harness) => {
  const { store } = harness.opened.app;
  const call = { caller: rootCaller(alice), method: ObjectStorageService.method.putObject };
  return store.read((reader) => openBucket(reader, call, { name: "photos", expectedOwner: undefined }));
};

describe("an authorized bucket", () => {
  test("is read again in each transaction", async () => {
    const harness = await startWithBucket();
    const access = await openAccess(harness);
    const bucket = await harness.opened.app.store.transact((transaction) => access.in(transaction));
    expect(bucket).toMatchObject({ name: "photos", accountId: alice, region: "us-east-1" });
    expect(access.name).toBe("photos");
  });

  test.each([
    // who creates the bucket again after it was deleted, what reading it then returns
    ["nobody", "NO_SUCH_BUCKET"],
    ["bob", "ACCESS_DENIED"],
    ["alice", "another bucket of that name"],
  ])("after it was deleted and %s created it again: %s", async (creator, outcome) => {
    const harness = await startWithBucket();
    const { client, opened } = harness;
    const access = await openAccess(harness);
    const { bucketId } = await opened.app.store.read((reader) => access.in(reader));
    await client.deleteBucket(photos, as(alice));
    if (creator !== "nobody") await client.createBucket(photos, as(creator === "bob" ? bob : alice));

    const again = await opened.app.store
      .transact((transaction) => access.in(transaction))
      .then((bucket) => (bucket.bucketId === bucketId ? "the same bucket" : "another bucket of that name"))
      .catch((error: unknown) => (error instanceof ServiceError ? error.facts.reason : String(error)));

    expect(again).toBe(outcome);
  });
});
