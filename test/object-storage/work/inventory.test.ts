import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";

import { describe, expect, test, vi } from "vitest";

import { ServerSideEncryption } from "../../../gen/quartet/objectstorage/v1/encryption_pb.ts";
import { instant } from "../../../services/object-storage/domain/instant.ts";
import { writeInventories } from "../../../services/object-storage/work/inventory.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { startWithKeys } from "../encryption/keys.ts";
import type { Harness } from "../harness.ts";
import { alice, as, bob, get, put, startWithBucket } from "../harness.ts";

const { AES256, KMS } = ServerSideEncryption;
const dayMs = 24 * 60 * 60 * 1000;
const startMs = Date.UTC(2026, 0, 2, 3, 4, 5);

/** Alice's versioned bucket `photos`, and `reports` for its inventories. */
const start = async () => {
  const clock = new FakeClock(startMs);
  const harness = await startWithBucket({ clock });
  await harness.client.createBucket({ bucket: "reports" }, as(alice));
  const enabled = { bucket: "photos", versioningConfiguration: { status: "Enabled" } };
  await harness.client.putBucketVersioning(enabled, as(alice));
  return { harness, clock };
};

const configure = (harness: Harness, id: string, members: object, { bucket = "photos", account = alice } = {}) =>
  harness.client.putBucketInventoryConfiguration(
    {
      bucket,
      id,
      inventoryConfiguration: {
        id,
        destination: { s3BucketDestination: { bucket: "arn:aws:s3:::reports", format: "CSV", prefix: "lists" } },
        isEnabled: true,
        includedObjectVersions: "Current",
        schedule: { frequency: "Daily" },
        ...members,
      },
    },
    as(account),
  );

const write = async (harness: Harness) => {
  const { inventories } = harness.opened;
  return inventories && writeInventories(inventories, new AbortController().signal);
};

const reports = async (harness: Harness) =>
  (await harness.client.listObjectsV2({ bucket: "reports" }, as(alice))).contents.map(({ key }) => key ?? "");

test("an inventory lists all versions with its columns, and a manifest with digests names the file", async () => {
  const { harness } = await start();
  const odd = 'a/"é b".txt';
  await put(harness, { bucket: "photos", key: odd }, "1");
  const { versionId } = await put(harness, { bucket: "photos", key: odd, storageClass: "GLACIER_IR" }, "22");
  const marker = await harness.client.deleteObject({ bucket: "photos", key: "gone" }, as(alice));
  const optionalFields = ["Size", "LastModifiedDate", "StorageClass", "ETag", "IsMultipartUploaded"];
  await configure(harness, "all", { includedObjectVersions: "All", optionalFields });
  await write(harness);

  const keys = await reports(harness);
  const [manifestKey, checksumKey, dataKey] = [
    "lists/photos/all/2026-01-02T03-04Z/manifest.json",
    "lists/photos/all/2026-01-02T03-04Z/manifest.checksum",
    keys.find((key) => key.startsWith("lists/photos/all/data/")) ?? "",
  ];
  expect(keys.toSorted()).toEqual([manifestKey, checksumKey, dataKey].toSorted());
  const data = (await get(harness, { bucket: "reports", key: dataKey })).body;
  const lines = gunzipSync(data).toString().split("\n");
  expect(lines[0]).toBe(
    `"photos","a/%22%C3%A9+b%22.txt","${versionId}","true","false","2","2026-01-02T03:04:05.000Z","GLACIER_IR","b6d767d2f8ed5d21a44b0e5886680cb9","false"`,
  );
  expect(lines[1]).toContain('"false","false","1","2026-01-02T03:04:05.000Z","STANDARD"');
  expect(lines[2]).toBe(`"photos","gone","${marker.versionId}","true","true","","2026-01-02T03:04:05.000Z","","",""`);
  expect(lines.slice(3)).toEqual([""]);

  const manifest = (await get(harness, { bucket: "reports", key: manifestKey })).body;
  expect(JSON.parse(manifest.toString())).toEqual({
    sourceBucket: "photos",
    destinationBucket: "arn:aws:s3:::reports",
    version: "2016-11-30",
    creationTimestamp: String(startMs),
    fileFormat: "CSV",
    fileSchema:
      "Bucket, Key, VersionId, IsLatest, IsDeleteMarker, Size, LastModifiedDate, StorageClass, ETag, IsMultipartUploaded",
    files: [{ key: dataKey, size: data.length, MD5checksum: createHash("md5").update(data).digest("hex") }],
  });
  const checksum = (await get(harness, { bucket: "reports", key: checksumKey })).body;
  expect(checksum.toString()).toBe(createHash("md5").update(manifest).digest("hex"));
});

test("an inventory of current versions lists those with its prefix only, over many pages", async () => {
  const { harness } = await start();
  for (let index = 0; index < 40; index += 1) {
    await put(harness, { bucket: "photos", key: `in/${index}` }, "old");
    await put(harness, { bucket: "photos", key: `in/${index}` }, "new");
  }
  await harness.client.deleteObject({ bucket: "photos", key: "in/7" }, as(alice));
  await put(harness, { bucket: "photos", key: "out" }, "x");
  await configure(harness, "current", { filter: { prefix: "in/" } });
  await write(harness);
  const dataKey = (await reports(harness)).find((key) => key.includes("/data/")) ?? "";
  const lines = gunzipSync((await get(harness, { bucket: "reports", key: dataKey })).body)
    .toString()
    .trimEnd()
    .split("\n");
  expect(lines).toHaveLength(39);
  expect(lines).not.toContain('"photos","in/7"');
  expect(lines[0]).toBe('"photos","in/0"');
});

test("the files of an inventory are encrypted as it says, or else by the default of their bucket", async () => {
  const clock = new FakeClock(startMs);
  const { harness } = await startWithKeys({ clock });
  await harness.client.createBucket({ bucket: "reports" }, as(alice));
  const rules = [{ applyServerSideEncryptionByDefault: { sseAlgorithm: KMS, kmsMasterKeyId: "crm" } }];
  await harness.client.putBucketEncryption(
    { bucket: "reports", serverSideEncryptionConfiguration: { rules } },
    as(alice),
  );
  const encrypted = (id: string, encryption?: object) => {
    const s3BucketDestination = { bucket: "arn:aws:s3:::reports", format: "CSV", encryption };
    return configure(harness, id, { destination: { s3BucketDestination } });
  };
  await encrypted("service", { sseS3: {} });
  await encrypted("managed", { sseKms: { keyId: "alias/crm" } });
  await encrypted("unset");
  await encrypted("unusable", { sseKms: { keyId: "old" } });
  await write(harness);

  const shown = await Promise.all(
    (await reports(harness)).map(async (key) => {
      const { serverSideEncryption, sseKmsKeyId } = await harness.client.headObject(
        { bucket: "reports", key },
        as(alice),
      );
      return [key.split("/")[1], serverSideEncryption, sseKmsKeyId];
    }),
  );
  const managed = "arn:aws:kms:us-east-1:111111111111:key/crm";
  expect(shown).toEqual(
    [
      ["managed", KMS, managed],
      ["service", AES256, undefined],
      ["unset", KMS, managed],
    ].flatMap((row) => [row, row, row]),
  );
});

test("an inventory is written once a day or a week, and not while it is disabled", async () => {
  const { harness, clock } = await start();
  await configure(harness, "daily", {});
  await configure(harness, "weekly", { schedule: { frequency: "Weekly" } });
  await configure(harness, "off", { isEnabled: false });
  const manifests = async () => {
    const keys = await reports(harness);
    return ["daily", "weekly", "off"].map(
      (id) => keys.filter((key) => key.startsWith(`lists/photos/${id}/2026`) && key.endsWith(".json")).length,
    );
  };
  await write(harness);
  await write(harness);
  expect(await manifests()).toEqual([1, 1, 0]);
  for (let day = 0; day < 7; day += 1) {
    clock.advance(dayMs);
    await write(harness);
  }
  expect(await manifests()).toEqual([8, 2, 0]);
});

test("an inventory is not held up for years by a clock that was set ahead", async () => {
  const { harness, clock } = await start();
  await configure(harness, "daily", {});
  clock.advance(3_650 * dayMs);
  await write(harness);
  clock.setBack(3_650 * dayMs);
  await write(harness);
  const keys = await reports(harness);
  expect(keys.filter((key) => key.endsWith("manifest.json"))).toHaveLength(2);
});

describe("of many reports", () => {
  /** Writes the reports of Alice and Bob, each of which takes two minutes; returns the folders in their order. */
  const writeSlowly = async ({ harness, clock }: Awaited<ReturnType<typeof start>>, fails = "") => {
    const { app } = harness.opened;
    const order: string[] = [];
    const { log } = capturingLogger();
    const options = {
      app,
      log,
      put: async (_account: string, { key }: { readonly key: string }, body: AsyncIterable<Uint8Array>) => {
        for await (const piece of body) expect(piece.length).toBeGreaterThan(0);
        if (!key.endsWith(".gz")) return;
        order.push(key.slice("lists/".length, key.indexOf("/data/")));
        clock.advance(2 * 60_000);
        if (key.includes(fails || "?")) throw new Error("the destination is gone");
      },
    };
    await writeInventories(options, new AbortController().signal);
    return order;
  };

  test("accounts take turns, and all are written in one round", async () => {
    const started = await start();
    const { harness } = started;
    await harness.client.createBucket({ bucket: "plates" }, as(bob));
    for (const id of ["1", "2", "3"]) await configure(harness, id, {});
    const destination = { s3BucketDestination: { bucket: "arn:aws:s3:::plates", format: "CSV", prefix: "lists" } };
    for (const id of ["4", "5"]) await configure(harness, id, { destination }, { bucket: "plates", account: bob });
    expect(await writeSlowly(started)).toEqual(["photos/1", "plates/4", "photos/2", "plates/5", "photos/3"]);
    expect(await writeSlowly(started)).toEqual([]);
  });

  test("one that fails is tried once in a round, and holds up no other", async () => {
    const started = await start();
    for (const id of ["1", "2", "3"]) await configure(started.harness, id, {});
    expect(await writeSlowly(started, "photos/1/")).toEqual(["photos/1", "photos/2", "photos/3"]);
    expect(await writeSlowly(started)).toEqual(["photos/1"]);
  });
});

test("a report that takes long does not hold up lifecycle rules", async () => {
  const { harness, clock } = await start();
  const { inventories } = harness.opened;
  if (inventories === undefined) throw new Error("the harness writes no inventories");
  const { promise, resolve } = Promise.withResolvers<void>();
  const written = vi.spyOn(inventories, "put").mockReturnValue(promise);
  await configure(harness, "slow", {});
  const hourPasses = (): void => clock.advance(60 * 60_000);
  await eventually(() => {
    hourPasses();
    return written.mock.calls.length > 0;
  }, "the report has begun");

  await put(harness, { bucket: "photos", key: "a" }, "x");
  const rules = [{ status: "Enabled", filter: {}, expiration: { date: instant(Date.UTC(2026, 0, 1)) } }];
  await harness.client.putBucketLifecycleConfiguration(
    { bucket: "photos", lifecycleConfiguration: { rules } },
    as(alice),
  );
  await eventually(async () => {
    hourPasses();
    return (await harness.client.listObjectsV2({ bucket: "photos" }, as(alice))).contents.length === 0;
  }, "the rule has ended the object");
  expect(written).toHaveBeenCalledOnce();
  resolve();
});
