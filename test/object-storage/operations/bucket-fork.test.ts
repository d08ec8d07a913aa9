import { createHash } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

import { timestampMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";

import { ServerSideEncryption } from "../../../gen/quartet/objectstorage/v1/encryption_pb.ts";
import { userCaller } from "../../../services/kit/identity/caller.ts";
import { forks } from "../../../services/object-storage/store/forks.ts";
import { walkTable } from "../../../services/kit/store/walk-table.ts";
import { blobs, versions } from "../../../services/object-storage/store/layout.ts";
import { scrubRecords } from "../../../services/object-storage/work/scrub-records.ts";
import { outcomeOf, policyOf } from "../access/in-process.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import type { Harness, PutInit } from "../harness.ts";
import { alice, as, bob, get, metadataOf, put, refusalOf, startHarness, startWithBucket } from "../harness.ts";
import { damageRecord } from "../support/damage.ts";

const source = "photos";
const large = Buffer.alloc(200_000, "large");

const fork = ({ client }: Harness, destination: string, bucket = source, options = as(alice)) =>
  client.forkBucket({ bucket, destination }, options);

const forkAndWait = async (harness: Harness, destination: string, bucket = source): Promise<void> => {
  await fork(harness, destination, bucket);
  await harness.opened.jobs.idle();
};

const stateOf = ({ client }: Harness, destination: string) =>
  client.getBucketFork({ bucket: source, destination }, as(alice));

const keep = ({ client }: Harness, status: string, bucket = source) =>
  client.putBucketVersioning({ bucket, versioningConfiguration: { status } }, as(alice));

const store = (harness: Harness, key: string, body: string | Uint8Array, members: PutInit = {}) =>
  put(harness, { bucket: source, key, ...members }, body);

const read = async (harness: Harness, bucket: string, key: string, members: object = {}) =>
  (await get(harness, { bucket, key, ...members })).body.toString();

/** Everything that listings show of a bucket. */
const listed = async ({ client }: Harness, bucket: string) => {
  const versionsPage = await client.listObjectVersions({ bucket }, as(alice));
  const { contents } = await client.listObjectsV2({ bucket }, as(alice));
  const folders = await client.listObjectsV2({ bucket, delimiter: "/" }, as(alice));
  const { commonPrefixes, contents: files } = folders;
  return {
    versions: versionsPage.versions,
    deleteMarkers: versionsPage.deleteMarkers,
    contents,
    commonPrefixes,
    files,
  };
};

/** The bytes of all blob files. */
const blobBytes = async ({ blobsDirectory }: Harness): Promise<number> => {
  const files = await readdir(blobsDirectory, { recursive: true, withFileTypes: true });
  const sizes = await Promise.all(
    files.filter((file) => file.isFile()).map(async (file) => (await stat(join(file.parentPath, file.name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
};

const damages = async ({ opened }: Harness) =>
  (await scrubRecords(opened.app.store, { spend: async () => undefined }, new AbortController().signal)).damages;

describe("forkBucket", () => {
  test("makes a bucket with all versions, and everything about each, that shares their content", async () => {
    const harness = await startWithBucket();
    const { client } = harness;
    await store(harness, "a/old", large, { metadata: { by: "ann" }, contentType: "image/png", tagging: "a=1" });
    await keep(harness, "Enabled");
    await store(harness, "a/old", "small");
    await store(harness, "a/deleted", "gone");
    await client.deleteObject({ bucket: source, key: "a/deleted" }, as(alice));
    await store(harness, "b/c/d", "deep");
    await keep(harness, "Suspended");
    await store(harness, "top", "one");
    const before = { bytes: await blobBytes(harness), blobs: 0 };
    before.blobs = (await harness.opened.app.store.read((reader) => reader.list(blobs, { limit: 100 }))).length;
    await forkAndWait(harness, "copies");

    expect(await listed(harness, "copies")).toEqual(await listed(harness, source));
    const headOf = (bucket: string) =>
      client.headObject({ bucket, key: "a/old", versionId: "null", checksumMode: "ENABLED" }, as(alice));
    expect(await headOf("copies")).toEqual(await headOf(source));
    expect((await headOf("copies")).metadata).toEqual({ by: "ann" });
    expect((await get(harness, { bucket: "copies", key: "a/old", versionId: "null" })).body.equals(large)).toBe(true);
    expect(await read(harness, "copies", "a/old")).toBe("small");
    const { tagSet } = await client.getObjectTagging({ bucket: "copies", key: "a/old", versionId: "null" }, as(alice));
    expect(tagSet.map(({ key, value }) => [key, value])).toEqual([["a", "1"]]);
    expect(await client.getBucketVersioning({ bucket: "copies" }, as(alice))).toMatchObject({ status: "Suspended" });
    expect(await blobBytes(harness)).toBe(before.bytes);
    const after = await harness.opened.app.store.read((reader) => reader.list(blobs, { limit: 100 }));
    expect(after).toHaveLength(before.blobs);
    expect(await damages(harness)).toEqual([]);
  });

  test("leaves each of the two as it is, whatever becomes of the other", async () => {
    const clock = new FakeClock(Date.UTC(2026, 0, 2));
    const harness = await startWithBucket({ clock });
    const { client } = harness;
    await store(harness, "file", large);
    await store(harness, "inline", "one");
    await forkAndWait(harness, "copies");
    await store(harness, "inline", "two");
    await put(harness, { bucket: "copies", key: "file", writeOffsetBytes: 200_000n }, "more");
    await put(harness, { bucket: "copies", key: "new" }, "only here");
    expect(await read(harness, "copies", "inline")).toBe("one");
    expect((await get(harness, { bucket: source, key: "file" })).body.length).toBe(200_000);
    expect((await client.listObjectsV2({ bucket: source }, as(alice))).keyCount).toBe(2);

    for (const key of ["file", "inline"]) await client.deleteObject({ bucket: source, key }, as(alice));
    await client.deleteBucket({ bucket: source }, as(alice));
    clock.advance(3_600_000 * 2);
    expect(await read(harness, "copies", "inline")).toBe("one");
    expect((await get(harness, { bucket: "copies", key: "file" })).body.length).toBe(200_004);
    for (const key of ["file", "inline", "new"]) await client.deleteObject({ bucket: "copies", key }, as(alice));
    expect(await harness.opened.app.store.read((reader) => reader.list(blobs, { limit: 1 }))).toEqual([]);
    expect(await damages(harness)).toEqual([]);
  });

  test("shares what is encrypted under managed keys and keys of callers, which are needed as before", async () => {
    const harness = await startWithBucket();
    const key = Buffer.alloc(32, 7);
    const own = {
      sseCustomerAlgorithm: "AES256",
      sseCustomerKey: key.toString("base64"),
      sseCustomerKeyMd5: createHash("md5").update(key).digest("base64"),
    };
    await store(harness, "own", "secret", own);
    await store(harness, "managed", "secret", { serverSideEncryption: ServerSideEncryption.KMS });
    await forkAndWait(harness, "copies");
    expect(await read(harness, "copies", "own", own)).toBe("secret");
    expect(await refusalOf(read(harness, "copies", "own"))).toContain("INVALID_REQUEST");
    const { head } = await get(harness, { bucket: "copies", key: "managed" });
    expect(head.serverSideEncryption).toBe(ServerSideEncryption.KMS);
  });

  test("keeps locks, and takes over what decides on versions, but no policy, tags or rules", async () => {
    const harness = await startWithBucket();
    const { client } = harness;
    const vault = { bucket: "vault", key: "ledger" };
    await client.createBucket({ bucket: "vault", objectLockEnabledForBucket: true }, as(alice));
    const locked = await put(harness, { ...vault, objectLockLegalHoldStatus: "ON" }, "one");
    const policy = policyOf({
      Effect: "Allow",
      Principal: "*",
      Action: "s3:GetObject",
      Resource: "arn:aws:s3:::vault/*",
    });
    await client.putBucketPolicy({ bucket: "vault", policy }, as(alice));
    await client.putBucketTagging({ bucket: "vault", tagging: { tagSet: [{ key: "a", value: "1" }] } }, as(alice));
    const block = {
      blockPublicAcls: true,
      ignorePublicAcls: true,
      blockPublicPolicy: true,
      restrictPublicBuckets: true,
    };
    await client.putPublicAccessBlock({ bucket: "vault", publicAccessBlockConfiguration: block }, as(alice));
    await forkAndWait(harness, "copies", "vault");
    const copy = { bucket: "copies", key: "ledger", versionId: locked.versionId ?? "" };
    expect(await refusalOf(client.deleteObject(copy, as(alice)))).toContain("OBJECT_LOCKED");
    expect(await client.getPublicAccessBlock({ bucket: "copies" }, as(alice))).toMatchObject({
      publicAccessBlockConfiguration: block,
    });
    expect(await refusalOf(client.getBucketPolicy({ bucket: "copies" }, as(alice)))).toContain("NO_SUCH_BUCKET_POLICY");
    expect(await refusalOf(client.getBucketTagging({ bucket: "copies" }, as(alice)))).toContain("NO_SUCH_TAG_SET");
    expect(await refusalOf(get(harness, copy, as(bob)))).toContain("ACCESS_DENIED");
  });

  test("reserves the name, shows how far it is, and shows the bucket when all of it is there", async () => {
    const clock = new FakeClock(Date.UTC(2026, 0, 2));
    const harness = await startWithBucket({ clock });
    const { client, opened } = harness;
    await store(harness, "a", "one");
    await opened.jobs.stop();
    await fork(harness, "copies");
    const { status, requestedTime, stateTime } = await stateOf(harness, "copies");
    expect([status, requestedTime && timestampMs(requestedTime), stateTime]).toEqual([
      "IN_PROGRESS",
      Date.UTC(2026, 0, 2),
      undefined,
    ]);
    expect(await refusalOf(client.headBucket({ bucket: "copies" }, as(alice)))).toContain("NO_SUCH_BUCKET");
    expect((await client.listBuckets({}, as(alice))).buckets.map(({ name }) => name)).toEqual([source]);
    const creations = [alice, bob].map((account) => client.createBucket({ bucket: "copies" }, as(account)));
    expect(await Promise.all(creations.map((each) => refusalOf(each)))).toEqual([
      expect.stringContaining("BUCKET_ALREADY_OWNED_BY_YOU"),
      expect.stringContaining("BUCKET_ALREADY_EXISTS"),
    ]);
    await store(harness, "b", "written before the fork begins");
    clock.advance(1_000);
    await harness.stop();
    const again = await startHarness({ directory: harness.directory, clock });
    await again.opened.jobs.idle();
    const done = await stateOf(again, "copies");
    expect([done.status, done.versionCount, done.stateTime && timestampMs(done.stateTime)]).toEqual([
      "COMPLETED",
      2n,
      Date.UTC(2026, 0, 2) + 1_000,
    ]);
    expect((await again.client.listObjectsV2({ bucket: "copies" }, as(alice))).keyCount).toBe(2);
  });

  test("fails where the bucket is deleted before, and frees the name", async () => {
    const harness = await startWithBucket();
    const { client, opened } = harness;
    await opened.jobs.stop();
    await fork(harness, "copies");
    await client.deleteBucket({ bucket: source }, as(alice));
    await harness.stop();
    const again = await startHarness({ directory: harness.directory });
    await again.opened.jobs.idle();
    const failed = await again.opened.app.store.read((reader) => reader.get(forks, ["copies"]));
    expect([failed?.status, failed?.reason]).toEqual(["FAILED", "the bucket was deleted before its fork was made"]);
    await again.client.createBucket({ bucket: source }, as(alice));
    expect(await metadataOf(stateOf(again, "copies"))).toEqual({ destination: "copies" });
    expect(await refusalOf(again.client.createBucket({ bucket: "copies" }, as(alice)))).toBe("answered");
  });

  test("fails where a record of the bucket is damaged, and leaves nothing of what it has copied", async () => {
    const first = await startWithBucket();
    // More than one slice, so that some of it is copied before the damage is met.
    for (let index = 0; index < 600; index += 1) await store(first, `${1_000 + index}`, "x");
    const [newest] = await first.opened.app.store.read((reader) => reader.list(versions, { reverse: true, limit: 1 }));
    const harness = await damageRecord(first, versions, newest?.key ?? ["", "", 0]);
    await forkAndWait(harness, "copies");
    const failed = await stateOf(harness, "copies");
    expect([failed.status, failed.reason]).toEqual(["FAILED", "a record of the bucket is damaged"]);
    const [bucketId = ""] = newest?.key ?? [];
    const left = await harness.opened.app.store.read(async (reader) => {
      const all: string[] = [];
      for await (const { key } of walkTable(reader, versions)) if (key[0] !== bucketId) all.push(key[1]);
      return all;
    });
    expect(left).toEqual([]);
    expect(await refusalOf(harness.client.createBucket({ bucket: "copies" }, as(alice)))).toBe("answered");
  });

  test("shows one instant of a bucket that is written to all the time", async () => {
    const harness = await startWithBucket();
    const { client, opened } = harness;
    for (let index = 0; index < 400; index += 1) await store(harness, `key ${index}`, `0 ${index}`);
    await fork(harness, "copies");
    // Each round changes the keys in turn, so at any instant the rounds of a key and the next are equal or one apart.
    let isDone = false;
    const writing = (async () => {
      for (let round = 1; !isDone; round += 1)
        for (let index = 0; index < 400 && !isDone; index += 1)
          await (round % 3 === 0
            ? client.deleteObject({ bucket: source, key: `key ${index}` }, as(alice))
            : store(harness, `key ${index}`, `${round} ${index}`));
    })();
    await opened.jobs.idle();
    isDone = true;
    await writing;
    const { contents } = await client.listObjectsV2({ bucket: "copies" }, as(alice));
    const rounds = new Map<number, number>();
    for (const { key = "" } of contents) {
      const [round = "", index = ""] = (await read(harness, "copies", key)).split(" ");
      rounds.set(Number(index), Number(round));
    }
    const present = Array.from({ length: 400 }, (_each, index) => rounds.get(index));
    const changes = present.filter((round, index) => index > 0 && round !== present[index - 1]).length;
    expect(changes).toBeLessThanOrEqual(1);
    expect(await damages(harness)).toEqual([]);
  });

  test.each([
    // bucket, destination, caller, refusal; in the order in which they are refused
    ["none", "A", alice, "NO_SUCH_BUCKET"],
    [source, "A", bob, "ACCESS_DENIED"],
    [source, "A", alice, "INVALID_BUCKET_NAME"],
    [source, source, alice, "BUCKET_ALREADY_OWNED_BY_YOU"],
    [source, "hers", alice, "BUCKET_ALREADY_EXISTS"],
    [source, "second", alice, "BUCKET_ALREADY_OWNED_BY_YOU"],
    [source, "third", alice, "TOO_MANY_BUCKETS"],
  ])("of %s to %s by %s is refused with %s", async (bucket, destination, account, refusal) => {
    const harness = await startWithBucket({ limits: { bucketsPerAccountMax: 2 } });
    await harness.client.createBucket({ bucket: "hers" }, as(bob));
    await forkAndWait(harness, "second");
    const refused = await refusalOf(fork(harness, destination, bucket, as(account)));
    expect(refused.split(":")[0]).toBe(refusal);
  });

  test.each([
    // what a user may do, outcome
    [["ForkBucket", "CreateBucket"], "answered"],
    [["ForkBucket"], "ACCESS_DENIED"],
    [["CreateBucket", "GetObject", "ListBucket"], "ACCESS_DENIED"],
  ])("by a user who may %j is %s", async (actions, outcome) => {
    const harness = await startWithBucket();
    const statement = { Effect: "Allow", Action: actions.map((each) => `s3:${each}`), Resource: "*" };
    const caller = userCaller(alice, "carol", [policyOf(statement)]);
    const request = { bucket: source, destination: "copies" };
    expect(await outcomeOf(harness.opened.app, "forkBucket", request, caller)).toBe(outcome);
  });

  test("by another account is refused even where the bucket's policy allows it", async () => {
    const harness = await startWithBucket();
    const statement = { Effect: "Allow", Principal: "*", Action: "s3:ForkBucket", Resource: "arn:aws:s3:::photos" };
    await harness.client.putBucketPolicy({ bucket: source, policy: policyOf(statement) }, as(alice));
    expect(await refusalOf(fork(harness, "copies", source, as(bob)))).toContain("ACCESS_DENIED");
  });
});

describe("getBucketFork", () => {
  test.each([
    // bucket, destination, caller, refusal; in the order in which they are refused
    ["none", "copies", alice, "NO_SUCH_BUCKET"],
    [source, "copies", bob, "ACCESS_DENIED"],
    [source, "other", alice, "NO_SUCH_FORK"],
    ["hers", "copies", bob, "NO_SUCH_FORK"],
    [source, "copies", alice, "answered"],
  ])("of %s to %s by %s is %s", async (bucket, destination, account, refusal) => {
    const harness = await startWithBucket();
    await harness.client.createBucket({ bucket: "hers" }, as(bob));
    await forkAndWait(harness, "copies");
    const outcome = await refusalOf(harness.client.getBucketFork({ bucket, destination }, as(account)));
    expect(outcome.split(":")[0]).toBe(refusal);
  });
});
