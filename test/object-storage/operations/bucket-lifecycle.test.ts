import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import type { LifecycleRule, LifecycleRuleSchema } from "../../../gen/quartet/objectstorage/v1/lifecycle_pb.ts";
import { instant } from "../../../services/object-storage/domain/instant.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import type { Harness } from "../harness.ts";
import { alice, as, get, put, refusalOf, startWithBucket } from "../harness.ts";
import { film, startUpload } from "../multipart.ts";

type Rule = Exclude<MessageInitShape<typeof LifecycleRuleSchema>, LifecycleRule>;

const dayMs = 24 * 60 * 60 * 1000;
const all = { filter: { prefix: "" } };
const expires = { id: "old", status: "Enabled", ...all, expiration: { days: 3 } };
const tag = (key: string) => ({ key, value: "v" });

const putRules = (harness: Harness, rules: Rule[], members: object = {}) =>
  refusalOf(
    harness.client.putBucketLifecycleConfiguration(
      { bucket: "photos", lifecycleConfiguration: { rules }, ...members },
      as(alice),
    ),
  );

const getRules = (harness: Harness) => harness.client.getBucketLifecycleConfiguration({ bucket: "photos" }, as(alice));

describe("lifecycle rules", () => {
  test("are read back as they were put, each with an id, and are gone after their deletion", async () => {
    const harness = await startWithBucket();
    expect(await refusalOf(getRules(harness))).toBe("NO_SUCH_LIFECYCLE_CONFIGURATION");
    const rules: Rule[] = [
      expires,
      {
        status: "Disabled",
        filter: { and: { prefix: "a/", tags: [tag("x"), tag("y")], objectSizeGreaterThan: 5n } },
        transitions: [
          { days: 30, storageClass: "STANDARD_IA" },
          { days: 90, storageClass: "GLACIER" },
        ],
        noncurrentVersionExpiration: { noncurrentDays: 7, newerNoncurrentVersions: 2 },
      },
    ];
    expect(await putRules(harness, rules)).toBe("answered");
    const answer = await getRules(harness);
    expect(answer.rules[0]).toMatchObject(expires);
    expect(answer.rules[1]).toMatchObject(rules[1] as object);
    expect(answer.rules[1]?.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(answer.transitionDefaultMinimumObjectSize).toBe("all_storage_classes_128K");

    expect(await putRules(harness, [{ ...expires, expiration: { date: instant(Date.UTC(2030, 0, 1)) } }])).toBe(
      "answered",
    );
    expect((await getRules(harness)).rules).toHaveLength(1);
    for (let times = 0; times < 2; times += 1)
      await harness.client.deleteBucketLifecycle({ bucket: "photos" }, as(alice));
    expect(await refusalOf(getRules(harness))).toBe("NO_SUCH_LIFECYCLE_CONFIGURATION");
  });

  test("are put and read in the older document as far as it can express them", async () => {
    const harness = await startWithBucket();
    const older = (members: object = {}) => ({ id: "o", prefix: "logs/", status: "Enabled", ...members });
    const transition = { days: 1, storageClass: "GLACIER" };
    await harness.client.putBucketLifecycle(
      { bucket: "photos", lifecycleConfiguration: { rules: [older({ transition })] } },
      as(alice),
    );
    expect((await getRules(harness)).rules).toMatchObject([older({ transitions: [transition] })]);
    const read = () => harness.client.getBucketLifecycle({ bucket: "photos" }, as(alice));
    expect((await read()).rules).toMatchObject([older({ transition })]);
    await putRules(harness, [{ ...expires, filter: { prefix: "logs/" } }]);
    expect((await read()).rules).toMatchObject([{ id: "old", prefix: "logs/", expiration: { days: 3 } }]);
    await putRules(harness, [{ ...expires, filter: { tag: tag("x") } }]);
    expect(await refusalOf(read())).toBe("INVALID_REQUEST: Filter element can only be used in Lifecycle V2.");
  });

  const malformed = "MALFORMED_XML";
  const moves = (...transitions: object[]): Rule => ({ status: "Enabled", ...all, transitions });
  test.each<[Rule[], string | RegExp]>([
    // rules, reason; a row breaks one rule
    [[], malformed],
    [Array.from({ length: 1001 }, (_none, index) => ({ ...expires, id: `${index}` })), malformed],
    [[{ ...expires, status: "enabled" }], malformed],
    [[{ status: "Enabled", expiration: { days: 1 } }], malformed],
    [[{ ...expires, prefix: "" }], malformed],
    [[{ ...expires, filter: { prefix: "a", tag: tag("x") } }], malformed],
    [[{ ...expires, filter: { and: { prefix: "a" } } }], malformed],
    [[{ ...expires, filter: { and: { tags: [tag("x")] } } }], malformed],
    [[{ ...expires, expiration: {} }], malformed],
    [[{ ...expires, expiration: { days: 1, date: instant(0) } }], malformed],
    [[{ ...expires, expiration: { days: 1, expiredObjectDeleteMarker: true } }], malformed],
    [[{ ...expires, filter: { tag: tag("x") }, expiration: { expiredObjectDeleteMarker: true } }], malformed],
    [[moves({ days: 1 })], malformed],
    [[moves({ storageClass: "GLACIER" })], malformed],
    [[moves({ days: 1, storageClass: "STANDARD" })], malformed],
    [[{ status: "Enabled", ...all, noncurrentVersionExpiration: { newerNoncurrentVersions: 1 } }], malformed],
    [[{ status: "Enabled", ...all, abortIncompleteMultipartUpload: {} }], malformed],
    [[expires, expires], /^INVALID_ARGUMENT: Rule ID must be unique/],
    [[{ ...expires, id: "x".repeat(256) }], /^INVALID_ARGUMENT: ID length should not exceed/],
    [[{ status: "Enabled", ...all }], /^INVALID_REQUEST: At least one action needs to be specified/],
    [[{ ...expires, expiration: { days: 0 } }], /^INVALID_ARGUMENT: 'Days' for Expiration action must be/],
    [
      [{ ...expires, expiration: { date: instant(dayMs + 1000) } }],
      /^INVALID_ARGUMENT: 'Date' must be at midnight GMT/,
    ],
    [[{ ...expires, filter: { and: { tags: [tag("x"), tag("x")] } } }], /^INVALID_REQUEST: Duplicate Tag Keys/],
    [[{ ...expires, filter: { tag: tag("<") } }], /^INVALID_TAG: /],
    [
      [{ ...expires, filter: { and: { objectSizeGreaterThan: 5n, objectSizeLessThan: 5n } } }],
      /^INVALID_REQUEST: 'ObjectSizeLessThan' has to be/,
    ],
    [[moves({ days: 29, storageClass: "STANDARD_IA" })], /^INVALID_ARGUMENT: 'Days' in Transition action must be/],
    [
      [{ ...moves({ days: 30, storageClass: "GLACIER" }), expiration: { days: 30 } }],
      /^INVALID_ARGUMENT: 'Days' in the Expiration action must be greater/,
    ],
    [
      [moves({ days: 1, storageClass: "GLACIER" }, { days: 2, storageClass: "GLACIER" })],
      /^INVALID_REQUEST: 'StorageClass' must be different/,
    ],
    [
      [{ ...moves({ days: 1, storageClass: "GLACIER" }), expiration: { date: instant(0) } }],
      /^INVALID_REQUEST: Found mixed 'Date' and 'Days'/,
    ],
    [
      [{ status: "Enabled", ...all, noncurrentVersionExpiration: { noncurrentDays: 0 } }],
      /^INVALID_ARGUMENT: 'NoncurrentDays' for/,
    ],
    [
      [{ status: "Enabled", ...all, noncurrentVersionExpiration: { noncurrentDays: 1, newerNoncurrentVersions: 101 } }],
      /^INVALID_ARGUMENT: 'NewerNoncurrentVersions' must be/,
    ],
    [
      [{ status: "Enabled", ...all, abortIncompleteMultipartUpload: { daysAfterInitiation: 0 } }],
      /^INVALID_ARGUMENT: 'DaysAfterInitiation' for/,
    ],
    [
      [
        {
          status: "Enabled",
          filter: { tag: tag("x") },
          abortIncompleteMultipartUpload: { daysAfterInitiation: 1 },
        },
      ],
      /^INVALID_REQUEST: AbortIncompleteMultipartUpload cannot be specified with Tags/,
    ],
  ])("%o are refused with %s", async (rules, reason) => {
    const harness = await startWithBucket();
    expect(await putRules(harness, rules)).toMatch(reason);
    expect(await refusalOf(getRules(harness))).toBe("NO_SUCH_LIFECYCLE_CONFIGURATION");
  });

  test.each([
    // members, reason; in the order of refusal
    [{ bucket: "unknown", transitionDefaultMinimumObjectSize: "small" }, "NO_SUCH_BUCKET"],
    [
      { transitionDefaultMinimumObjectSize: "small", lifecycleConfiguration: { rules: [] } },
      "INVALID_ARGUMENT: Invalid default minimum object size.",
    ],
    [{ lifecycleConfiguration: { rules: [] } }, "MALFORMED_XML"],
  ])("put with %o are refused with %s", async (members, reason) => {
    expect(await putRules(await startWithBucket(), [expires], members)).toBe(reason);
  });

  test("are announced by writes and reads of what they end, at the midnight after its days", async () => {
    const clock = new FakeClock(Date.UTC(2026, 0, 2, 3, 4, 5));
    const harness = await startWithBucket({ clock });
    const cat = { bucket: "photos", key: "a/cat", tagging: "x=v" };
    expect((await put(harness, cat, "meow")).expiration).toBeUndefined();
    await putRules(harness, [
      { ...expires, id: "rule of ü", filter: { and: { prefix: "a/", tags: [tag("x")] } } },
      { ...expires, id: "later", expiration: { days: 9 } },
      {
        id: "uploads",
        status: "Enabled",
        filter: { prefix: film.key },
        abortIncompleteMultipartUpload: { daysAfterInitiation: 2 },
      },
    ]);
    const soon = 'expiry-date="Tue, 06 Jan 2026 00:00:00 GMT", rule-id="rule%20of%20%C3%BC"';
    const later = 'expiry-date="Mon, 12 Jan 2026 00:00:00 GMT", rule-id="later"';
    expect((await put(harness, cat, "meow")).expiration).toBe(soon);
    expect((await put(harness, { bucket: "photos", key: "b" }, "x")).expiration).toBe(later);
    expect((await get(harness, { bucket: "photos", key: "a/cat" })).head.expiration).toBe(soon);
    const copied = { bucket: "photos", key: "c", copySource: "photos/a/cat" };
    expect((await harness.client.copyObject(copied, as(alice))).expiration).toBe(later);
    const named = { bucket: "photos", key: "a/cat", versionId: "null" };
    expect((await harness.client.headObject(named, as(alice))).expiration).toBeUndefined();
    const uploadId = await startUpload(harness);
    const listed = await harness.client.listParts({ ...film, uploadId }, as(alice));
    expect([listed.abortRuleId, listed.abortDate?.seconds]).toEqual(["uploads", BigInt(Date.UTC(2026, 0, 5) / 1000)]);
  });
});
