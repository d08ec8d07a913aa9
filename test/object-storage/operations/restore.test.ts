import { describe, expect, test } from "vitest";

import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { freePort, startEventBus } from "../event-bus.ts";
import type { Harness, HarnessOptions } from "../harness.ts";
import { alice, as, get, metadataOf, notImplemented, put, refusalOf, startWithBucket } from "../harness.ts";
import { film, startUpload } from "../multipart.ts";

const hourMs = 60 * 60 * 1000;
const startMs = Date.UTC(2026, 0, 1, 1);
const cat = { bucket: "photos", key: "cat.jpg" };

const start = async (storageClass = "GLACIER", options: HarnessOptions = {}) => {
  const clock = new FakeClock(startMs);
  const harness = await startWithBucket({ clock, restoreDelayMs: 3 * hourMs, ...options });
  await put(harness, { ...cat, storageClass }, "meow");
  return { harness, clock };
};

const restore = async (harness: Harness, days: number) =>
  (await harness.client.restoreObject({ ...cat, restoreRequest: { days } }, as(alice))).statusCode;

const headOf = async (harness: Harness) => (await harness.client.headObject(cat, as(alice))).restore;

const content = async (harness: Harness) => (await get(harness, cat)).body.toString();

describe("objects in an archive class", () => {
  test.each(["GLACIER", "DEEP_ARCHIVE"])("%s are stored and shown, and not read or copied", async (storageClass) => {
    const { harness } = await start(storageClass);
    expect((await harness.client.headObject(cat, as(alice))).storageClass).toBe(storageClass);
    expect(await refusalOf(get(harness, cat))).toBe(
      "INVALID_OBJECT_STATE: The operation is not valid for the object's storage class",
    );
    expect(await metadataOf(get(harness, cat))).toMatchObject({ storage_class: storageClass });
    const copy = { ...cat, key: "copy", copySource: "photos/cat.jpg" };
    const refused = /^OBJECT_NOT_IN_ACTIVE_TIER/;
    expect(await refusalOf(harness.client.copyObject(copy, as(alice)))).toMatch(refused);
    const uploadId = await startUpload(harness);
    const part = { ...film, uploadId, partNumber: 1, copySource: "photos/cat.jpg" };
    expect(await refusalOf(harness.client.uploadPartCopy(part, as(alice)))).toMatch(refused);
  });
});

describe("restoreObject", () => {
  test("makes an object readable after the delay, for its days and to the next midnight", async () => {
    const { harness, clock } = await start();
    expect(await headOf(harness)).toBeUndefined();
    expect(await restore(harness, 2)).toBe(202);
    expect(await headOf(harness)).toBe('ongoing-request="true"');
    expect(await refusalOf(get(harness, cat))).toMatch(/^INVALID_OBJECT_STATE/);
    clock.advance(3 * hourMs);
    expect(await content(harness)).toBe("meow");
    expect(await headOf(harness)).toBe('ongoing-request="false", expiry-date="Sun, 04 Jan 2026 00:00:00 GMT"');
    await harness.client.copyObject({ ...cat, key: "copy", copySource: "photos/cat.jpg" }, as(alice));
    expect((await get(harness, { ...cat, key: "copy" })).body.toString()).toBe("meow");
    clock.set(Date.UTC(2026, 0, 4) - 1);
    expect(await content(harness)).toBe("meow");
    clock.set(Date.UTC(2026, 0, 4));
    expect(await refusalOf(get(harness, cat))).toMatch(/^INVALID_OBJECT_STATE/);
    expect(await headOf(harness)).toBeUndefined();
    expect((await harness.client.headObject(cat, as(alice))).storageClass).toBe("GLACIER");
  });

  test("is shown by listings that are asked for it, while it lasts", async () => {
    const { harness, clock } = await start();
    const { client } = harness;
    await put(harness, { bucket: "photos", key: "dog.jpg" }, "woof");
    const seen = async (optionalObjectAttributes: readonly string[]) => {
      const request = { bucket: "photos", optionalObjectAttributes: [...optionalObjectAttributes] };
      const listed = await Promise.all([
        client.listObjects(request, as(alice)).then(({ contents }) => contents),
        client.listObjectsV2(request, as(alice)).then(({ contents }) => contents),
        client.listObjectVersions(request, as(alice)).then(({ versions }) => versions),
      ]);
      return listed.map((rows) =>
        rows.map(({ restoreStatus: status }) => status && [status.isRestoreInProgress, status.restoreExpiryDate]),
      );
    };
    const always = (status: unknown) => [
      [status, undefined],
      [status, undefined],
      [status, undefined],
    ];
    expect(await seen(["RestoreStatus"])).toEqual(always(undefined));
    await restore(harness, 2);
    expect(await seen([])).toEqual(always(undefined));
    expect(await seen(["RestoreStatus"])).toEqual(always([true, undefined]));
    clock.advance(3 * hourMs);
    const expiry = expect.objectContaining({ seconds: BigInt(Date.UTC(2026, 0, 4) / 1000) }) as unknown;
    expect(await seen(["RestoreStatus"])).toEqual(always([false, expiry]));
    clock.set(Date.UTC(2026, 0, 4));
    expect(await seen(["RestoreStatus"])).toEqual(always(undefined));
  });

  test("of a restored object moves its end, and while it is being restored is refused", async () => {
    const { harness, clock } = await start();
    await restore(harness, 1);
    expect(await refusalOf(restore(harness, 1))).toBe("RESTORE_ALREADY_IN_PROGRESS");
    clock.advance(3 * hourMs);
    expect(await restore(harness, 5)).toBe(200);
    expect(await headOf(harness)).toBe('ongoing-request="false", expiry-date="Wed, 07 Jan 2026 00:00:00 GMT"');
    expect(await content(harness)).toBe("meow");
    expect(await restore(harness, 1)).toBe(200);
    clock.set(Date.UTC(2026, 0, 3));
    expect(await refusalOf(get(harness, cat))).toMatch(/^INVALID_OBJECT_STATE/);
    expect(await restore(harness, 1)).toBe(202);
  });

  test("tells the event bus when it begins, when the object can be read, and when its copy ends", async () => {
    const port = await freePort();
    const told = await startEventBus(port);
    const { harness, clock } = await start("GLACIER", { eventBusAddress: `http://127.0.0.1:${port}` });
    const notificationConfiguration = { eventBridgeConfiguration: {} };
    await harness.client.putBucketNotificationConfiguration({ bucket: "photos", notificationConfiguration }, as(alice));
    await restore(harness, 1);
    await eventually(() => told.length === 1, "the begin was told");
    clock.advance(3 * hourMs);
    await eventually(() => told.length === 2, "the end of the restore was told");
    clock.set(Date.UTC(2026, 0, 3));
    await eventually(() => told.length === 3, "the end of the copy was told");
    const seen = told.map(({ request: { entries } }) => {
      const detail = JSON.parse(entries[0]?.detail ?? "") as Readonly<Record<string, unknown>>;
      return [
        entries[0]?.detailType,
        detail["requester"],
        detail["source-storage-class"],
        detail["restore-expiry-time"],
        detail["reason"],
      ];
    });
    expect(seen).toEqual([
      ["Object Restore Initiated", alice, "GLACIER", undefined, "RestoreObject"],
      ["Object Restore Completed", "s3.amazonaws.com", "GLACIER", "2026-01-03T00:00:00.000Z", undefined],
      ["Object Restore Expired", "s3.amazonaws.com", "GLACIER", undefined, undefined],
    ]);
  });

  test.each([
    // members, restore request, storage class, reason; in the order of refusal
    [{ bucket: "unknown" }, { type: "SELECT" }, "GLACIER", "NO_SUCH_BUCKET"],
    [{ key: "none" }, { type: "SELECT" }, "GLACIER", notImplemented("Type")],
    [{ key: "none" }, { selectParameters: {} }, "GLACIER", notImplemented("SelectParameters")],
    [{ key: "none" }, { outputLocation: {} }, "GLACIER", notImplemented("OutputLocation")],
    [{ key: "none" }, undefined, "GLACIER", "MALFORMED_XML"],
    [{ key: "none" }, {}, "GLACIER", "MALFORMED_XML"],
    [{ key: "none" }, { days: 1, tier: "Slow" }, "GLACIER", "MALFORMED_XML"],
    [{ key: "none" }, { days: 1, glacierJobParameters: { tier: "Slow" } }, "GLACIER", "MALFORMED_XML"],
    [
      { key: "none" },
      { days: 0 },
      "GLACIER",
      "INVALID_ARGUMENT: Days must be a positive integer, and not longer than 100 years",
    ],
    [{ key: "none" }, { days: 1 }, "GLACIER", "NO_SUCH_KEY"],
    [
      {},
      { days: 1, tier: "Expedited" },
      "STANDARD",
      "INVALID_OBJECT_STATE: Restore is not allowed for the object's current storage class",
    ],
    [
      {},
      { days: 1, tier: "Expedited" },
      "DEEP_ARCHIVE",
      "INVALID_ARGUMENT: Retrieval option is not supported by this storage class",
    ],
  ])("with %o and %o of %s is refused with %s", async (members, restoreRequest, storageClass, reason) => {
    const { harness } = await start(storageClass);
    const request = { ...cat, ...(restoreRequest && { restoreRequest }), ...members };
    expect(await refusalOf(harness.client.restoreObject(request, as(alice)))).toBe(reason);
  });
});
