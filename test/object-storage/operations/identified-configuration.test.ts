import { describe, expect, test } from "vitest";

import type { Harness } from "../harness.ts";
import { alice, as, bob, notImplemented, refusalOf, startWithBucket } from "../harness.ts";

const destination = {
  s3BucketDestination: { bucket: "arn:aws:s3:::reports", format: "CSV", prefix: "inventories" },
};

/** Each kind: the ends of its operations' names, its member, a document, and one that differs. */
const kinds = [
  ["Analytics", "analyticsConfiguration", { storageClassAnalysis: {} }, { filter: { prefix: "a/" } }],
  ["Metrics", "metricsConfiguration", {}, { filter: { tag: { key: "team", value: "red" } } }],
  [
    "IntelligentTiering",
    "intelligentTieringConfiguration",
    { status: "Enabled", tierings: [{ days: 90, accessTier: "ARCHIVE_ACCESS" }] },
    { status: "Disabled" },
  ],
  [
    "Inventory",
    "inventoryConfiguration",
    { destination, isEnabled: true, includedObjectVersions: "All", schedule: { frequency: "Daily" } },
    { optionalFields: ["Size", "ETag"] },
  ],
] as const;

const operations = {
  Analytics: {
    put: "putBucketAnalyticsConfiguration",
    get: "getBucketAnalyticsConfiguration",
    delete: "deleteBucketAnalyticsConfiguration",
    list: "listBucketAnalyticsConfigurations",
  },
  Metrics: {
    put: "putBucketMetricsConfiguration",
    get: "getBucketMetricsConfiguration",
    delete: "deleteBucketMetricsConfiguration",
    list: "listBucketMetricsConfigurations",
  },
  IntelligentTiering: {
    put: "putBucketIntelligentTieringConfiguration",
    get: "getBucketIntelligentTieringConfiguration",
    delete: "deleteBucketIntelligentTieringConfiguration",
    list: "listBucketIntelligentTieringConfigurations",
  },
  Inventory: {
    put: "putBucketInventoryConfiguration",
    get: "getBucketInventoryConfiguration",
    delete: "deleteBucketInventoryConfiguration",
    list: "listBucketInventoryConfigurations",
  },
} as const;

type Client = Readonly<Record<string, (request: object, options: object) => Promise<Record<string, unknown>>>>;

/** Calls an operation on the configurations of a kind of Alice's bucket `photos`. */
const callOf = (
  harness: Harness,
  verb: "put" | "get" | "delete" | "list",
  kind: keyof typeof operations,
  request: object,
) => (harness.client as unknown as Client)[operations[kind][verb]]!({ bucket: "photos", ...request }, as(alice));

/** A service with Alice's buckets `photos` and `reports`, and Bob's `bobs`. */
const start = async () => {
  const harness = await startWithBucket();
  await harness.client.createBucket({ bucket: "reports" }, as(alice));
  await harness.client.createBucket({ bucket: "bobs" }, as(bob));
  return harness;
};

describe.each(kinds)("configurations of %s", (kind, member, document, other) => {
  const put = (harness: Harness, id: string, members: object = {}) =>
    callOf(harness, "put", kind, { id, [member]: { id, ...document, ...members } });
  const list = (harness: Harness, request: object = {}) => callOf(harness, "list", kind, request);
  const listed = `${member}List`;

  test("are read back as they were put, replaced by their ids, listed, and deleted one by one", async () => {
    const harness = await start();
    await put(harness, "first");
    await put(harness, "second");
    await put(harness, "first", other);
    const read = async (id: string) => (await callOf(harness, "get", kind, { id }))[member];
    expect(await read("first")).toMatchObject({ id: "first", ...document, ...other });
    expect(await read("second")).toMatchObject({ id: "second", ...document });
    expect((await list(harness))[listed]).toMatchObject([{ id: "first" }, { id: "second" }]);
    await callOf(harness, "delete", kind, { id: "first" });
    expect(await refusalOf(callOf(harness, "get", kind, { id: "first" }))).toBe("NO_SUCH_CONFIGURATION");
    expect(await refusalOf(callOf(harness, "delete", kind, { id: "first" }))).toBe("NO_SUCH_CONFIGURATION");
    expect((await list(harness))[listed]).toMatchObject([{ id: "second" }]);
  });

  test("are listed in pages of 100 by id", async () => {
    const harness = await start();
    for (let index = 0; index < 101; index += 1) await put(harness, `c${String(index).padStart(3, "0")}`);
    const first = await list(harness);
    expect([first["isTruncated"], (first[listed] as unknown[]).length]).toEqual([true, 100]);
    const second = await list(harness, { continuationToken: first["nextContinuationToken"] });
    expect(second).toMatchObject({ isTruncated: false, [listed]: [{ id: "c100" }] });
    expect(second["nextContinuationToken"]).toBeUndefined();
    expect(await refusalOf(list(harness, { continuationToken: "nonsense" }))).toBe("INVALID_PAGE_TOKEN");
  });

  test.each([
    // members, document, reason; in the order of refusal
    [{ bucket: "unknown", id: "a" }, {}, "NO_SUCH_BUCKET"],
    [{ id: "a" }, {}, "MALFORMED_XML"],
    [{ id: "a b" }, { id: "a" }, "ID_MISMATCH"],
    [
      { id: "a b" },
      { id: "a b" },
      "INVALID_ARGUMENT: The Id must have 1 to 64 letters, digits, periods, underscores or hyphens",
    ],
  ])("put with %o and %o are refused with %s", async (members, given, reason) => {
    const harness = await start();
    expect(await refusalOf(callOf(harness, "put", kind, { ...members, [member]: given }))).toBe(reason);
  });
});

const tiers = (...tierings: object[]) => ({ status: "Enabled", tierings });
const report = (members: object, bucket: object = {}) => ({
  destination: { s3BucketDestination: { ...destination.s3BucketDestination, ...bucket } },
  isEnabled: true,
  includedObjectVersions: "All",
  schedule: { frequency: "Daily" },
  ...members,
});
const crm = { keyId: "crm" };
const tag = { key: "k", value: "v" };

test.each<[keyof typeof operations, string, object, string]>([
  // kind, member, document, reason
  ["Analytics", "analyticsConfiguration", {}, "MALFORMED_XML"],
  ["Analytics", "analyticsConfiguration", { storageClassAnalysis: {}, filter: {} }, "MALFORMED_XML"],
  ["Analytics", "analyticsConfiguration", { storageClassAnalysis: { dataExport: {} } }, notImplemented("DataExport")],
  ["Metrics", "metricsConfiguration", { filter: { prefix: "a", tag } }, "MALFORMED_XML"],
  ["Metrics", "metricsConfiguration", { filter: { and: { prefix: "a", tags: [] } } }, "MALFORMED_XML"],
  [
    "Metrics",
    "metricsConfiguration",
    { filter: { and: { tags: [tag, tag] } } },
    "INVALID_REQUEST: Duplicate Tag Keys are not allowed.",
  ],
  ["Metrics", "metricsConfiguration", { filter: { accessPointArn: "a" } }, notImplemented("AccessPointArn")],
  ["IntelligentTiering", "intelligentTieringConfiguration", tiers(), "MALFORMED_XML"],
  ["IntelligentTiering", "intelligentTieringConfiguration", tiers({ days: 90 }), "MALFORMED_XML"],
  ["IntelligentTiering", "intelligentTieringConfiguration", tiers({ days: 90, accessTier: "COLD" }), "MALFORMED_XML"],
  [
    "IntelligentTiering",
    "intelligentTieringConfiguration",
    tiers({ days: 179, accessTier: "DEEP_ARCHIVE_ACCESS" }),
    "INVALID_ARGUMENT: Days of DEEP_ARCHIVE_ACCESS must be between 180 and 730",
  ],
  ["Inventory", "inventoryConfiguration", report({ schedule: { frequency: "Hourly" } }), "MALFORMED_XML"],
  ["Inventory", "inventoryConfiguration", report({ includedObjectVersions: "Old" }), "MALFORMED_XML"],
  ["Inventory", "inventoryConfiguration", report({}, { encryption: {} }), "MALFORMED_XML"],
  ["Inventory", "inventoryConfiguration", report({}, { encryption: { sseKms: {} } }), "MALFORMED_XML"],
  ["Inventory", "inventoryConfiguration", report({}, { encryption: { sseS3: {}, sseKms: crm } }), "MALFORMED_XML"],
  ["Inventory", "inventoryConfiguration", report({}, { bucket: "reports" }), "INVALID_S3_DESTINATION_BUCKET"],
  ["Inventory", "inventoryConfiguration", report({}, { bucket: "arn:aws:s3:::no" }), "INVALID_S3_DESTINATION_BUCKET"],
  ["Inventory", "inventoryConfiguration", report({}, { bucket: "arn:aws:s3:::bobs" }), "INVALID_S3_DESTINATION_BUCKET"],
  ["Inventory", "inventoryConfiguration", report({}, { accountId: bob }), "INVALID_S3_DESTINATION_BUCKET"],
  ["Inventory", "inventoryConfiguration", report({}, { format: "ORC" }), notImplemented("Format")],
  [
    "Inventory",
    "inventoryConfiguration",
    report({ optionalFields: ["ReplicationStatus"] }),
    notImplemented("ReplicationStatus"),
  ],
])("a configuration of %s whose %s is %o is refused with %s", async (kind, member, document, reason) => {
  const harness = await start();
  expect(await refusalOf(callOf(harness, "put", kind, { id: "a", [member]: { id: "a", ...document } }))).toBe(reason);
});
