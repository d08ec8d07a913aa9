import { expect, test } from "vitest";

import type { Harness } from "../harness.ts";
import { alice, as, bob, notImplemented, refusalOf, startHarness } from "../harness.ts";

const role = `arn:aws:iam::${alice}:role/copies`;
const destination = { bucket: "arn:aws:s3:::copies" };
const rule = {
  status: "Enabled",
  priority: 1,
  filter: {},
  deleteMarkerReplication: { status: "Disabled" },
  destination,
};

const keepVersions = ({ client }: Harness, bucket: string, account = alice) =>
  client.putBucketVersioning({ bucket, versioningConfiguration: { status: "Enabled" } }, as(account));

/** Buckets that keep versions: Alice's `photos` and `copies`, Bob's `bobs`; and Alice's `plain`, which does not. */
const start = async (): Promise<Harness> => {
  const harness = await startHarness();
  for (const bucket of ["photos", "copies", "plain"]) await harness.client.createBucket({ bucket }, as(alice));
  await harness.client.createBucket({ bucket: "bobs" }, as(bob));
  for (const bucket of ["photos", "copies"]) await keepVersions(harness, bucket);
  await keepVersions(harness, "bobs", bob);
  return harness;
};

test("rules of replication are read back as they were put, each with an id, and are gone after their deletion", async () => {
  const { client } = await start();
  const request = { bucket: "photos", replicationConfiguration: { role, rules: [{ ...rule, id: "all" }] } };
  const read = () => client.getBucketReplication({ bucket: "photos" }, as(alice));
  expect(await refusalOf(read())).toBe("REPLICATION_CONFIGURATION_NOT_FOUND");
  await client.putBucketReplication(request, as(alice));
  expect((await read()).replicationConfiguration).toMatchObject(request.replicationConfiguration);
  const older = { status: "Enabled", prefix: "a/", destination };
  await client.putBucketReplication(
    { bucket: "photos", replicationConfiguration: { role, rules: [older] } },
    as(alice),
  );
  expect((await read()).replicationConfiguration?.rules).toMatchObject([{ ...older, id: /^[0-9a-f-]{36}$/ }]);
  const suspend = { bucket: "photos", versioningConfiguration: { status: "Suspended" } };
  expect(await refusalOf(client.putBucketVersioning(suspend, as(alice)))).toMatch(
    /^INVALID_BUCKET_STATE: A replication/,
  );
  await client.deleteBucketReplication({ bucket: "photos" }, as(alice));
  expect(await refusalOf(client.deleteBucketReplication({ bucket: "photos" }, as(alice)))).toBe("answered");
  expect(await refusalOf(read())).toBe("REPLICATION_CONFIGURATION_NOT_FOUND");
  expect(await refusalOf(client.putBucketVersioning(suspend, as(alice)))).toBe("answered");
});

const kms = { sourceSelectionCriteria: { sseKmsEncryptedObjects: { status: "Enabled" } } };
const exist = "INVALID_REQUEST: Destination bucket must exist.";

test.each([
  // bucket, role, rules, reason; in the order of refusal
  ["unknown", undefined, [], "NO_SUCH_BUCKET"],
  ["photos", undefined, [rule], "MALFORMED_XML"],
  ["photos", role, [], "MALFORMED_XML"],
  ["photos", "me", [{ ...rule, status: "On" }], "MALFORMED_XML"],
  ["photos", role, [{ ...rule, destination: {} }], "MALFORMED_XML"],
  ["photos", role, [{ ...rule, prefix: "a" }], "MALFORMED_XML"],
  ["photos", role, [{ ...rule, filter: { prefix: "a", tag: { key: "k", value: "v" } } }], "MALFORMED_XML"],
  ["photos", role, [{ status: "Enabled", filter: {}, destination }], "MALFORMED_XML"],
  ["photos", role, [{ status: "Enabled", destination }], "MALFORMED_XML"],
  ["photos", "me", [{ ...rule, existingObjectReplication: { status: "On" } }], "MALFORMED_XML"],
  [
    "photos",
    "me",
    [{ ...rule, sourceSelectionCriteria: { replicaModifications: { status: "Enabled" } } }],
    notImplemented("ReplicaModifications"),
  ],
  ["photos", "me", [rule], "INVALID_ARGUMENT: Invalid Role ARN in replication configuration"],
  ["photos", role, [{ ...rule, destination: { bucket: "copies" } }], "INVALID_REQUEST: Invalid bucket ARN."],
  ["photos", role, [{ ...rule, destination: { ...destination, account: "1" } }], "INVALID_ARGUMENT: Invalid account"],
  [
    "photos",
    role,
    [{ ...rule, destination: { ...destination, accessControlTranslation: { owner: "Destination" } } }],
    "INVALID_REQUEST: Account must be specified when AccessControlTranslation is specified",
  ],
  ["photos", role, [{ ...rule, destination: { ...destination, storageClass: "COLD" } }], "INVALID_STORAGE_CLASS"],
  [
    "photos",
    role,
    [{ ...rule, ...kms }],
    "INVALID_REQUEST: SseKmsEncryptedObjects must be enabled if EncryptionConfiguration is present, and needs it otherwise",
  ],
  [
    "photos",
    role,
    [{ ...rule, filter: { tag: { key: "k", value: "v" } }, deleteMarkerReplication: { status: "Enabled" } }],
    "INVALID_REQUEST: Delete marker replication is not supported if any Tag filter is specified.",
  ],
  [
    "photos",
    role,
    [
      { ...rule, id: "a" },
      { ...rule, id: "a", priority: 2 },
    ],
    "INVALID_ARGUMENT: Rule ID must be unique. Found same ID for more than one rule",
  ],
  ["photos", role, [rule, rule], "INVALID_REQUEST: Found duplicate priority for rules of the same destination"],
  [
    "plain",
    role,
    [{ ...rule, destination: { bucket: "arn:aws:s3:::unknown" } }],
    "INVALID_REQUEST: Versioning must be 'Enabled' on the bucket to apply a replication configuration",
  ],
  ["photos", role, [{ ...rule, destination: { bucket: "arn:aws:s3:::unknown" } }], exist],
  ["photos", role, [{ ...rule, destination: { bucket: "arn:aws:s3:::bobs", account: alice } }], exist],
  [
    "photos",
    role,
    [{ ...rule, destination: { bucket: "arn:aws:s3:::photos" } }],
    "INVALID_REQUEST: Destination bucket cannot be the same as the source.",
  ],
  [
    "photos",
    role,
    [{ ...rule, destination: { bucket: "arn:aws:s3:::plain" } }],
    "INVALID_REQUEST: Destination bucket must have versioning enabled.",
  ],
  ["photos", role, [{ ...rule, destination: { bucket: "arn:aws:s3:::bobs", account: bob } }], "answered"],
])("rules of replication of %s with the role %s and %j are refused with %s", async (bucket, named, rules, reason) => {
  const { client } = await start();
  const replicationConfiguration = { ...(named !== undefined && { role: named }), rules };
  expect(await refusalOf(client.putBucketReplication({ bucket, replicationConfiguration }, as(alice)))).toBe(reason);
});
