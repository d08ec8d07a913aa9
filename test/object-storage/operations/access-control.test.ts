import { expect, test } from "vitest";

import { alice, as, bob, put, refusalOf, startWithBucket } from "../harness.ts";

const owner = {
  id: "5d9a66ea9224bee5d96378366997ae1d8f12f3c4789e28355532bf67dd86385c",
  displayName: alice,
};
const ownerOnly = { owner, grants: [{ grantee: { ...owner, type: "CanonicalUser" }, permission: "FULL_CONTROL" }] };

test("getBucketAcl returns the full control of the owner", async () => {
  const { client } = await startWithBucket();
  expect(await client.getBucketAcl({ bucket: "photos" }, as(alice))).toMatchObject(ownerOnly);
});

test("getObjectAcl returns the full control of the owner", async () => {
  const harness = await startWithBucket();
  await put(harness, { bucket: "photos", key: "cat.jpg" }, "meow");
  const acl = await harness.client.getObjectAcl({ bucket: "photos", key: "cat.jpg" }, as(alice));
  expect(acl).toMatchObject(ownerOnly);
});

test.each([
  // request, account, reason; in the order of refusal
  [{ bucket: "unknown", versionId: "1" }, alice, "NO_SUCH_BUCKET"],
  [{ versionId: "1" }, bob, "ACCESS_DENIED"],
  [{ versionId: "1" }, alice, "INVALID_VERSION_ID"],
  [{}, alice, "NO_SUCH_KEY"],
])("getObjectAcl with %o by the account %s ends as %s", async (request, account, reason) => {
  const { client } = await startWithBucket();
  const call = client.getObjectAcl({ bucket: "photos", key: "cat.jpg", ...request }, as(account));
  expect(await refusalOf(call)).toBe(reason);
});

test.each([
  // request, account, reason; in the order of refusal
  [{ bucket: "unknown", acl: "private" }, alice, "NO_SUCH_BUCKET"],
  [{ acl: "private" }, bob, "ACCESS_DENIED"],
  [
    { acl: "nonsense" },
    alice,
    "INVALID_INPUT: Value 'nonsense' at 'acl' failed to satisfy constraint: Member must satisfy enum value set: [private, public-read, public-read-write, authenticated-read]",
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
  [{ bucket: "unknown", versionId: "1" }, alice, "NO_SUCH_BUCKET"],
  [{ versionId: "1" }, bob, "ACCESS_DENIED"],
  [{ versionId: "1", key: "unknown" }, alice, "INVALID_VERSION_ID"],
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
