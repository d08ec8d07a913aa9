import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";

import type { ReplicationStepRecord, VersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import {
  EncryptionRecordSchema,
  ReplicationRecordSchema,
} from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { ReplicationDestination } from "../../../gen/quartet/objectstorage/v1/replication_pb.ts";
import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Resource } from "../../kit/access/decide.ts";
import { isAllowed } from "../../kit/access/decide.ts";
import { assumeRole } from "../../kit/accounts/assume-role.ts";
import { parseArn } from "../../kit/arn/arn.ts";
import type { Caller } from "../../kit/identity/caller.ts";
import { NamedKeyError } from "../../kit/keyring/key-names.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { rules } from "../access/rules.ts";
import { factsOf } from "../access/resources.ts";
import type { Application } from "../application.ts";
import type { Extent } from "../domain/extent.ts";
import { lockOfNew } from "../domain/object-lock.ts";
import { isOwnedByDestination, replicable } from "../domain/replication.ts";
import { keyArnOf, replicaEncryption } from "../encryption/content-encryption.ts";
import { serviceOrigin } from "../events/event-outbox.ts";
import type { Bucket } from "../store/bucket.ts";
import { findBucket } from "../store/bucket.ts";
import { versions } from "../store/layout.ts";
import { putReplica } from "../store/replica.ts";
import { shareExtents } from "../store/blob.ts";
import { findReplication } from "../store/replication.ts";
import { copyContent } from "./copied-content.ts";
import { resourceArn } from "../domain/resource-arn.ts";

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
  | "store"
  | "wrappingKeys"
>;

/** What became of a copy: it is there, it can be tried again, or it never will be there. */
export type CopyOutcome = { readonly kind: "copied" } | { readonly kind: "later" | "never"; readonly reason: string };

/** A version to copy, and where it goes. */
interface PlannedCopy {
  readonly source: Bucket;
  readonly target: Bucket;
  readonly version: VersionRecord;
  readonly destination: ReplicationDestination;
}

/**
 * Copies a version into the bucket of a step, in the name of the rules' role, with its id, its date, its metadata, its
 * tags and its lock. Content under the same key is shared. `settle` runs in the transaction that stores the replica.
 */
export const copyToDestination = async (
  app: ReplicationApplication,
  step: ReplicationStepRecord,
  signal: AbortSignal,
  settle: (transaction: Transaction) => Promise<void>,
): Promise<CopyOutcome> => {
  try {
    return await copyVersion(app, step, signal, settle);
  } catch (error) {
    if (!(error instanceof NamedKeyError)) throw error;
    return { kind: "never", reason: error.message };
  }
};

const copyVersion: typeof copyToDestination = async (app, step, signal, settle) => {
  const planned = await app.store.read((reader) => planCopy(app, reader, step));
  if (!("version" in planned)) return planned;
  const commit = (extents: (transaction: Transaction) => Promise<readonly Extent[]>, encryption?: EncryptionInit) =>
    app.store.transact(
      async (transaction): Promise<CopyOutcome> => {
        const again = await planCopy(app, transaction, step);
        if (!("version" in again)) return again;
        const replica = replicaOf(app, again, encryption);
        const made = await putReplica(transaction, again.target, step.key, Number(step.sequence), replica, extents);
        if (made === "new")
          await app.events.announce(transaction, serviceOrigin("Replication"), again.target, changeOf(again, step));
        await settle(transaction);
        return { kind: "copied" };
      },
      { signal },
    );
  const { version, target, destination } = planned;
  const { encryption, extents } = version;
  // What is under a key of a caller can be copied only as it is, and is read with that key.
  if (extents.length === 0 || encryption?.customerKey !== undefined)
    return commit(async (transaction) => {
      await shareExtents(transaction, extents);
      return extents;
    });
  const replacement = destination.encryptionConfiguration?.replicaKmsKeyId;
  const replaced = await replicaEncryption(app, target, encryption, replacement);
  const source = { sequence: Number(step.sequence), version, versionId: version.versionId, isCurrent: false };
  const range = { offsetBytes: 0, lengthBytes: Number(version.sizeBytes) };
  const plan = { source, sourceKey: undefined, range, encryption: replaced, algorithm: undefined };
  return await copyContent({ app, signal }, plan, (content) => commit(content.adopt, replaced.record));
};

const planCopy = async (
  app: ReplicationApplication,
  reader: Reader,
  { bucket, bucketId, key, sequence, destination: name }: ReplicationStepRecord,
): Promise<PlannedCopy | CopyOutcome> => {
  const source = await findBucket(reader, bucket);
  const version = await reader.get(versions, [bucketId, key, Number(sequence)]);
  if (source?.bucketId !== bucketId || version === undefined) return { kind: "copied" };
  const replication = await findReplication(reader, bucketId);
  const rule = replication?.rulesFor(replicable(key, version)).get(name);
  if (replication?.role === undefined || rule?.destination === undefined)
    return { kind: "never", reason: `no rule copies to ${name} any more` };
  const target = await findBucket(reader, name);
  const problem = problemOf(source, target, rule.destination);
  if (target === undefined || problem !== undefined) return { kind: "never", reason: problem ?? "there is no bucket" };
  const role = assume(app, source, replication.role);
  if (!("caller" in role)) return role;
  const planned = { source, target, version, destination: rule.destination };
  const refused = await refusedAction(app, reader, role.caller, planned, key);
  return refused === undefined ? planned : { kind: "never", reason: `the role may not ${refused}` };
};

/** Why versions of one bucket cannot be copied into another; undefined: they can. */
const problemOf = (
  source: Bucket,
  target: Bucket | undefined,
  { account }: ReplicationDestination,
): string | undefined => {
  if (target === undefined) return "the destination does not exist";
  if (account !== undefined && account !== target.accountId) return "the destination belongs to another account";
  if (target.versioning !== "Enabled") return "the destination does not keep versions";
  return source.objectLock !== undefined && target.objectLock === undefined
    ? "versions of the destination cannot be locked"
    : undefined;
};

const assume = (
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

/** The first action that the role needs and may not; undefined: there is none. */
const refusedAction = async (
  app: ReplicationApplication,
  reader: Reader,
  caller: Caller,
  { source, target, version, destination }: PlannedCopy,
  key: string,
): Promise<string | undefined> => {
  const resourceOf = async (bucket: Bucket): Promise<Resource> => {
    const { policy } = await factsOf(reader, bucket, app);
    return {
      arn: resourceArn(app, `${bucket.name}/${key}`),
      ownerAccountId: bucket.accountId,
      policies: policy === undefined ? [] : [policy.policy],
    };
  };
  const [from, to] = [await resourceOf(source), await resourceOf(target)];
  const asked = [
    { action: "GetObjectVersionForReplication", resource: from },
    { action: version.isDeleteMarker ? "ReplicateDelete" : "ReplicateObject", resource: to },
    ...(version.tags.length === 0 ? [] : [{ action: "ReplicateTags", resource: to }]),
    ...(isOwnedByDestination(destination) ? [{ action: "ObjectOwnerOverrideToBucketOwner", resource: to }] : []),
    ...keyUses(app, version, destination, target),
  ];
  const call = { app, method: ObjectStorageService.method.putObject, caller };
  return asked.find(({ action, resource }) => !isAllowed(rules, call, { action, resource }))?.action;
};

/** The uses of managed keys: what is under one is copied under the key that the rule names. Throws NamedKeyError. */
const keyUses = (
  app: ReplicationApplication,
  { encryption }: VersionRecord,
  { encryptionConfiguration }: ReplicationDestination,
  target: Bucket,
) => {
  if (encryption?.kms === undefined) return [];
  const use = (action: string, keyArn: string) => ({
    action,
    resource: { arn: keyArn, ownerAccountId: parseArn(keyArn)?.account ?? "" },
  });
  const replacement = encryptionConfiguration?.replicaKmsKeyId;
  return [
    use("kms:Decrypt", encryption.kms.keyArn),
    ...(replacement === undefined ? [] : [use("kms:Encrypt", keyArnOf(app, target, replacement))]),
  ];
};

type EncryptionInit = MessageInitShape<typeof EncryptionRecordSchema>;

const newRecord = (encryption: EncryptionInit) => create(EncryptionRecordSchema, encryption);

/**
 * The replica of a version. An ACL is the source's, unless the replica has another owner; so is a retention, where the
 * version has one, otherwise it is the destination's default.
 */
const replicaOf = (
  { clock, lockClock }: ReplicationApplication,
  { source, target, version, destination }: PlannedCopy,
  encryption: EncryptionInit | undefined,
) => {
  const { $typeName: _type, extents: _content, restore: _restore, acl, retention, legalHold, ...others } = version;
  const { encryption: before, ...kept } = others;
  const isOverridden = isOwnedByDestination(destination);
  const nowMs = Math.max(clock.now(), lockClock.now());
  return {
    ...kept,
    ownerAccountId: isOverridden ? target.accountId : version.ownerAccountId || source.accountId,
    storageClass: version.isDeleteMarker ? "" : (destination.storageClass ?? version.storageClass),
    ...(acl && !isOverridden && { acl }),
    ...(!version.isDeleteMarker && lockOfNew(target.objectLock, { ...(retention && { retention }), legalHold }, nowMs)),
    ...((encryption ?? before) && { encryption: encryption === undefined ? before : newRecord(encryption) }),
    replication: create(ReplicationRecordSchema, { status: "REPLICA" }),
  };
};

const changeOf = ({ version }: PlannedCopy, { key, sequence }: ReplicationStepRecord) => {
  const change = {
    key,
    versionId: version.versionId,
    sequence: Number(sequence),
    timeMs: Number(version.lastModifiedMs),
  };
  return version.isDeleteMarker
    ? { kind: "marker-created" as const, ...change }
    : { kind: "created" as const, ...change, sizeBytes: Number(version.sizeBytes), eTag: version.eTag };
};
