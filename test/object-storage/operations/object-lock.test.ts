import { describe, expect, test } from "vitest";

import { userCaller } from "../../../services/kit/identity/caller.ts";
import { instant, instantMs } from "../../../services/object-storage/domain/instant.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { headOf } from "../access/in-process.ts";
import type { Harness } from "../harness.ts";
import { alice, as, bob, get, notImplemented, put, refusalOf, startHarness } from "../harness.ts";
import { bytes, complete, film, sendPart, smallParts, startUpload } from "../multipart.ts";

const dayMs = 24 * 60 * 60 * 1000;
const startMs = Date.UTC(2026, 0, 2, 3, 4, 5);
const cat = { bucket: "photos", key: "cat.jpg" };
/** This many days after the tests begin. */
const day = (days: number) => instant(startMs + days * dayMs);
const lockedFor = (mode: string, days: number) => ({
  objectLockMode: mode,
  objectLockRetainUntilDate: day(days),
});

/** Alice's bucket `photos`, whose versions can be locked. */
const startLockable = async () => {
  const clock = new FakeClock(startMs);
  const harness = await startHarness({ clock, limits: smallParts });
  await harness.client.createBucket({ bucket: "photos", objectLockEnabledForBucket: true }, as(alice));
  return { harness, clock };
};

const lockWith = (harness: Harness, rule: object | undefined) =>
  harness.client.putObjectLockConfiguration(
    { bucket: "photos", objectLockConfiguration: { objectLockEnabled: "Enabled", ...(rule && { rule }) } },
    as(alice),
  );

const remove = (harness: Harness, versionId: string | undefined, members: object = {}) =>
  refusalOf(harness.client.deleteObject({ ...cat, ...(versionId && { versionId }), ...members }, as(alice)));

const retain = (harness: Harness, retention: object | undefined, members: object = {}) =>
  refusalOf(harness.client.putObjectRetention({ ...cat, ...(retention && { retention }), ...members }, as(alice)));

/** The retention of the current version: its mode, and its days after the tests began. */
const retentionOf = async (harness: Harness, key = "cat.jpg") => {
  const { retention } = await harness.client.getObjectRetention({ bucket: "photos", key }, as(alice));
  return [retention?.mode, retention?.retainUntilDate && (instantMs(retention.retainUntilDate) - startMs) / dayMs];
};

const missing = "INVALID_REQUEST: Bucket is missing Object Lock Configuration";
const inThePast = "INVALID_ARGUMENT: The retain until date must be in the future!";

describe("the object lock of a bucket", () => {
  test("is turned on when it is created, with versioning, which then cannot be suspended", async () => {
    const { harness } = await startLockable();
    const { client } = harness;
    expect((await client.getBucketVersioning({ bucket: "photos" }, as(alice))).status).toBe("Enabled");
    const read = async () =>
      (await client.getObjectLockConfiguration({ bucket: "photos" }, as(alice))).objectLockConfiguration;
    expect(await read()).toMatchObject({ objectLockEnabled: "Enabled" });
    expect(await read()).not.toHaveProperty("rule");
    const suspend = { bucket: "photos", versioningConfiguration: { status: "Suspended" } };
    expect(await refusalOf(client.putBucketVersioning(suspend, as(alice)))).toMatch(/^INVALID_BUCKET_STATE: /);
    for (const retention of [
      { mode: "GOVERNANCE", days: 1 },
      { mode: "COMPLIANCE", years: 2 },
    ]) {
      await lockWith(harness, { defaultRetention: retention });
      expect((await read())?.rule?.defaultRetention).toMatchObject(retention);
    }
    await lockWith(harness, undefined);
    expect(await read()).not.toHaveProperty("rule");
  });

  test("can be turned on later where versions are kept, and creating the bucket again asks for no other", async () => {
    const harness = await startHarness();
    await harness.client.createBucket({ bucket: "photos" }, as(alice));
    const again = { bucket: "photos", objectLockEnabledForBucket: true };
    expect(await refusalOf(harness.client.createBucket(again, as(alice)))).toBe("BUCKET_ALREADY_OWNED_BY_YOU");
    expect(await refusalOf(lockWith(harness, undefined))).toMatch(/^INVALID_BUCKET_STATE: Versioning must be/);
    const enabled = { bucket: "photos", versioningConfiguration: { status: "Enabled" } };
    await harness.client.putBucketVersioning(enabled, as(alice));
    await lockWith(harness, undefined);
    expect(await refusalOf(harness.client.createBucket(again, as(alice)))).toBe("answered");
  });

  test.each([
    // members, configuration, reason; in the order of refusal
    [{ bucket: "unknown", token: "t" }, undefined, "NO_SUCH_BUCKET"],
    [{ token: "t" }, undefined, notImplemented("x-svc-bucket-object-lock-token")],
    [{}, undefined, "MALFORMED_XML"],
    [{}, { objectLockEnabled: "Disabled" }, "MALFORMED_XML"],
    [{}, { objectLockEnabled: "Enabled", rule: {} }, "MALFORMED_XML"],
    [{}, { objectLockEnabled: "Enabled", rule: { defaultRetention: { days: 1 } } }, "MALFORMED_XML"],
    [{}, { objectLockEnabled: "Enabled", rule: { defaultRetention: { mode: "NONE", days: 1 } } }, "MALFORMED_XML"],
    [{}, { objectLockEnabled: "Enabled", rule: { defaultRetention: { mode: "GOVERNANCE" } } }, "MALFORMED_XML"],
    [
      {},
      { objectLockEnabled: "Enabled", rule: { defaultRetention: { mode: "GOVERNANCE", days: 1, years: 1 } } },
      "MALFORMED_XML",
    ],
    [
      {},
      { objectLockEnabled: "Enabled", rule: { defaultRetention: { mode: "GOVERNANCE", days: 0 } } },
      "INVALID_RETENTION_PERIOD",
    ],
    [
      {},
      { objectLockEnabled: "Enabled", rule: { defaultRetention: { mode: "GOVERNANCE", years: -1 } } },
      "INVALID_RETENTION_PERIOD",
    ],
    [
      {},
      { objectLockEnabled: "Enabled", rule: { defaultRetention: { mode: "GOVERNANCE", days: 36_501 } } },
      "INVALID_RETENTION_PERIOD",
    ],
    [
      {},
      { objectLockEnabled: "Enabled", rule: { defaultRetention: { mode: "GOVERNANCE", years: 101 } } },
      "INVALID_RETENTION_PERIOD",
    ],
    [
      {},
      { objectLockEnabled: "Enabled" },
      "INVALID_BUCKET_STATE: Versioning must be 'Enabled' on the bucket to apply a Object Lock configuration",
    ],
  ])("put with %o and %o is refused with %s", async (members, objectLockConfiguration, reason) => {
    const { client } = await startHarness();
    await client.createBucket({ bucket: "photos" }, as(alice));
    const request = { bucket: "photos", ...(objectLockConfiguration && { objectLockConfiguration }), ...members };
    expect(await refusalOf(client.putObjectLockConfiguration(request, as(alice)))).toBe(reason);
  });

  test.each([
    ["getObjectLockConfiguration", {}, "OBJECT_LOCK_CONFIGURATION_NOT_FOUND"],
    ["getObjectRetention", cat, missing],
    ["putObjectRetention", { ...cat, retention: { mode: "GOVERNANCE", retainUntilDate: day(9999) } }, missing],
    ["getObjectLegalHold", cat, missing],
    ["putObjectLegalHold", { ...cat, legalHold: { status: "ON" } }, missing],
    ["createMultipartUpload", { ...cat, objectLockLegalHoldStatus: "ON" }, missing],
    ["copyObject", { ...cat, copySource: "photos/cat.jpg", objectLockLegalHoldStatus: "OFF" }, missing],
  ] as const)("of one that has none ends %s with %o with %s", async (operation, members, reason) => {
    const { client } = await startHarness();
    await client.createBucket({ bucket: "photos" }, as(alice));
    const request = { bucket: "photos", ...members } as never;
    expect(await refusalOf(client[operation](request, as(alice)))).toBe(reason);
  });
});

describe("a retention", () => {
  test("keeps its version until its instant; a plain deletion still puts a delete marker", async () => {
    const { harness, clock } = await startLockable();
    const versionId = (await put(harness, { ...cat, ...lockedFor("COMPLIANCE", 2) }, "meow")).versionId ?? "";
    expect(await remove(harness, versionId)).toBe("OBJECT_LOCKED");
    expect(await remove(harness, versionId, { bypassGovernanceRetention: true })).toBe("OBJECT_LOCKED");
    const batch = { objects: [{ key: "cat.jpg", versionId }] };
    const answer = await harness.client.deleteObjects({ bucket: "photos", delete: batch }, as(alice));
    expect(answer.errors).toMatchObject([
      {
        key: "cat.jpg",
        versionId,
        code: "AccessDenied",
        message: "Access Denied because object protected by object lock.",
      },
    ]);
    expect(await remove(harness, undefined)).toBe("answered");
    await put(harness, cat, "another");
    expect((await get(harness, { ...cat, versionId })).body.toString()).toBe("meow");
    clock.advance(2 * dayMs - 1);
    expect(await remove(harness, versionId)).toBe("OBJECT_LOCKED");
    clock.advance(1);
    expect(await remove(harness, versionId)).toBe("answered");
  });

  test("in GOVERNANCE mode is bypassed by those who may, also in a batch", async () => {
    const { harness } = await startLockable();
    const put2 = async () => (await put(harness, { ...cat, ...lockedFor("GOVERNANCE", 9) }, "meow")).versionId ?? "";
    const [first, second] = [await put2(), await put2()];
    expect(await remove(harness, first)).toBe("OBJECT_LOCKED");
    expect(await remove(harness, first, { bypassGovernanceRetention: true })).toBe("answered");
    const request = {
      bucket: "photos",
      bypassGovernanceRetention: true,
      delete: { objects: [{ key: "cat.jpg", versionId: second }] },
    };
    expect((await harness.client.deleteObjects(request, as(alice))).errors).toEqual([]);
    expect(await refusalOf(harness.client.deleteBucket({ bucket: "photos" }, as(alice)))).toBe("answered");
  });

  test("by the bucket's default begins with each write that names none, by days and by calendar years", async () => {
    const { harness, clock } = await startLockable();
    await lockWith(harness, { defaultRetention: { mode: "GOVERNANCE", days: 3 } });
    const uploadId = await startUpload(harness);
    await put(harness, cat, "meow");
    expect(await retentionOf(harness)).toEqual(["GOVERNANCE", 3]);
    await put(harness, { ...cat, ...lockedFor("COMPLIANCE", 1) }, "meow");
    expect(await retentionOf(harness)).toEqual(["COMPLIANCE", 1]);
    await harness.client.copyObject({ ...cat, key: "copy", copySource: "photos/cat.jpg" }, as(alice));
    expect(await retentionOf(harness, "copy")).toEqual(["GOVERNANCE", 3]);

    await lockWith(harness, { defaultRetention: { mode: "COMPLIANCE", years: 3 } });
    expect(await retentionOf(harness, "copy")).toEqual(["GOVERNANCE", 3]);
    clock.advance(dayMs);
    const { eTag } = await sendPart(harness, uploadId, 1, bytes[2]);
    await complete(harness, uploadId, [{ partNumber: 1, eTag }]);
    // 2028 has 366 days.
    expect(await retentionOf(harness, film.key)).toEqual(["COMPLIANCE", 1 + 3 * 365 + 1]);
  });

  test("of an upload and of a copy is the one that they were started with", async () => {
    const { harness } = await startLockable();
    const uploadId = await startUpload(harness, { ...lockedFor("GOVERNANCE", 5), objectLockLegalHoldStatus: "ON" });
    const { eTag } = await sendPart(harness, uploadId, 1, bytes[2]);
    await complete(harness, uploadId, [{ partNumber: 1, eTag }]);
    expect(await retentionOf(harness, film.key)).toEqual(["GOVERNANCE", 5]);
    const { legalHold } = await harness.client.getObjectLegalHold(film, as(alice));
    expect(legalHold?.status).toBe("ON");
    const copy = { ...cat, copySource: `photos/${film.key}`, ...lockedFor("COMPLIANCE", 6) };
    await harness.client.copyObject(copy, as(alice));
    expect(await retentionOf(harness)).toEqual(["COMPLIANCE", 6]);
    expect(await refusalOf(harness.client.getObjectLegalHold(cat, as(alice)))).toBe(
      "NO_SUCH_OBJECT_LOCK_CONFIGURATION",
    );
  });

  const governed = (days: number) => ({ mode: "GOVERNANCE", retainUntilDate: day(days) });
  const complied = (days: number) => ({ mode: "COMPLIANCE", retainUntilDate: day(days) });
  const bypass = { bypassGovernanceRetention: true };
  test.each([
    // before, days that pass, after, members, outcome
    [undefined, 0, governed(1), {}, "answered"],
    [governed(5), 0, governed(5), {}, "answered"],
    [governed(5), 0, governed(6), {}, "answered"],
    [governed(5), 0, governed(4), {}, "OBJECT_LOCKED"],
    [governed(5), 0, governed(4), bypass, "answered"],
    [governed(5), 0, {}, {}, "OBJECT_LOCKED"],
    [governed(5), 0, {}, bypass, "answered"],
    [governed(5), 0, complied(6), {}, "OBJECT_LOCKED"],
    [governed(5), 0, complied(6), bypass, "answered"],
    [complied(5), 0, complied(6), {}, "answered"],
    [complied(5), 0, complied(4), bypass, "OBJECT_LOCKED"],
    [complied(5), 0, governed(6), bypass, "OBJECT_LOCKED"],
    [complied(5), 0, {}, bypass, "OBJECT_LOCKED"],
    [complied(5), 5, governed(6), {}, "answered"],
    [governed(5), 5, {}, {}, "answered"],
  ])("%o changes after %i days to %o with %o: %s", async (before, days, after, members, outcome) => {
    const { harness, clock } = await startLockable();
    await put(harness, cat, "meow");
    const first = before === undefined ? "answered" : await retain(harness, before);
    expect(first).toBe("answered");
    clock.advance(days * dayMs);
    expect(await retain(harness, after, members)).toBe(outcome);
    expect(await retain(harness, after, members)).toBe(outcome);
  });

  test.each([
    // retention, members, reason; in the order of refusal
    [undefined, { bucket: "unknown" }, "NO_SUCH_BUCKET"],
    [undefined, { key: "none" }, "MALFORMED_XML"],
    [{ mode: "GOVERNANCE" }, {}, "MALFORMED_XML"],
    [{ retainUntilDate: day(1) }, {}, "MALFORMED_XML"],
    [{ mode: "governance", retainUntilDate: day(1) }, {}, "MALFORMED_XML"],
    [{ mode: "GOVERNANCE", retainUntilDate: day(0) }, { key: "none" }, inThePast],
    [{ mode: "GOVERNANCE", retainUntilDate: day(1) }, { key: "none", versionId: "x" }, "INVALID_VERSION_ID"],
    [{ mode: "GOVERNANCE", retainUntilDate: day(1) }, { key: "none" }, "NO_SUCH_KEY"],
    [{ mode: "GOVERNANCE", retainUntilDate: day(1) }, { versionId: "0".repeat(32) }, "NO_SUCH_VERSION"],
  ])("%o of %o is refused with %s", async (retention, members, reason) => {
    const { harness } = await startLockable();
    await put(harness, cat, "meow");
    expect(await retain(harness, retention, members)).toBe(reason);
  });

  test.each([
    // head, reason; in the order of refusal
    [{ objectLockMode: "NONE", storageClass: "NONSENSE" }, /^INVALID_INPUT: .*enum value set: \[GOVERNANCE, COMPL/],
    [{ objectLockMode: "GOVERNANCE", storageClass: "NONSENSE" }, /^INVALID_STORAGE_CLASS$/],
    [{ objectLockMode: "GOVERNANCE", contentMd5: "nonsense" }, /^INVALID_ARGUMENT: .* must both be supplied$/],
    [{ objectLockRetainUntilDate: day(1) }, /^INVALID_ARGUMENT: .* must both be supplied$/],
    [lockedFor("GOVERNANCE", 0), /^INVALID_ARGUMENT: The retain until date must be in the future!$/],
    [{ ...lockedFor("GOVERNANCE", 1), contentMd5: "nonsense" }, /^INVALID_DIGEST$/],
  ])("in a write with %o is refused with %s", async (head, reason) => {
    const { harness } = await startLockable();
    expect(await refusalOf(put(harness, { ...cat, ...head }, "meow"))).toMatch(reason);
  });
});

describe("a legal hold", () => {
  test("keeps its version, whatever its retention is, until it is lifted", async () => {
    const { harness, clock } = await startLockable();
    const head = { ...cat, ...lockedFor("GOVERNANCE", 1), objectLockLegalHoldStatus: "ON" };
    const versionId = (await put(harness, head, "meow")).versionId ?? "";
    clock.advance(2 * dayMs);
    expect(await remove(harness, versionId, { bypassGovernanceRetention: true })).toBe("OBJECT_LOCKED");
    const hold = (status: string) => harness.client.putObjectLegalHold({ ...cat, legalHold: { status } }, as(alice));
    await hold("OFF");
    expect((await harness.client.getObjectLegalHold(cat, as(alice))).legalHold?.status).toBe("OFF");
    expect((await get(harness, cat)).head).toMatchObject({
      objectLockMode: "GOVERNANCE",
      objectLockLegalHoldStatus: "OFF",
    });
    await hold("ON");
    expect(await remove(harness, versionId)).toBe("OBJECT_LOCKED");
    await hold("OFF");
    expect(await remove(harness, versionId)).toBe("answered");
  });

  test.each([
    // hold, members, reason; in the order of refusal
    [undefined, { key: "none" }, "MALFORMED_XML"],
    [{}, {}, "MALFORMED_XML"],
    [{ status: "on" }, {}, "MALFORMED_XML"],
    [{ status: "ON" }, { key: "none" }, "NO_SUCH_KEY"],
  ])("%o of %o is refused with %s", async (legalHold, members, reason) => {
    const { harness } = await startLockable();
    await put(harness, cat, "meow");
    const request = { ...cat, ...(legalHold && { legalHold }), ...members };
    expect(await refusalOf(harness.client.putObjectLegalHold(request, as(alice)))).toBe(reason);
  });
});

test("delete markers have no lock, and neither do versions for which none was set", async () => {
  const { harness } = await startLockable();
  await put(harness, cat, "meow");
  expect(await refusalOf(harness.client.getObjectRetention(cat, as(alice)))).toBe("NO_SUCH_OBJECT_LOCK_CONFIGURATION");
  const { versionId = "" } = await harness.client.deleteObject(cat, as(alice));
  const marker = { ...cat, versionId };
  expect(await retain(harness, { mode: "GOVERNANCE", retainUntilDate: day(1) }, { versionId })).toBe(
    "METHOD_NOT_ALLOWED",
  );
  for (const call of [
    harness.client.getObjectRetention(marker, as(alice)),
    harness.client.getObjectLegalHold(marker, as(alice)),
    harness.client.putObjectLegalHold({ ...marker, legalHold: { status: "ON" } }, as(alice)),
  ])
    expect(await refusalOf(call)).toBe("METHOD_NOT_ALLOWED");
});

test("reads show the lock to those who may read it, each part by its own permission", async () => {
  const { harness } = await startLockable();
  await put(harness, { ...cat, ...lockedFor("GOVERNANCE", 3), objectLockLegalHoldStatus: "ON" }, "meow");
  const seenWith = async (...actions: string[]) => {
    const Action = ["GetObject", "GetObjectVersion", ...actions].map((action) => `s3:${action}`);
    const policy = JSON.stringify({ Statement: [{ Effect: "Allow", Action, Resource: "arn:aws:s3:::photos/*" }] });
    const head = await headOf(harness.opened.app, cat, userCaller(alice, "ann", [policy]));
    return [head.objectLockMode, head.objectLockRetainUntilDate !== undefined, head.objectLockLegalHoldStatus];
  };
  expect(await seenWith()).toEqual([undefined, false, undefined]);
  expect(await seenWith("GetObjectRetention")).toEqual(["GOVERNANCE", true, undefined]);
  expect(await seenWith("GetObjectLegalHold")).toEqual([undefined, false, "ON"]);
  expect(await seenWith("GetObject*")).toEqual(["GOVERNANCE", true, "ON"]);
  const Statement = [
    { Effect: "Allow", Principal: "*", Action: "s3:GetObject", Resource: "arn:aws:s3:::photos/*" },
    { Effect: "Allow", Principal: "*", Action: "s3:GetObjectLegalHold", Resource: "arn:aws:s3:::photos/*" },
  ];
  await harness.client.putBucketPolicy({ bucket: "photos", policy: JSON.stringify({ Statement }) }, as(alice));
  const { head } = await get(harness, cat, as(bob));
  expect([head.objectLockMode, head.objectLockLegalHoldStatus]).toEqual([undefined, "ON"]);
});

test("a machine's clock that is set forward ends no retention", async () => {
  const clock = new FakeClock(startMs);
  const harness = await startHarness({ clock, elapsedMs: () => 0 });
  await harness.client.createBucket({ bucket: "photos", objectLockEnabledForBucket: true }, as(alice));
  const versionId = (await put(harness, { ...cat, ...lockedFor("COMPLIANCE", 1) }, "meow")).versionId ?? "";
  clock.advance(100 * dayMs);
  expect(await remove(harness, versionId)).toBe("OBJECT_LOCKED");
  // A default counts from the later clock, so it is not shorter than was asked for.
  await lockWith(harness, { defaultRetention: { mode: "GOVERNANCE", days: 1 } });
  await put(harness, cat, "meow");
  expect(await retentionOf(harness)).toEqual(["GOVERNANCE", 101]);
});
