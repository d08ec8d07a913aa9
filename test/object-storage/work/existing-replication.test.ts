import { expect, test } from "vitest";

import { findBucket } from "../../../services/object-storage/store/bucket.ts";
import { versions } from "../../../services/object-storage/store/layout.ts";
import { findSequence } from "../../../services/object-storage/domain/versioning.ts";
import { eventually } from "../../support/eventually.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import type { Harness, HarnessOptions } from "../harness.ts";
import { alice, as, get, put, startHarness } from "../harness.ts";
import { damageRecord } from "../support/damage.ts";
import { startRegion } from "../support/region.ts";
import {
  accountsWith,
  allowed,
  enableVersions,
  keep,
  keptOf,
  newer,
  replicateBy,
  statusOf,
} from "../support/replication.ts";
import { idAt } from "../support/versions.ts";

const existing = { existingObjectReplication: { status: "Enabled" } };

const copyTo = (harness: Harness, destination: string, further: object = existing, bucket = "photos") =>
  replicateBy(harness, [newer(destination, { deleteMarkerReplication: { status: "Enabled" }, ...further })], {
    bucket,
  });

/** A service with Alice's buckets `photos`, which has what it had without versions, and `kept`. */
const start = async (options: HarnessOptions = {}): Promise<Harness> => {
  const harness = await startHarness({ accounts: accountsWith(allowed), ...options });
  await harness.client.createBucket({ bucket: "photos" }, as(alice));
  await put(harness, { bucket: "photos", key: "null" }, "null");
  await enableVersions(harness, "photos");
  await keep(harness, "kept");
  return harness;
};

const idsOf = async ({ client }: Harness, bucket: string, wanted: string): Promise<string[]> => {
  const page = await client.listObjectVersions({ bucket, prefix: wanted }, as(alice));
  return [...page.versions, ...page.deleteMarkers].map(({ versionId = "" }) => versionId);
};

test("what was there before a rule is copied where the rule asks for it: versions, delete markers, the null version", async () => {
  const harness = await start();
  await put(harness, { bucket: "photos", key: "cat" }, "first");
  await put(harness, { bucket: "photos", key: "cat" }, "second");
  await harness.client.deleteObject({ bucket: "photos", key: "cat" }, as(alice));
  await copyTo(harness, "kept", {});
  await harness.opened.jobs.idle();
  expect(await keptOf(harness)).toEqual([]);

  await copyTo(harness, "kept");
  await harness.opened.jobs.idle();
  const isOfCat = (each: string): boolean => each.startsWith("cat");
  expect((await keptOf(harness)).filter(isOfCat)).toEqual((await keptOf(harness, "photos")).filter(isOfCat));
  expect(await statusOf(harness, "null")).toBe("COMPLETED");
  const [replicaId = ""] = await idsOf(harness, "kept", "null");
  expect(findSequence(replicaId)).toBeGreaterThan(0);
  expect((await get(harness, { bucket: "kept", key: "null" })).body.toString()).toBe("null");
  expect(await idsOf(harness, "photos", "null")).toEqual(["null"]);
});

test("rules that are put again copy what is missing, and nothing twice", async () => {
  const harness = await start({ accounts: accountsWith(["s3:GetObjectVersionForReplication"]) });
  await put(harness, { bucket: "photos", key: "cat" }, "meow");
  await copyTo(harness, "kept");
  await harness.opened.jobs.idle();
  expect([await statusOf(harness, "cat"), await statusOf(harness, "null")]).toEqual(["FAILED", "FAILED"]);
  await harness.stop();

  const again = await startHarness({ accounts: accountsWith(allowed), directory: harness.directory });
  await copyTo(again, "kept");
  await again.opened.jobs.idle();
  const kept = await keptOf(again);
  expect([await statusOf(again, "cat"), await statusOf(again, "null"), kept.length]).toEqual([
    "COMPLETED",
    "COMPLETED",
    2,
  ]);
  await copyTo(again, "kept");
  await again.opened.jobs.idle();
  expect([await statusOf(again, "cat"), await keptOf(again)]).toEqual(["COMPLETED", kept]);
});

test("replicas are copied further, and stay replicas; what a rule does not select is not", async () => {
  const harness = await start();
  await put(harness, { bucket: "photos", key: "in/cat" }, "meow");
  await copyTo(harness, "kept", { ...existing, filter: { prefix: "in/" } });
  await harness.opened.jobs.idle();
  await keep(harness, "further");
  await put(harness, { bucket: "kept", key: "own" }, "own");
  await copyTo(harness, "further", existing, "kept");
  await harness.opened.jobs.idle();
  expect(await keptOf(harness, "further")).toEqual(await keptOf(harness, "kept"));
  expect(await keptOf(harness, "kept")).toHaveLength(2);
  const statuses = [
    ["in/cat", "kept"],
    ["own", "kept"],
    ["in/cat", "further"],
    ["own", "further"],
  ] as const;
  expect(await Promise.all(statuses.map(([key, bucket]) => statusOf(harness, key, bucket)))).toEqual([
    "REPLICA",
    "COMPLETED",
    "REPLICA",
    "REPLICA",
  ]);
});

test("what was copied to another region is brought back from there after a loss, and changes nothing that is left", async () => {
  const [eastAt, westAt] = [await startRegion("us-east-1"), await startRegion("us-west-2")];
  const accounts = accountsWith(allowed);
  const east = await start({ accounts, regions: { "us-west-2": westAt.endpoint } });
  const west = await startHarness({ accounts, region: "us-west-2", regions: { "us-east-1": eastAt.endpoint } });
  westAt.serve(west, ["far"]);
  await keep(west, "far", { createBucketConfiguration: { locationConstraint: "us-west-2" } });
  await put(east, { bucket: "photos", key: "cat", tagging: "kind=cat" }, "first");
  const { versionId = "" } = await put(east, { bucket: "photos", key: "cat", tagging: "kind=cat" }, "second");
  await copyTo(east, "far");
  await eventually(async () => (await keptOf(west, "far")).length === 3, "all of it is there");
  await eventually(async () => (await statusOf(east, "cat")) === "COMPLETED", "it is noted");

  await east.client.deleteBucketReplication({ bucket: "photos" }, as(alice));
  const tagging = { tagSet: [{ key: "kind", value: "lion" }] };
  await east.client.putObjectTagging({ bucket: "photos", key: "cat", tagging }, as(alice));
  const lost = await idsOf(east, "photos", "cat");
  const first = lost.find((id) => id !== versionId) ?? "";
  await east.client.deleteObject({ bucket: "photos", key: "cat", versionId: first }, as(alice));
  eastAt.serve(east, ["photos"]);
  await copyTo(west, "photos", existing, "far");
  await eventually(async () => (await idsOf(east, "photos", "cat")).length === 2, "the lost version is back");
  expect(await idsOf(east, "photos", "cat")).toEqual(lost);
  expect((await get(east, { bucket: "photos", key: "cat", versionId: first })).body.toString()).toBe("first");
  const { tagSet } = await east.client.getObjectTagging({ bucket: "photos", key: "cat" }, as(alice));
  expect(tagSet).toMatchObject([{ key: "kind", value: "lion" }]);
});

/** Two services; 450 versions of the first are to be copied into the second. */
const startTwo = async () => {
  const west = await startHarness({ region: "us-west-2" });
  const configuration = { createBucketConfiguration: { locationConstraint: "us-west-2" } };
  await keep(west, "far", configuration);
  const region = await startRegion("us-west-2");
  region.serve(west, ["far"]);
  const directory = await temporaryDirectory();
  const options = { directory, accounts: accountsWith(allowed), regions: { "us-west-2": region.endpoint } };
  const east = await start(options);
  for (let number = 0; number < 449; number += 1)
    await put(east, { bucket: "photos", key: `${number}`.padStart(3, "0") }, `${number}`);
  return { east, west, region, options };
};

test("to another region, no more than a part of the copies wait at a time, also over a start", async () => {
  const { east, west, region, options } = await startTwo();
  region.behave("hanging");
  await copyTo(east, "far");
  await eventually(async () => (await statusOf(east, "000")) === "PENDING", "the walk has begun");
  expect(await east.opened.jobs.countDue(10_000)).toBeLessThanOrEqual(201);
  expect(await statusOf(east, "400")).toBe(undefined);
  region.behave("unreachable");
  await east.stop();
  region.behave("serving");

  const again = await startHarness(options);
  await eventually(async () => (await keptOf(west, "far")).length === 450, "all of it is there");
  await eventually(async () => (await statusOf(again, "448")) === "COMPLETED", "the last one is noted");
});

test("a walk ends when the rules are deleted", async () => {
  const { east, west, region } = await startTwo();
  region.behave("busy");
  await copyTo(east, "far");
  await eventually(async () => (await statusOf(east, "000")) === "PENDING", "the walk has begun");
  await east.client.deleteBucketReplication({ bucket: "photos" }, as(alice));
  await eventually(async () => (await statusOf(east, "000")) === "FAILED", "its copy is given up");
  await east.opened.jobs.idle();
  expect([await statusOf(east, "448"), await keptOf(west, "far")]).toEqual([undefined, []]);
});

test("a version that is far ahead of the clock waits", async () => {
  const west = await startHarness({ region: "us-west-2" });
  await keep(west, "far", { createBucketConfiguration: { locationConstraint: "us-west-2" } });
  const region = await startRegion("us-west-2");
  region.serve(west, ["far"]);
  const east = await start({ accounts: accountsWith(allowed), regions: { "us-west-2": region.endpoint } });
  const aheadMs = Date.now() + 10 * 60_000;
  const versionId = idAt(aheadMs);
  const lastModified = { seconds: BigInt(Math.floor(aheadMs / 1000)), nanos: 0 };
  async function* marker() {
    yield { bucket: "photos", key: "ahead", versionId, lastModified, deleteMarker: true };
  }
  await east.client.putObjectReplica(marker() as AsyncIterable<never>, as(alice));
  await copyTo(east, "far");
  await eventually(async () => (await keptOf(west, "far")).length > 0, "the other one is there");
  await eventually(() => east.opened.jobs.stats().retried > 0, "it was put off");
  expect((await keptOf(west, "far")).map((each) => each.split(" ")[0])).toEqual(["null"]);
});

test("a damaged version does not keep the others from being copied", async () => {
  const harness = await start();
  const { versionId = "" } = await put(harness, { bucket: "photos", key: "a" }, "damaged");
  await put(harness, { bucket: "photos", key: "b" }, "whole");
  const bucket = await harness.opened.app.store.read((reader) => findBucket(reader, "photos"));
  const options = { accounts: accountsWith(allowed) };
  const again = await damageRecord(
    harness,
    versions,
    [bucket?.bucketId ?? "", "a", findSequence(versionId) ?? 0],
    options,
  );
  await copyTo(again, "kept");
  await again.opened.jobs.idle();
  expect((await keptOf(again)).map((each) => each.split(" ")[0])).toEqual(["b", "null"]);
});
