import { describe, expect, test } from "vitest";

import { instant } from "../../../services/object-storage/domain/instant.ts";
import type { Table } from "../../../services/kit/store/table.ts";
import { lifecycleProgress } from "../../../services/object-storage/store/layout.ts";
import { listLeft, putLeft, putSweep } from "../../../services/object-storage/store/lifecycle.ts";
import { createLifecycle } from "../../../services/object-storage/work/lifecycle.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import type { Harness } from "../harness.ts";
import { alice, as, bob, put, startHarness } from "../harness.ts";
import { damageRecord } from "../support/damage.ts";

/*
 * A turn of 256 entries is two pages of 32 objects that are deleted: each of these counts as 5 entries. So of a bucket
 * 64 objects are deleted at a time.
 */
const turnEntries = 256;
const dayMs = 24 * 60 * 60 * 1000;

/** The rule by which every object is due at once. */
const dueAtOnce = { expiration: { date: instant(0) } };

const create = async ({ client }: Harness, account: string, bucket: string, rule: object = dueAtOnce) => {
  await client.createBucket({ bucket }, as(account));
  const rules = [{ status: "Enabled", filter: {}, ...rule }];
  await client.putBucketLifecycleConfiguration({ bucket, lifecycleConfiguration: { rules } }, as(account));
};

const fill = async (harness: Harness, account: string, bucket: string, count: number): Promise<void> => {
  const keys = Array.from({ length: count }, (_, index) => String(index).padStart(4, "0"));
  await Promise.all(keys.map((key) => put(harness, { bucket, key }, "x", {}, as(account))));
};

/** The rules of a service, with what they have deleted in order. `onDeleted` is called within each deletion. */
const open = ({ opened: { app } }: Harness, onDeleted: (count: number) => Promise<void> = async () => undefined) => {
  const deleted: string[] = [];
  const announce: typeof app.events.announce = async (_transaction, _origin, { name }, { key }) => {
    deleted.push(`${name}/${key}`);
    await onDeleted(deleted.length);
  };
  const lifecycle = createLifecycle({
    store: app.store,
    clock: app.clock,
    log: capturingLogger().log,
    app: { ...app, events: { announce } },
    dayMs,
    entriesPerSecond: 1_000_000_000,
    roundMs: 60 * 60 * 1000,
    turnEntries,
  });
  return { deleted, run: (signal = new AbortController().signal) => lifecycle.run(signal) };
};

/** After how many deletions the first object of a bucket was deleted. */
const firstOf = (deleted: readonly string[], bucket: string): number =>
  deleted.findIndex((name) => name.startsWith(`${bucket}/`));

/** The service's own rounds are 42 days apart. */
const start = (): Promise<Harness> =>
  startHarness({ clock: new FakeClock(Date.UTC(2026, 0, 1, 1)), lifecycleDayMs: 1_000 * dayMs });

describe("lifecycle rules", () => {
  test("are applied to the buckets of all accounts in turn, and to those of one", async () => {
    const harness = await start();
    for (const bucket of ["albums", "photos"]) {
      await create(harness, alice, bucket);
      await fill(harness, alice, bucket, 200);
    }
    await create(harness, bob, "plates");
    await fill(harness, bob, "plates", 3);
    const { deleted, run } = open(harness);
    await run();
    expect(["albums", "photos", "plates"].map((bucket) => firstOf(deleted, bucket))).toEqual([0, 64, 128]);
    expect([deleted.length, new Set(deleted).size]).toEqual([403, 403]);
  });

  test("are applied to buckets that are done again an hour later, while a large one is not", async () => {
    const harness = await start();
    await create(harness, alice, "photos");
    await fill(harness, alice, "photos", 300);
    await create(harness, bob, "plates");
    const { deleted, run } = open(harness, async (count) => {
      if (count !== 100) return;
      await put(harness, { bucket: "plates", key: "late" }, "x", {}, as(bob));
      (harness.opened.app.clock as FakeClock).advance(60 * 60 * 1000);
    });
    await run();
    expect([firstOf(deleted, "plates"), deleted.length]).toEqual([128, 301]);
  });

  test("go on where they were after a restart, in each bucket of which something is left", async () => {
    const harness = await start();
    for (const bucket of ["albums", "photos"]) {
      await create(harness, alice, bucket);
      await fill(harness, alice, bucket, 200);
    }
    const ending = new AbortController();
    const first = open(harness, async (count) => {
      if (count === 128) ending.abort();
    });
    await first.run(ending.signal);
    const left = await harness.opened.app.store.read((reader) => listLeft(reader, "", 10));
    expect(left.map(({ name, position }) => [name, position.versions?.key])).toEqual([
      ["albums", "0063"],
      ["photos", "0063"],
    ]);
    const second = open(harness);
    await second.run();
    expect([second.deleted.length, new Set([...first.deleted, ...second.deleted]).size]).toEqual([272, 400]);
    expect(await harness.opened.app.store.read((reader) => listLeft(reader, "", 10))).toEqual([]);
  });

  test("come to an end of a key with more versions than a turn has", async () => {
    const harness = await start();
    await create(harness, alice, "photos", { noncurrentVersionExpiration: { noncurrentDays: 1 } });
    const versioningConfiguration = { status: "Enabled" };
    await harness.client.putBucketVersioning({ bucket: "photos", versioningConfiguration }, as(alice));
    for (let version = 0; version < 200; version += 1) await put(harness, { bucket: "photos", key: "a" }, "x");
    (harness.opened.app.clock as FakeClock).advance(3 * dayMs);
    const { deleted, run } = open(harness);
    await run();
    const { versions } = await harness.client.listObjectVersions({ bucket: "photos" }, as(alice));
    expect([deleted.length, versions.length]).toEqual([199, 1]);
  });

  test("abort the uploads of a bucket in turns as well", async () => {
    const harness = await start();
    await create(harness, alice, "photos", { abortIncompleteMultipartUpload: { daysAfterInitiation: 1 } });
    const keys = Array.from({ length: 350 }, (_, index) => `film ${String(index).padStart(3, "0")}`);
    for (const key of keys) await harness.client.createMultipartUpload({ bucket: "photos", key }, as(alice));
    (harness.opened.app.clock as FakeClock).advance(3 * dayMs);
    await open(harness).run();
    expect((await harness.client.listMultipartUploads({ bucket: "photos" }, as(alice))).uploads).toEqual([]);
  });

  test.each([
    // what is damaged
    ["of a bucket", "bucket/photos"],
    ["of the walk over all buckets", "lifecycle"],
  ])("begin at the first object where the record %s of how far they have come is damaged", async (_what, name) => {
    const first = await start();
    await create(first, alice, "photos");
    await fill(first, alice, "photos", 10);
    const versions = { key: "0005", sequence: Number.MAX_SAFE_INTEGER, madeMs: 0, newer: -1 };
    await first.opened.app.store.transact((transaction) => {
      if (name === "lifecycle") putSweep(transaction, "photos");
      else putLeft(transaction, "photos", { versions, uploads: undefined });
    });
    const harness = await damageRecord(first, lifecycleProgress as Table, [name]);
    await harness.opened.lifecycle.run(new AbortController().signal);
    expect((await harness.client.listObjectsV2({ bucket: "photos" }, as(alice))).contents).toEqual([]);
  });

  test("end with a bucket that is deleted while something is left of it", async () => {
    const harness = await start();
    const { store } = harness.opened.app;
    await store.transact((transaction) => putLeft(transaction, "gone", { versions: undefined, uploads: undefined }));
    await open(harness).run();
    expect(await store.read((reader) => listLeft(reader, "", 10))).toEqual([]);
  });
});
