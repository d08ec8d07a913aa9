import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import type { LifecycleRule, LifecycleRuleSchema } from "../../../gen/quartet/objectstorage/v1/lifecycle_pb.ts";
import { instant } from "../../../services/object-storage/domain/instant.ts";
import type { Table } from "../../../services/kit/store/table.ts";
import { findBucket } from "../../../services/object-storage/store/bucket.ts";
import { buckets, uploads as uploadTable } from "../../../services/object-storage/store/layout.ts";
import { putLeft } from "../../../services/object-storage/store/lifecycle.ts";
import { createLifecycle } from "../../../services/object-storage/work/lifecycle.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { freePort, startEventBus } from "../event-bus.ts";
import type { Harness, HarnessOptions } from "../harness.ts";
import { alice, as, get, put, refusalOf, startWithBucket } from "../harness.ts";
import { film, sendPart, startUpload } from "../multipart.ts";
import { damageRecord } from "../support/damage.ts";

type Rule = Exclude<MessageInitShape<typeof LifecycleRuleSchema>, LifecycleRule>;

const dayMs = 24 * 60 * 60 * 1000;
/** An hour after midnight. */
const startMs = Date.UTC(2026, 0, 1, 1);
const photo = (key: string) => ({ bucket: "photos", key });

const start = async (rules: Rule[], options: HarnessOptions & { readonly versioned?: boolean } = {}) => {
  const clock = new FakeClock(startMs);
  const harness = await startWithBucket({ clock, ...options });
  const turn = (status: string) =>
    harness.client.putBucketVersioning({ bucket: "photos", versioningConfiguration: { status } }, as(alice));
  if (options.versioned === true) await turn("Enabled");
  const lifecycleConfiguration = { rules: rules.map((rule) => ({ status: "Enabled", filter: {}, ...rule })) };
  await harness.client.putBucketLifecycleConfiguration({ bucket: "photos", lifecycleConfiguration }, as(alice));
  return { harness, clock, turn };
};

const apply = (harness: Harness) => harness.opened.lifecycle.run(new AbortController().signal);

const keysOf = async (harness: Harness) =>
  (await harness.client.listObjectsV2({ bucket: "photos" }, as(alice))).contents.map(({ key }) => key);

/** Every version: its key, and `marker` for a delete marker. */
const versionsOf = async (harness: Harness) => {
  const page = await harness.client.listObjectVersions({ bucket: "photos" }, as(alice));
  return [...page.versions.map(({ key }) => key), ...page.deleteMarkers.map(({ key }) => `${key} marker`)];
};

describe("lifecycle rules, when they are applied,", () => {
  test("end objects at the midnight after their days, by prefix, tags and size, and no others", async () => {
    const { harness, clock } = await start([
      { id: "logs", filter: { prefix: "logs/" }, expiration: { days: 2 } },
      { id: "tagged", filter: { tag: { key: "temporary", value: "yes" } }, expiration: { days: 1 } },
      {
        id: "sized",
        filter: { and: { objectSizeGreaterThan: 3n, objectSizeLessThan: 5n } },
        expiration: { days: 1 },
      },
      { id: "off", status: "Disabled", expiration: { days: 1 } },
    ]);
    await put(harness, photo("logs/1"), "x");
    await put(harness, { ...photo("t"), tagging: "temporary=yes&a=b" }, "x");
    for (const size of [3, 4, 5]) await put(harness, photo(`size ${size}`), "x".repeat(size));
    clock.set(Date.UTC(2026, 0, 3) - 1);
    await apply(harness);
    expect(await keysOf(harness)).toEqual(["logs/1", "size 3", "size 4", "size 5", "t"]);
    clock.set(Date.UTC(2026, 0, 3));
    await apply(harness);
    expect(await keysOf(harness)).toEqual(["logs/1", "size 3", "size 5"]);
    clock.set(Date.UTC(2026, 0, 4));
    await apply(harness);
    expect(await keysOf(harness)).toEqual(["size 3", "size 5"]);
    expect(harness.opened.lifecycle.stats()).toEqual({ expired: 3, removed: 0, transitioned: 0, aborted: 0 });
  });

  test("end objects on a date, also later ones", async () => {
    const { harness, clock } = await start([{ expiration: { date: instant(Date.UTC(2026, 0, 5)) } }]);
    await put(harness, photo("a"), "x");
    await apply(harness);
    expect(await keysOf(harness)).toEqual(["a"]);
    clock.set(Date.UTC(2026, 0, 5));
    await apply(harness);
    expect(await keysOf(harness)).toEqual([]);
    await put(harness, photo("b"), "x");
    await apply(harness);
    expect(await keysOf(harness)).toEqual([]);
  });

  test("put delete markers where versions are kept, end old versions, then markers that hide nothing", async () => {
    const { harness, clock } = await start(
      [
        { id: "current", expiration: { days: 1 } },
        { id: "old", noncurrentVersionExpiration: { noncurrentDays: 3 } },
      ],
      { versioned: true },
    );
    await put(harness, photo("a"), "1");
    clock.set(Date.UTC(2026, 0, 3));
    await apply(harness);
    expect(await versionsOf(harness)).toEqual(["a", "a marker"]);
    // Days of an old version count from the moment when the next one was made.
    clock.set(Date.UTC(2026, 0, 6) - 1);
    await apply(harness);
    expect(await versionsOf(harness)).toEqual(["a", "a marker"]);
    clock.set(Date.UTC(2026, 0, 6));
    await apply(harness);
    await apply(harness);
    expect(await versionsOf(harness)).toEqual([]);
  });

  test("count the days of a version that a rename has replaced from the rename, whatever date the object kept", async () => {
    const rule = { noncurrentVersionExpiration: { noncurrentDays: 3 } };
    const { harness, clock } = await start([rule], { versioned: true });
    await put(harness, photo("a"), "kept its date");
    clock.set(Date.UTC(2026, 0, 10));
    await put(harness, photo("b"), "replaced");
    await harness.client.renameObject({ ...photo("b"), renameSource: "a" }, as(alice));
    clock.set(Date.UTC(2026, 0, 13) - 1);
    await apply(harness);
    expect(await versionsOf(harness)).toEqual(["a", "b", "b", "a marker"]);
    clock.set(Date.UTC(2026, 0, 13));
    await apply(harness);
    expect(await versionsOf(harness)).toEqual(["b", "a marker"]);
  });

  test("remove delete markers that hide nothing where it is asked for, and only those", async () => {
    const { harness } = await start([{ expiration: { expiredObjectDeleteMarker: true } }], { versioned: true });
    await put(harness, photo("a"), "1");
    for (const key of ["a", "b"]) await harness.client.deleteObject(photo(key), as(alice));
    await apply(harness);
    expect(await versionsOf(harness)).toEqual(["a", "a marker"]);
  });

  test("keep so many newer versions, counted over the pages of a walk", async () => {
    const { harness, clock } = await start(
      [{ noncurrentVersionExpiration: { noncurrentDays: 1, newerNoncurrentVersions: 40 } }],
      { versioned: true },
    );
    for (let index = 0; index < 50; index += 1) await put(harness, photo("a"), `${index}`);
    await put(harness, photo("b"), "x");
    clock.advance(3 * dayMs);
    await apply(harness);
    expect(await versionsOf(harness)).toEqual([...Array.from({ length: 41 }, () => "a"), "b"]);
    expect((await get(harness, photo("a"))).body.toString()).toBe("49");
  });

  test("replace the null version by a marker while versioning is suspended", async () => {
    const { harness, clock, turn } = await start([{ expiration: { days: 1 } }], { versioned: true });
    await put(harness, photo("a"), "kept");
    await turn("Suspended");
    await put(harness, photo("a"), "null");
    clock.advance(2 * dayMs);
    await apply(harness);
    expect(await versionsOf(harness)).toEqual(["a", "a marker"]);
  });

  test("leave what is locked, and end it when the lock has ended", async () => {
    const { harness, clock } = await start([{ noncurrentVersionExpiration: { noncurrentDays: 1 } }], {
      versioned: true,
    });
    const lock = { bucket: "photos", objectLockConfiguration: { objectLockEnabled: "Enabled" } };
    await harness.client.putObjectLockConfiguration(lock, as(alice));
    const objectLockRetainUntilDate = instant(startMs + 9 * dayMs);
    await put(harness, { ...photo("a"), objectLockMode: "GOVERNANCE", objectLockRetainUntilDate }, "1");
    await put(harness, { ...photo("b"), objectLockLegalHoldStatus: "ON" }, "1");
    for (const key of ["a", "b", "c", "c"]) await put(harness, photo(key), "2");
    clock.advance(5 * dayMs);
    await apply(harness);
    expect(await versionsOf(harness)).toEqual(["a", "a", "b", "b", "c"]);
    clock.advance(5 * dayMs);
    await apply(harness);
    expect(await versionsOf(harness)).toEqual(["a", "b", "b", "c"]);
  });

  test("move objects to colder classes only, not small ones, and listings show it", async () => {
    const { harness, clock } = await start([
      {
        filter: { prefix: "" },
        transitions: [
          { days: 1, storageClass: "GLACIER_IR" },
          { days: 3, storageClass: "GLACIER" },
        ],
      },
    ]);
    const large = Buffer.alloc(128 * 1024);
    await put(harness, photo("a"), large);
    await put(harness, { ...photo("deep"), storageClass: "DEEP_ARCHIVE" }, large);
    await put(harness, photo("small"), large.subarray(1));
    const classes = async () =>
      (await harness.client.listObjectsV2({ bucket: "photos" }, as(alice))).contents.map((each) => each.storageClass);
    clock.set(Date.UTC(2026, 0, 3));
    await apply(harness);
    expect(await classes()).toEqual(["GLACIER_IR", "DEEP_ARCHIVE", "STANDARD"]);
    const before = await harness.client.headObject(photo("a"), as(alice));
    clock.set(Date.UTC(2026, 0, 5));
    await apply(harness);
    expect(await classes()).toEqual(["GLACIER", "DEEP_ARCHIVE", "STANDARD"]);
    expect(await refusalOf(get(harness, photo("a")))).toMatch(/^INVALID_OBJECT_STATE: /);
    const after = await harness.client.headObject(photo("a"), as(alice));
    expect([after.lastModified, after.eTag]).toEqual([before.lastModified, before.eTag]);
    await apply(harness);
    expect(harness.opened.lifecycle.stats().transitioned).toBe(2);
  });

  test("move small objects to archives where the bucket says so, and old versions after their own days", async () => {
    const { harness, clock } = await start([{ expiration: { days: 999 } }], { versioned: true });
    const rule = {
      status: "Enabled",
      filter: {},
      transitions: [
        { days: 1, storageClass: "GLACIER" },
        { days: 1, storageClass: "GLACIER_IR" },
      ],
      noncurrentVersionTransitions: [{ noncurrentDays: 2, storageClass: "DEEP_ARCHIVE" }],
    };
    await harness.client.putBucketLifecycleConfiguration(
      {
        bucket: "photos",
        lifecycleConfiguration: { rules: [rule] },
        transitionDefaultMinimumObjectSize: "varies_by_storage_class",
      },
      as(alice),
    );
    await put(harness, photo("a"), "1");
    await put(harness, photo("a"), "2");
    const classes = async () =>
      (await harness.client.listObjectVersions({ bucket: "photos" }, as(alice))).versions.map(
        (each) => each.storageClass,
      );
    clock.set(Date.UTC(2026, 0, 3));
    await apply(harness);
    expect(await classes()).toEqual(["GLACIER", "STANDARD"]);
    clock.set(Date.UTC(2026, 0, 4));
    await apply(harness);
    expect(await classes()).toEqual(["GLACIER", "DEEP_ARCHIVE"]);
  });

  test("abort uploads that were started too long ago, and free their parts", async () => {
    const { harness, clock } = await start([
      { filter: { prefix: "film" }, abortIncompleteMultipartUpload: { daysAfterInitiation: 1 } },
    ]);
    const uploadId = await startUpload(harness);
    await sendPart(harness, uploadId, 1, Buffer.alloc(100_000));
    await harness.client.createMultipartUpload(photo("other"), as(alice));
    clock.set(Date.UTC(2026, 0, 3));
    const late = await startUpload(harness);
    await apply(harness);
    const { uploads } = await harness.client.listMultipartUploads({ bucket: "photos" }, as(alice));
    expect(uploads.map((upload) => [upload.key, upload.uploadId === late])).toEqual([
      [film.key, true],
      ["other", false],
    ]);
    expect(await refusalOf(harness.client.listParts({ ...film, uploadId }, as(alice)))).toBe("NO_SUCH_UPLOAD");
  });

  test("abort no upload when they were taken back meanwhile", async () => {
    const { harness } = await start([{ abortIncompleteMultipartUpload: { daysAfterInitiation: 1 } }]);
    await startUpload(harness);
    const { app } = harness.opened;
    const clock = new FakeClock(startMs + 3 * dayMs);
    const { log } = capturingLogger();
    const slow = createLifecycle({ store: app.store, clock, log, app, dayMs, entriesPerSecond: 1, roundMs: dayMs });
    const running = slow.run(new AbortController().signal);
    await eventually(() => clock.pending().length > 0, "the round waits after it has seen the upload");
    await harness.client.deleteBucketLifecycle({ bucket: "photos" }, as(alice));
    clock.advance(1_000);
    await running;
    expect((await harness.client.listMultipartUploads({ bucket: "photos" }, as(alice))).uploads).toHaveLength(1);
  });

  test("take their time for what they change: a change as long as four looks at a version", async () => {
    const { harness } = await start([{ expiration: { days: 1 } }]);
    await put(harness, photo("a"), "x");
    const { app } = harness.opened;
    const clock = new FakeClock(startMs + 3 * dayMs);
    const { log } = capturingLogger();
    const slow = createLifecycle({ store: app.store, clock, log, app, dayMs, entriesPerSecond: 1, roundMs: dayMs });
    const running = slow.run(new AbortController().signal);
    await eventually(() => clock.pending().length > 0, "the round waits after it has ended the object");
    expect(clock.pending()).toEqual([startMs + 3 * dayMs + 5_010]);
    expect(await keysOf(harness)).toEqual([]);
    clock.advance(6_000);
    await running;
  });

  test.each([
    // the damaged record, of the bucket before the others
    ["bucket", buckets, () => ["photos"]],
    ["upload", uploadTable, (bucketId, uploadId) => [bucketId, film.key, uploadId]],
  ] as [string, Table, (...ids: string[]) => string[]][])(
    "are applied to the other buckets when a record of one %s is damaged",
    async (_name, table, keyOf) => {
      const rules = [{ expiration: { days: 1 }, abortIncompleteMultipartUpload: { daysAfterInitiation: 1 } }];
      const { harness: first, clock } = await start(rules);
      const bucket = await first.opened.app.store.read((reader) => findBucket(reader, "photos"));
      const key = keyOf(bucket?.bucketId ?? "", await startUpload(first));
      await put(first, photo("a"), "x");
      await first.client.createBucket({ bucket: "plates" }, as(alice));
      const lifecycleConfiguration = { rules: rules.map((rule) => ({ status: "Enabled", filter: {}, ...rule })) };
      await first.client.putBucketLifecycleConfiguration({ bucket: "plates", lifecycleConfiguration }, as(alice));
      await put(first, { bucket: "plates", key: "b" }, "x");
      const harness = await damageRecord(first, table, key, { clock });
      clock.advance(3 * dayMs);
      await apply(harness);
      expect((await harness.client.listObjectsV2({ bucket: "plates" }, as(alice))).contents).toEqual([]);
    },
  );

  test("continue an interrupted round at its key, and begin the next one at the start", async () => {
    const { harness } = await start([{ expiration: { days: 999 } }]);
    for (const key of ["a", "b", "c"]) await put(harness, photo(key), "x");
    const { store } = harness.opened.app;
    const versions = { key: "b", sequence: Number.MAX_SAFE_INTEGER, madeMs: 0, newer: -1 };
    await store.transact((transaction) => putLeft(transaction, "photos", { versions, uploads: undefined }));
    const rule = { status: "Enabled", filter: {}, expiration: { date: instant(0) } };
    await harness.client.putBucketLifecycleConfiguration(
      { bucket: "photos", lifecycleConfiguration: { rules: [rule] } },
      as(alice),
    );
    const ended = new AbortController();
    ended.abort();
    await harness.opened.lifecycle.run(ended.signal);
    expect(await keysOf(harness)).toEqual(["a", "b", "c"]);
    await apply(harness);
    expect(await keysOf(harness)).toEqual(["a"]);
    await apply(harness);
    expect(await keysOf(harness)).toEqual([]);
  });

  test("tell the event bus what they did, in the name of the service", async () => {
    const port = await freePort();
    const told = await startEventBus(port);
    const { harness, clock } = await start(
      [
        { filter: { prefix: "a" }, expiration: { days: 1 } },
        { filter: { objectSizeGreaterThan: 0n }, transitions: [{ days: 1, storageClass: "GLACIER" }] },
      ],
      { eventBusAddress: `http://127.0.0.1:${port}`, versioned: true },
    );
    await put(harness, photo("a"), "x");
    await put(harness, photo("b"), "x");
    const notificationConfiguration = { eventBridgeConfiguration: {} };
    await harness.client.putBucketNotificationConfiguration({ bucket: "photos", notificationConfiguration }, as(alice));
    clock.set(Date.UTC(2026, 0, 3));
    await apply(harness);
    await eventually(() => told.length === 2, "both events have come");
    const details = told.flatMap(({ request }) =>
      request.entries.map(({ detailType, detail }) => [detailType, JSON.parse(detail ?? "") as object] as const),
    );
    const byType = Object.fromEntries(details);
    expect(byType["Object Deleted"]).toMatchObject({
      object: { key: "a" },
      requester: "s3.amazonaws.com",
      reason: "Lifecycle Expiration",
      "deletion-type": "Delete Marker Created",
    });
    expect(byType["Object Storage Class Changed"]).toMatchObject({
      object: { key: "b" },
      requester: "s3.amazonaws.com",
      "destination-storage-class": "GLACIER",
    });
  });
});

test("days can be shorter, and then end without a midnight", async () => {
  const { harness, clock } = await start([{ expiration: { days: 2 } }], { lifecycleDayMs: 10_000 });
  await put(harness, photo("a"), "x");
  clock.advance(19_999);
  await apply(harness);
  expect(await keysOf(harness)).toEqual(["a"]);
  await eventually(async () => {
    clock.advance(1_000);
    return (await keysOf(harness)).length === 0;
  }, "the work of the service has ended the object");
});
