import type { ListObjectVersionsResponse } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Accounts } from "../../../services/kit/accounts/accounts.ts";
import { accountsOf } from "../../../services/kit/accounts/accounts.ts";
import { parsePolicy } from "../../../services/kit/policy/document.ts";
import type { Harness } from "../harness.ts";
import { alice, as } from "../harness.ts";

export const roleArn = `arn:aws:iam::${alice}:role/copies`;
export const inBucket = (name: string): string => `arn:aws:s3:::${name}`;
/** A policy of one statement. */
export const documentOf = (statement: object): string =>
  JSON.stringify({ Version: "2012-10-17", Statement: [statement] });

/** The actions of a role that copies. */
export const allowed: readonly string[] = [
  "s3:GetObjectVersionForReplication",
  "s3:ReplicateObject",
  "s3:ReplicateDelete",
  "s3:ReplicateTags",
];

/** Accounts with a role of Alice's that a service may assume, and that may do the given actions. */
export const accountsWith = (actions: readonly string[], service = "s3.amazonaws.com"): Accounts => {
  const trust = documentOf({ Effect: "Allow", Principal: { Service: service }, Action: "sts:AssumeRole" });
  const role = {
    accountId: alice,
    name: "copies",
    arn: roleArn,
    trustPolicy: parsePolicy(trust, { principals: "required", accountMembers: [], bytesMax: 2_048 }),
    policies: [documentOf({ Effect: "Allow", Action: actions, Resource: "*" })],
  };
  return accountsOf({ accounts: [], users: [], roles: [role], organizations: new Map(), accessKeys: [] });
};

/** A rule of the newer version that copies everything but delete markers. */
export const newer = (destination: string, further: object = {}) => ({
  status: "Enabled",
  priority: 1,
  filter: {},
  deleteMarkerReplication: { status: "Disabled" },
  destination: { bucket: inBucket(destination) },
  ...further,
});

/** Has Alice's bucket replicated by rules. */
export const replicateBy = ({ client }: Harness, rules: object[], { bucket = "photos", role = roleArn } = {}) =>
  client.putBucketReplication({ bucket, replicationConfiguration: { role, rules } }, as(alice));

/** Has a bucket keep versions. */
export const enableVersions = async ({ client }: Harness, bucket: string, account = alice): Promise<void> => {
  await client.putBucketVersioning({ bucket, versioningConfiguration: { status: "Enabled" } }, as(account));
};

/** Creates a bucket that keeps versions. */
export const keep = async (harness: Harness, bucket: string, further: object = {}, account = alice): Promise<void> => {
  await harness.client.createBucket({ bucket, ...further }, as(account));
  await enableVersions(harness, bucket, account);
};

/** How far the copies of Alice's object in `photos` are. */
export const statusOf = async ({ client }: Harness, key: string, bucket = "photos"): Promise<string | undefined> =>
  (await client.headObject({ bucket, key }, as(alice))).replicationStatus;

/** All versions and delete markers of a bucket of Alice's. */
export const keptOf = async ({ client }: Harness, bucket = "kept"): Promise<string[]> => {
  const kept: string[] = [];
  for (let from: { keyMarker?: string; versionIdMarker?: string } | undefined = {}; from !== undefined;) {
    const page: ListObjectVersionsResponse = await client.listObjectVersions({ bucket, ...from }, as(alice));
    for (const { key, versionId, isLatest } of [...page.versions, ...page.deleteMarkers])
      kept.push(`${key} ${versionId}${isLatest === true ? " latest" : ""}`);
    const { isTruncated, nextKeyMarker: keyMarker = "", nextVersionIdMarker: versionIdMarker = "" } = page;
    from = isTruncated === true ? { keyMarker, versionIdMarker } : undefined;
  }
  return kept.toSorted((one, other) => (one < other ? -1 : 1));
};
