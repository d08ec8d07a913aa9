import type { ReplicationStepRecord, VersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { ReplicationDestination } from "../../../gen/quartet/objectstorage/v1/replication_pb.ts";
import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Resource } from "../../kit/access/decide.ts";
import { isAllowed } from "../../kit/access/decide.ts";
import { assumeRole } from "../../kit/accounts/assume-role.ts";
import { parseArn } from "../../kit/arn/arn.ts";
import type { Caller } from "../../kit/identity/caller.ts";
import type { Reader } from "../../kit/store/store.ts";
import { factsOf } from "../access/resources.ts";
import { rules } from "../access/rules.ts";
import type { Application } from "../application.ts";
import { isOwnedByDestination, replicable } from "../domain/replication.ts";
import { resourceArn } from "../domain/resource-arn.ts";
import type { Bucket } from "../store/bucket.ts";
import { findBucket } from "../store/bucket.ts";
import { versions } from "../store/layout.ts";
import { findReplication } from "../store/replication.ts";

/** The dependencies of copies into other buckets. */
export type ReplicationApplication = Pick<
  Application,
  | "accounts"
  | "accountBlocks"
  | "allowsPublicBuckets"
  | "canonicalUserId"
  | "clock"
  | "content"
  | "events"
  | "keyNames"
  | "lockClock"
  | "partition"
  | "regions"
  | "store"
  | "wrappingKeys"
>;

/** What became of a copy: it is there, it can be tried again, or it never will be there. */
export type CopyOutcome = { readonly kind: "copied" } | { readonly kind: "later" | "never"; readonly reason: string };

/** A version to copy. */
export interface CopiedVersion {
  readonly source: Bucket;
  readonly version: VersionRecord;
  readonly destination: ReplicationDestination;
  /** The ARN of the role in whose name it is copied. */
  readonly role: string;
}

/** The version that a step copies, and by which rule and role; a version that is gone needs no copy. */
export const findCopied = async (
  reader: Reader,
  { bucket, bucketId, key, sequence, destination: name }: Omit<ReplicationStepRecord, "$typeName">,
): Promise<CopiedVersion | CopyOutcome> => {
  const source = await findBucket(reader, bucket);
  const version = await reader.get(versions, [bucketId, key, Number(sequence)]);
  if (source?.bucketId !== bucketId || version === undefined) return { kind: "copied" };
  const replication = await findReplication(reader, bucketId);
  const rule = replication?.rulesFor(replicable(key, version)).get(name);
  if (replication?.role === undefined || rule?.destination === undefined)
    return { kind: "never", reason: `no rule copies to ${name} any more` };
  return { source, version, destination: rule.destination, role: replication.role };
};

/** The role of a bucket's rules, as the caller that copies; what became of the copy if it cannot be assumed. */
export const assumeCopyRole = (
  { accounts }: ReplicationApplication,
  { accountId, name }: Bucket,
  roleArn: string,
): { readonly caller: Caller } | CopyOutcome => {
  const context = new Map([
    ["aws:sourceaccount", [accountId]],
    ["aws:sourcearn", [resourceArn({ partition: "aws" }, name)]],
  ]);
  const request = { roleArn, sessionName: "replication", context };
  const assumed = assumeRole(accounts, { serviceNames: [rules.principal] }, request);
  if ("caller" in assumed && assumed.role.accountId === accountId) return { caller: assumed.caller };
  const isKnown = accounts.findRole(roleArn) !== undefined;
  if (!isKnown && accounts.knowsAllRoles?.() === false)
    return { kind: "later", reason: "the role cannot be found now" };
  return { kind: "never", reason: isKnown ? "the role does not trust this service" : "the role does not exist" };
};

/** An object as a resource, with the policy of its bucket. */
export const resourceOf = async (
  app: ReplicationApplication,
  reader: Reader,
  bucket: Bucket,
  key: string,
): Promise<Resource> => {
  const { policy } = await factsOf(reader, bucket, app);
  return {
    arn: resourceArn(app, `${bucket.name}/${key}`),
    ownerAccountId: bucket.accountId,
    policies: policy === undefined ? [] : [policy.policy],
  };
};

/** Where a copy is stored. `keyArn`: the managed key that the rule names for it. */
interface CopyPlace {
  readonly resource: Resource;
  readonly keyArn: string | undefined;
}

/** The first action that the role needs for a copy and may not; undefined: there is none. */
export const refusedAction = async (
  app: ReplicationApplication,
  reader: Reader,
  caller: Caller,
  { source, version, destination }: CopiedVersion,
  key: string,
  { resource: to, keyArn }: CopyPlace,
): Promise<string | undefined> => {
  const from = await resourceOf(app, reader, source, key);
  const asked = [
    { action: "GetObjectVersionForReplication", resource: from },
    { action: version.isDeleteMarker ? "ReplicateDelete" : "ReplicateObject", resource: to },
    ...(version.tags.length === 0 ? [] : [{ action: "ReplicateTags", resource: to }]),
    ...(isOwnedByDestination(destination) ? [{ action: "ObjectOwnerOverrideToBucketOwner", resource: to }] : []),
    ...keyUses(version, keyArn),
  ];
  const call = { app, method: ObjectStorageService.method.putObject, caller };
  return asked.find(({ action, resource }) => !isAllowed(rules, call, { action, resource }))?.action;
};

/** The uses of managed keys: what is under one is copied under the key that the rule names. */
const keyUses = ({ encryption }: VersionRecord, keyArn: string | undefined) => {
  if (encryption?.kms === undefined) return [];
  const use = (action: string, arn: string) => ({
    action,
    resource: { arn, ownerAccountId: parseArn(arn)?.account ?? "" },
  });
  return [use("kms:Decrypt", encryption.kms.keyArn), ...(keyArn === undefined ? [] : [use("kms:Encrypt", keyArn)])];
};
