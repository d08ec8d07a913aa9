import { expect, test } from "vitest";

import { alice, as, bob, put, refusalOf, startWithBucket } from "../harness.ts";

const owner = {
  id: "5d9a66ea9224bee5d96378366997ae1d8f12f3c4789e28355532bf67dd86385c",
  displayName: alice,
};
const toOwner = { ...owner, type: "CanonicalUser" };
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
    "INVALID_INPUT: Value 'nonsense' at 'acl' failed to satisfy constraint: Member must satisfy enum value set: [private, public-read, public-read-write, authenticated-read, log-delivery-write]",
  ],
  [
    { acl: "private", grantRead: "id=1", accessControlPolicy: {} },
    alice,
    "INVALID_REQUEST: Specifying both Canned ACLs and Header Grants is not allowed",
  ],
  [{ acl: "private", accessControlPolicy: {} }, alice, "UNEXPECTED_CONTENT"],
  [{ grantRead: "id=1", accessControlPolicy: {} }, alice, "UNEXPECTED_CONTENT"],
  [{}, alice, "MISSING_SECURITY_HEADER"],
  [{ accessControlPolicy: { grants: [] } }, alice, "MALFORMED_ACL"],
  [{ accessControlPolicy: { owner, grants: [{ permission: "READ" }] } }, alice, "MALFORMED_ACL"],
  [
    { accessControlPolicy: { owner, grants: [{ grantee: { ...owner, type: "Robot" }, permission: "READ" }] } },
    alice,
    "MALFORMED_ACL",
  ],
  [{ accessControlPolicy: { owner, grants: [{ grantee: toOwner, permission: "LOOK" }] } }, alice, "MALFORMED_ACL"],
  [{ grantRead: "id=1" }, alice, "INVALID_ARGUMENT: Invalid id"],
  [{ grantRead: 'uri="http://acs.amazonaws.com/groups/s3/Nobody"' }, alice, "INVALID_ARGUMENT: Invalid group uri"],
  [{ grantRead: "name=bob" }, alice, "INVALID_ARGUMENT: Argument format not recognized"],
  [{ grantRead: "emailAddress=bob@example.com" }, alice, "UNRESOLVABLE_GRANT"],
  [{ acl: "public-read" }, alice, "ACCESS_CONTROL_LIST_NOT_SUPPORTED"],
  [{ grantRead: `id="${owner.id}"` }, alice, "ACCESS_CONTROL_LIST_NOT_SUPPORTED"],
  [{ accessControlPolicy: { owner, grants: [] } }, alice, "ACCESS_CONTROL_LIST_NOT_SUPPORTED"],
  [{ accessControlPolicy: { owner: { id: "1" }, grants: [] } }, alice, "ACCESS_DENIED"],
  [{ acl: "private" }, alice, "answered"],
  [{ grantFullControl: `id="${owner.id}"` }, alice, "answered"],
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
  [
    { ...ownersControl, grantRead: "id=1" },
    alice,
    "INVALID_REQUEST: Specifying both Canned ACLs and Header Grants is not allowed",
  ],
  [{ ...ownersControl, accessControlPolicy: {} }, alice, "UNEXPECTED_CONTENT"],
  [{ key: "unknown" }, alice, "MISSING_SECURITY_HEADER"],
  [{ key: "unknown", grantRead: "id=1" }, alice, "INVALID_ARGUMENT: Invalid id"],
  [{ key: "unknown", acl: "public-read" }, alice, "NO_SUCH_KEY"],
  [{ acl: "public-read" }, alice, "ACCESS_CONTROL_LIST_NOT_SUPPORTED"],
  [{ acl: "private" }, alice, "answered"],
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
  const other = { grantee: { id: "1".repeat(64), type: "CanonicalUser" }, permission: "FULL_CONTROL" };
  expect(await given({ owner, grants: [...grants, other] })).toBe("ACCESS_CONTROL_LIST_NOT_SUPPORTED");
  expect(await given({ owner, grants: [{ ...grants[0], permission: "READ" }] })).toBe(
    "ACCESS_CONTROL_LIST_NOT_SUPPORTED",
  );
});
