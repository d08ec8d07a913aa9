import { describe, expect, test } from "vitest";

import { accountsOf } from "../../../services/kit/accounts/accounts.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import type { Harness, HarnessOptions } from "../harness.ts";
import { alice, as, bob, get, put, refusalOf, startHarness } from "../harness.ts";
import { amounts, shown } from "../support/amounts.ts";
import {
  accountsWith,
  allowed,
  documentOf,
  inBucket,
  keep,
  newer,
  replicateBy,
  roleArn,
  statusOf,
} from "../support/replication.ts";

const older = (destination: string, further: object = {}) => ({
  status: "Enabled",
  prefix: "",
  destination: { bucket: inBucket(destination) },
  ...further,
});

/** A service with Alice's buckets `photos` and `copies`, which keep versions. */
const start = async (rules: object[], options: HarnessOptions = {}): Promise<Harness> => {
  const harness = await startHarness({ accounts: accountsWith(allowed), ...options });
  await keep(harness, "photos");
  await keep(harness, "copies");
  if (rules.length > 0) await replicateBy(harness, rules);
  return harness;
};

/** The same with versions that can be locked, and a rule that copies all of `photos` to `copies`. */
const startLockable = async (): Promise<Harness> => {
  const harness = await startHarness({ accounts: accountsWith(allowed) });
  for (const bucket of ["photos", "copies"])
    await harness.client.createBucket({ bucket, objectLockEnabledForBucket: true }, as(alice));
  await replicateBy(harness, [newer("copies")]);
  return harness;
};

const dayAhead = { seconds: BigInt(Math.floor(Date.now() / 1000) + 86_400), nanos: 0 };

const keysOf = async ({ client }: Harness, bucket = "copies", account = alice): Promise<(string | undefined)[]> =>
  (await client.listObjectsV2({ bucket }, as(account))).contents.map(({ key }) => key);

describe("a new version", () => {
  test("is copied with its id, its date, its metadata, its tags and its ETag, and both say how far it is", async () => {
    const harness = await start([newer("copies")]);
    const head = { key: "cat.jpg", metadata: { colour: "red" }, tagging: "kind=cat", contentType: "image/jpeg" };
    const { versionId = "" } = await put(harness, { bucket: "photos", ...head }, Buffer.alloc(300_000, "meow"));
    await harness.opened.jobs.idle();

    const original = await harness.client.headObject({ bucket: "photos", key: "cat.jpg" }, as(alice));
    const copy = await get(harness, { bucket: "copies", key: "cat.jpg", versionId });
    expect(copy.body.equals(Buffer.alloc(300_000, "meow"))).toBe(true);
    const { eTag, lastModified, metadata, contentType, tagCount } = original;
    expect(copy.head).toMatchObject({ eTag, lastModified, metadata, contentType, tagCount, versionId });
    expect([original.replicationStatus, copy.head.replicationStatus]).toEqual(["COMPLETED", "REPLICA"]);
  });

  test("shows its common prefix where it is copied to, until its delete marker is copied", async () => {
    const harness = await start([newer("copies", { deleteMarkerReplication: { status: "Enabled" } })]);
    const prefixes = async () => {
      await harness.opened.jobs.idle();
      const page = await harness.client.listObjectsV2({ bucket: "copies", delimiter: "/" }, as(alice));
      return page.commonPrefixes.map(({ prefix }) => prefix);
    };
    await put(harness, { bucket: "photos", key: "cats/1" }, "meow");
    expect(await prefixes()).toEqual(["cats/"]);
    await harness.client.deleteObject({ bucket: "photos", key: "cats/1" }, as(alice));
    expect(await prefixes()).toEqual([]);
  });

  test("is counted among what is stored where it is copied to, its delete marker is not", async () => {
    const harness = await start([newer("copies", { deleteMarkerReplication: { status: "Enabled" } })]);
    await put(harness, { bucket: "photos", key: "cat.jpg" }, "meow");
    await harness.client.deleteObject({ bucket: "photos", key: "cat.jpg" }, as(alice));
    await harness.opened.jobs.idle();
    expect(await amounts(harness)).toEqual(shown(2, 8));
  });

  test("of before the rules, and one that is a copy itself, is not copied", async () => {
    const harness = await start([]);
    await put(harness, { bucket: "photos", key: "old" }, "old");
    await replicateBy(harness, [newer("copies")]);
    await replicateBy(harness, [newer("photos")], { bucket: "copies" });
    await put(harness, { bucket: "photos", key: "new" }, "new");
    await harness.opened.jobs.idle();
    expect(await keysOf(harness)).toEqual(["new"]);
    expect([await statusOf(harness, "old"), await statusOf(harness, "new", "copies")]).toEqual([undefined, "REPLICA"]);
    expect((await harness.client.listObjectVersions({ bucket: "photos" }, as(alice))).versions).toHaveLength(2);
  });

  test.each([
    // rules, the copies of a/1 (tag kind=cat), a/2 and b
    [[newer("copies", { filter: { prefix: "a/" } })], ["a/1", "a/2"]],
    [[older("copies", { prefix: "b" })], ["b"]],
    [[newer("copies", { filter: { tag: { key: "kind", value: "cat" } } })], ["a/1"]],
    [[newer("copies", { filter: { and: { prefix: "b", tags: [{ key: "kind", value: "cat" }] } } })], []],
    [[newer("copies", { status: "Disabled" })], []],
  ])("is copied where a rule of %j selects it: %j", async (rules, keys) => {
    const harness = await start(rules);
    await put(harness, { bucket: "photos", key: "a/1", tagging: "kind=cat" }, "1");
    await put(harness, { bucket: "photos", key: "a/2" }, "2");
    await put(harness, { bucket: "photos", key: "b" }, "3");
    await harness.opened.jobs.idle();
    expect(await keysOf(harness)).toEqual(keys);
  });

  test("follows the rule with the greatest priority for each destination, and goes to several", async () => {
    const harness = await start([]);
    await keep(harness, "vault");
    const toCopies = (storageClass: string) => ({ destination: { bucket: inBucket("copies"), storageClass } });
    await replicateBy(harness, [
      newer("copies", { priority: 1, ...toCopies("ONEZONE_IA") }),
      newer("copies", { priority: 7, ...toCopies("STANDARD_IA") }),
      newer("vault", { priority: 2 }),
    ]);
    await put(harness, { bucket: "photos", key: "cat.jpg" }, "meow");
    await harness.opened.jobs.idle();
    const { contents } = await harness.client.listObjectsV2({ bucket: "copies" }, as(alice));
    expect(contents.map(({ storageClass }) => storageClass)).toEqual(["STANDARD_IA"]);
    expect(await keysOf(harness, "vault")).toEqual(["cat.jpg"]);
    expect(await statusOf(harness, "cat.jpg")).toBe("COMPLETED");
  });

  test("takes later changes of its tags along", async () => {
    const harness = await start([newer("copies")]);
    await put(harness, { bucket: "photos", key: "cat.jpg" }, "meow");
    await harness.opened.jobs.idle();
    const tagging = { tagSet: [{ key: "kind", value: "cat" }] };
    await harness.client.putObjectTagging({ bucket: "photos", key: "cat.jpg", tagging }, as(alice));
    await harness.opened.jobs.idle();
    const { tagSet } = await harness.client.getObjectTagging({ bucket: "copies", key: "cat.jpg" }, as(alice));
    expect(tagSet).toMatchObject([{ key: "kind", value: "cat" }]);
    expect((await get(harness, { bucket: "copies", key: "cat.jpg" })).body.toString()).toBe("meow");
  });

  test("keeps its lock", async () => {
    const harness = await startLockable();
    const lock = { objectLockMode: "COMPLIANCE", objectLockRetainUntilDate: dayAhead, objectLockLegalHoldStatus: "ON" };
    await put(harness, { bucket: "photos", key: "cat.jpg", ...lock }, "meow");
    await harness.opened.jobs.idle();
    const copy = await harness.client.headObject({ bucket: "copies", key: "cat.jpg" }, as(alice));
    expect(copy).toMatchObject({ objectLockMode: "COMPLIANCE", objectLockLegalHoldStatus: "ON" });
    expect(copy.objectLockRetainUntilDate?.seconds).toBe(dayAhead.seconds);
  });

  test("without a lock is retained by the default of the bucket that it is copied to", async () => {
    const harness = await startLockable();
    const rule = { defaultRetention: { mode: "COMPLIANCE", days: 3 } };
    const objectLockConfiguration = { objectLockEnabled: "Enabled", rule };
    await harness.client.putObjectLockConfiguration({ bucket: "copies", objectLockConfiguration }, as(alice));
    await put(harness, { bucket: "photos", key: "cat.jpg" }, "meow");
    await harness.opened.jobs.idle();
    const original = await harness.client.headObject({ bucket: "photos", key: "cat.jpg" }, as(alice));
    const copy = await harness.client.headObject({ bucket: "copies", key: "cat.jpg" }, as(alice));
    expect([original.objectLockMode, copy.objectLockMode]).toEqual([undefined, "COMPLIANCE"]);
    expect(Number(copy.objectLockRetainUntilDate?.seconds) - Date.now() / 1000).toBeGreaterThan(2.9 * 86_400);
  });

  test("leaves its copy the lock that it was given since when its tags change", async () => {
    const harness = await startLockable();
    const { versionId = "" } = await put(harness, { bucket: "photos", key: "cat.jpg" }, "meow");
    await harness.opened.jobs.idle();
    const copy = { bucket: "copies", key: "cat.jpg" };
    const retention = { mode: "COMPLIANCE", retainUntilDate: dayAhead };
    await harness.client.putObjectRetention({ ...copy, retention }, as(alice));
    await harness.client.putObjectLegalHold({ ...copy, legalHold: { status: "ON" } }, as(alice));
    const tagging = { tagSet: [{ key: "kind", value: "cat" }] };
    await harness.client.putObjectTagging({ bucket: "photos", key: "cat.jpg", tagging }, as(alice));
    await harness.opened.jobs.idle();
    expect(await harness.client.headObject(copy, as(alice))).toMatchObject({
      objectLockMode: "COMPLIANCE",
      objectLockLegalHoldStatus: "ON",
      tagCount: 1,
    });
    expect(await refusalOf(harness.client.deleteObject({ ...copy, versionId }, as(alice)))).toBe("OBJECT_LOCKED");
  });

  test("under a managed key is copied only where a rule names the key of copies, and is under that one", async () => {
    const keyActions = [...allowed, "kms:Decrypt", "kms:Encrypt"];
    const harness = await start([newer("copies")], { accounts: accountsWith(keyActions) });
    const managed = { serverSideEncryption: 2, sseKmsKeyId: "alias/photos" } as const;
    await put(harness, { bucket: "photos", key: "first", ...managed }, "meow");
    const destination = {
      bucket: inBucket("copies"),
      encryptionConfiguration: { replicaKmsKeyId: `arn:aws:kms:us-east-1:${alice}:alias/copies` },
    };
    const criteria = { sourceSelectionCriteria: { sseKmsEncryptedObjects: { status: "Enabled" } } };
    await replicateBy(harness, [newer("copies", { destination, ...criteria })]);
    await put(harness, { bucket: "photos", key: "second", ...managed }, "meow");
    await harness.opened.jobs.idle();
    expect(await keysOf(harness)).toEqual(["second"]);
    const copy = await get(harness, { bucket: "copies", key: "second" });
    expect(copy.body.toString()).toBe("meow");
    expect(copy.head.sseKmsKeyId).toContain("alias/copies");
  });
});

test.each([
  // rules, whether the delete marker is copied
  [[older("copies")], true],
  [[newer("copies")], false],
  [[newer("copies", { deleteMarkerReplication: { status: "Enabled" } })], true],
])(
  "a delete marker is copied by rules of the older version, and where it is asked for: %j %s",
  async (rules, isCopied) => {
    const harness = await start(rules);
    const { versionId } = await put(harness, { bucket: "photos", key: "cat.jpg" }, "meow");
    await harness.client.deleteObject({ bucket: "photos", key: "cat.jpg" }, as(alice));
    await put(harness, { bucket: "photos", key: "dog.jpg" }, "woof");
    const dog = await harness.client.headObject({ bucket: "photos", key: "dog.jpg" }, as(alice));
    await harness.client.deleteObject({ bucket: "photos", key: "dog.jpg", versionId: dog.versionId }, as(alice));
    await harness.opened.jobs.idle();
    const { versions, deleteMarkers } = await harness.client.listObjectVersions({ bucket: "copies" }, as(alice));
    expect(versions.filter(({ key }) => key === "cat.jpg").map((each) => each.versionId)).toEqual([versionId]);
    expect(deleteMarkers.map(({ key }) => key)).toEqual(isCopied ? ["cat.jpg"] : []);
    expect(await keysOf(harness)).not.toContain(isCopied ? "cat.jpg" : "");
  },
);

describe("the role of the rules", () => {
  test.each([
    // accounts, status
    [accountsWith(allowed), "COMPLETED"],
    [accountsWith(allowed, "events.amazonaws.com"), "FAILED"],
    [accountsWith(["s3:ReplicateObject"]), "FAILED"],
    [accountsWith(["s3:GetObjectVersionForReplication"]), "FAILED"],
    [accountsOf({ accounts: [], users: [], roles: [], organizations: new Map(), accessKeys: [] }), "FAILED"],
  ])("%# trusts this service and may do what the copy needs: %s", async (accounts, status) => {
    const harness = await start([newer("copies")], { accounts });
    await put(harness, { bucket: "photos", key: "cat.jpg" }, "meow");
    await harness.opened.jobs.idle();
    expect(await statusOf(harness, "cat.jpg")).toBe(status);
    expect(await keysOf(harness)).toEqual(status === "COMPLETED" ? ["cat.jpg"] : []);
  });

  test("needs the policy of a bucket of another account, whose copies can belong to that account", async () => {
    const override = [...allowed, "s3:ObjectOwnerOverrideToBucketOwner"];
    const harness = await startHarness({ accounts: accountsWith(override), objectOwnership: "ObjectWriter" });
    await keep(harness, "photos");
    await keep(harness, "bobs", {}, bob);
    const account = { bucket: inBucket("bobs"), account: bob, accessControlTranslation: { owner: "Destination" } };
    await replicateBy(harness, [newer("bobs", { destination: account })]);
    await put(harness, { bucket: "photos", key: "refused" }, "meow");
    await harness.opened.jobs.idle();
    const policy = documentOf({
      Effect: "Allow",
      Principal: { AWS: roleArn },
      Action: ["s3:ReplicateObject", "s3:ObjectOwnerOverrideToBucketOwner"],
      Resource: `${inBucket("bobs")}/*`,
    });
    await harness.client.putBucketPolicy({ bucket: "bobs", policy }, as(bob));
    await put(harness, { bucket: "photos", key: "cat.jpg" }, "meow");
    await harness.opened.jobs.idle();
    expect([await statusOf(harness, "refused"), await statusOf(harness, "cat.jpg")]).toEqual(["FAILED", "COMPLETED"]);
    expect(await keysOf(harness, "bobs", bob)).toEqual(["cat.jpg"]);
    const { owner } = await harness.client.getObjectAcl({ bucket: "bobs", key: "cat.jpg" }, as(bob));
    expect(owner?.displayName).toBe(bob);
  });
});

test("what was answered before the service stopped is copied after its next start, once", async () => {
  const directory = await temporaryDirectory();
  const options = { accounts: accountsWith(allowed), directory };
  const first = await start([newer("copies")], options);
  await first.opened.jobs.stop();
  await put(first, { bucket: "photos", key: "cat.jpg" }, "meow");
  expect(await statusOf(first, "cat.jpg")).toBe("PENDING");
  await first.stop();

  const second = await startHarness(options);
  await second.opened.jobs.idle();
  expect(await statusOf(second, "cat.jpg")).toBe("COMPLETED");
  expect((await second.client.listObjectVersions({ bucket: "copies" }, as(alice))).versions).toHaveLength(1);
});
