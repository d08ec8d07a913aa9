import { expect, test } from "vitest";

import { alice, as, bob, put, refusalOf, startWithBucket } from "../harness.ts";

const owner = {
  id: "5d9a66ea9224bee5d96378366997ae1d8f12f3c4789e28355532bf67dd86385c",
  displayName: alice,
};
const ownerOnly = { owner, grants: [{ grantee: { ...owner, type: "CanonicalUser" }, permission: "FULL_CONTROL" }] };

test("buckets tell the one state that they have", async () => {
  const { client } = await startWithBucket();
  const photos = { bucket: "photos" };
  expect(await client.getBucketRequestPayment(photos, as(alice))).toMatchObject({ payer: "BucketOwner" });
  expect((await client.getBucketVersioning(photos, as(alice))).status).toBeUndefined();
  expect((await client.getBucketAccelerateConfiguration(photos, as(alice))).status).toBeUndefined();
  expect((await client.getBucketLogging(photos, as(alice))).loggingEnabled).toBeUndefined();
  expect((await client.getBucketOwnershipControls(photos, as(alice))).ownershipControls?.rules).toMatchObject([
    { objectOwnership: "BucketOwnerEnforced" },
  ]);
  expect(await client.getBucketAcl(photos, as(alice))).toMatchObject(ownerOnly);
});

test("objects tell that only their owner may do anything", async () => {
  const harness = await startWithBucket();
  await put(harness, { bucket: "photos", key: "cat.jpg" }, "meow");
  const acl = await harness.client.getObjectAcl({ bucket: "photos", key: "cat.jpg" }, as(alice));
  expect(acl).toMatchObject(ownerOnly);
});

test.each([
  "getBucketRequestPayment",
  "getBucketVersioning",
  "getBucketAccelerateConfiguration",
  "getBucketLogging",
  "getBucketOwnershipControls",
  "getBucketAcl",
] as const)("%s refuses an unknown bucket and another account", async (name) => {
  const { client } = await startWithBucket();
  expect(await refusalOf(client[name]({ bucket: "unknown" }, as(alice)))).toBe("NO_SUCH_BUCKET");
  expect(await refusalOf(client[name]({ bucket: "photos" }, as(bob)))).toBe("ACCESS_DENIED");
});

test("getObjectAcl refuses a version that no object has, an unknown bucket, another account, an unknown key", async () => {
  const { client } = await startWithBucket();
  const acl = (request: object, account = alice) =>
    refusalOf(client.getObjectAcl({ bucket: "photos", key: "cat.jpg", ...request }, as(account)));
  expect(await acl({ bucket: "unknown", versionId: "1" })).toBe("INVALID_VERSION_ID");
  expect(await acl({ bucket: "unknown" })).toBe("NO_SUCH_BUCKET");
  expect(await acl({}, bob)).toBe("ACCESS_DENIED");
  expect(await acl({})).toBe("NO_SUCH_KEY");
});

test.each([
  // request, account, reason; in the order of refusal
  [{ bucket: "unknown", acl: "private" }, alice, "NO_SUCH_BUCKET"],
  [{ acl: "private" }, bob, "ACCESS_DENIED"],
  [
    { acl: "nonsense" },
    alice,
    "INVALID_INPUT: Value 'nonsense' at 'Acl' failed to satisfy constraint: Member must satisfy enum value set: [private, public-read, public-read-write, authenticated-read]",
  ],
  [{ acl: "private" }, alice, "ACCESS_CONTROL_LIST_NOT_SUPPORTED"],
  [{ acl: "public-read" }, alice, "ACCESS_CONTROL_LIST_NOT_SUPPORTED"],
  [{ grantRead: "id=1" }, alice, "ACCESS_CONTROL_LIST_NOT_SUPPORTED"],
  [{ accessControlPolicy: { grants: [] } }, alice, "ACCESS_CONTROL_LIST_NOT_SUPPORTED"],
  [{}, alice, "ACCESS_CONTROL_LIST_NOT_SUPPORTED"],
])("putBucketAcl with %o by the account %s ends as %s", async (request, account, reason) => {
  const { client } = await startWithBucket();
  expect(await refusalOf(client.putBucketAcl({ bucket: "photos", ...request }, as(account)))).toBe(reason);
});

const ownersControl = { acl: "bucket-owner-full-control" };

test.each([
  // request, account, reason; in the order of refusal
  [{ bucket: "unknown", versionId: "1" }, alice, "INVALID_VERSION_ID"],
  [{ bucket: "unknown" }, alice, "NO_SUCH_BUCKET"],
  [{ key: "unknown" }, bob, "ACCESS_DENIED"],
  [{ key: "unknown", acl: "public-read" }, alice, "NO_SUCH_KEY"],
  [{ acl: "public-read" }, alice, "ACCESS_CONTROL_LIST_NOT_SUPPORTED"],
  [{ acl: "private" }, alice, "ACCESS_CONTROL_LIST_NOT_SUPPORTED"],
  [{}, alice, "ACCESS_CONTROL_LIST_NOT_SUPPORTED"],
  [{ grantRead: "id=1" }, alice, "ACCESS_CONTROL_LIST_NOT_SUPPORTED"],
  [{ ...ownersControl, grantRead: "id=1" }, alice, "ACCESS_CONTROL_LIST_NOT_SUPPORTED"],
  [{ ...ownersControl, accessControlPolicy: {} }, alice, "ACCESS_CONTROL_LIST_NOT_SUPPORTED"],
  [{ ...ownersControl, versionId: "null" }, alice, "answered"],
])("putObjectAcl with %o by the account %s ends as %s", async (request, account, reason) => {
  const harness = await startWithBucket();
  const cat = { bucket: "photos", key: "cat.jpg" };
  await put(harness, cat, "meow");
  expect(await refusalOf(harness.client.putObjectAcl({ ...cat, ...request }, as(account)))).toBe(reason);
  expect(await harness.client.getObjectAcl(cat, as(alice))).toMatchObject(ownerOnly);
});

test("putObjectAcl takes an object's own ACL back as a document, and no other document", async () => {
  const harness = await startWithBucket();
  const cat = { bucket: "photos", key: "cat.jpg" };
  await put(harness, cat, "meow");
  const { grants } = await harness.client.getObjectAcl(cat, as(alice));
  const given = (accessControlPolicy: object) =>
    refusalOf(harness.client.putObjectAcl({ ...cat, accessControlPolicy }, as(alice)));
  expect(await given({ owner, grants })).toBe("answered");
  const other = { grantee: { id: "1", type: "CanonicalUser" }, permission: "FULL_CONTROL" };
  expect(await given({ owner, grants: [...grants, other] })).toBe("ACCESS_CONTROL_LIST_NOT_SUPPORTED");
  expect(await given({ owner, grants: [{ ...grants[0], permission: "READ" }] })).toBe(
    "ACCESS_CONTROL_LIST_NOT_SUPPORTED",
  );
});
