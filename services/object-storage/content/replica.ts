import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";

import type { ReplicationStepRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import {
  EncryptionRecordSchema,
  ReplicationRecordSchema,
} from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { ReplicationDestination } from "../../../gen/quartet/objectstorage/v1/replication_pb.ts";
import { NamedKeyError } from "../../kit/keyring/key-names.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import type { Extent } from "../domain/extent.ts";
import { lockOfNew } from "../domain/object-lock.ts";
import { isOwnedByDestination, replicaStatus } from "../domain/replication.ts";
import { replicaIdOf } from "../domain/versioning.ts";
import { keyArnOf, replicaEncryption } from "../encryption/content-encryption.ts";
import { serviceOrigin } from "../events/event-outbox.ts";
import type { Bucket } from "../store/bucket.ts";
import { findBucket, hasBucket } from "../store/bucket.ts";
import { putReplica } from "../store/replica.ts";
import { shareExtents } from "../store/blob.ts";
import { copyContent } from "./copied-content.ts";
import type { CopiedVersion, CopyOutcome, ReplicationApplication } from "./copied-version.ts";
import { assumeCopyRole, findCopied, refusedAction, resourceOf } from "./copied-version.ts";
import { copyToRegion } from "./region-replica.ts";

/** A version to copy, and where it goes. */
interface PlannedCopy extends Omit<CopiedVersion, "role"> {
  readonly target: Bucket;
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
    const isElsewhere = app.regions.exist && !(await app.store.read((reader) => hasBucket(reader, step.destination)));
    return await (isElsewhere ? copyToRegion : copyVersion)(app, step, signal, settle);
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
        const replica = replicaOf(app, again, Number(step.sequence), encryption);
        const made = await putReplica(transaction, again.target, step.key, Number(step.sequence), replica, extents);
        if (made === "taken") return { kind: "never", reason: "another version was made at the same instant" };
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
  step: ReplicationStepRecord,
): Promise<PlannedCopy | CopyOutcome> => {
  const found = await findCopied(reader, step);
  if (!("version" in found)) return found;
  const { source, destination, role: roleArn } = found;
  const target = await findBucket(reader, step.destination);
  const problem = problemOf(source, target, destination);
  if (target === undefined || problem !== undefined) return { kind: "never", reason: problem ?? "there is no bucket" };
  const role = assumeCopyRole(app, source, roleArn);
  if (!("caller" in role)) return role;
  const { encryptionConfiguration: { replicaKmsKeyId } = {} } = destination;
  const refused = await refusedAction(app, reader, role.caller, found, step.key, {
    resource: await resourceOf(app, reader, target, step.key),
    keyArn: replicaKmsKeyId === undefined ? undefined : keyArnOf(app, target, replicaKmsKeyId),
  });
  if (refused !== undefined) return { kind: "never", reason: `the role may not ${refused}` };
  return { source, target, version: found.version, destination };
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

type EncryptionInit = MessageInitShape<typeof EncryptionRecordSchema>;

const newRecord = (encryption: EncryptionInit) => create(EncryptionRecordSchema, encryption);

/**
 * The replica of a version. An ACL is the source's, unless the replica has another owner; so is a retention, where the
 * version has one, otherwise it is the destination's default.
 */
const replicaOf = (
  { clock, lockClock }: ReplicationApplication,
  { source, target, version, destination }: PlannedCopy,
  sequence: number,
  encryption: EncryptionInit | undefined,
) => {
  const { $typeName: _type, extents: _content, restore: _restore, acl, retention, legalHold, ...others } = version;
  const { encryption: before, ...kept } = others;
  const isOverridden = isOwnedByDestination(destination);
  const nowMs = Math.max(clock.now(), lockClock.now());
  return {
    ...kept,
    versionId: replicaIdOf(version, sequence),
    ownerAccountId: isOverridden ? target.accountId : version.ownerAccountId || source.accountId,
    storageClass: version.isDeleteMarker ? "" : (destination.storageClass ?? version.storageClass),
    ...(acl && !isOverridden && { acl }),
    ...(!version.isDeleteMarker && lockOfNew(target.objectLock, { ...(retention && { retention }), legalHold }, nowMs)),
    ...((encryption ?? before) && { encryption: encryption === undefined ? before : newRecord(encryption) }),
    replication: create(ReplicationRecordSchema, { status: replicaStatus }),
  };
};

const changeOf = ({ version }: PlannedCopy, { key, sequence }: ReplicationStepRecord) => {
  const change = {
    key,
    versionId: replicaIdOf(version, Number(sequence)),
    sequence: Number(sequence),
    timeMs: Number(version.lastModifiedMs),
  };
  return version.isDeleteMarker
    ? { kind: "marker-created" as const, ...change }
    : { kind: "created" as const, ...change, sizeBytes: Number(version.sizeBytes), eTag: version.eTag };
};
