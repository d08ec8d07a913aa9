import { create } from "@bufbuild/protobuf";

import { ReplicationRecordSchema, TagRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { PutObjectReplicaRequest } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { BucketContext, Operation } from "../application.ts";
import type { IncomingContent } from "../content/content-store.ts";
import { checkDeclaredSize } from "../content/content-verifier.ts";
import { openIncoming } from "../content/incoming.ts";
import type { Extent } from "../domain/extent.ts";
import { planNewObject } from "../domain/object-acl.ts";
import type { ObjectAttributes } from "../domain/object-attributes.ts";
import { checkKey, planAttributes } from "../domain/object-attributes.ts";
import type { VersionLock } from "../domain/object-lock.ts";
import { checkLockable, lockOfNew, readLock } from "../domain/object-lock.ts";
import type { ObjectReplica } from "../domain/object-replica.ts";
import { planReplicaChecksum, readReplica } from "../domain/object-replica.ts";
import { replicaStatus } from "../domain/replication.ts";
import type { NewEncryption } from "../encryption/content-encryption.ts";
import { openNewEncryption } from "../encryption/content-encryption.ts";
import { serviceOrigin } from "../events/event-outbox.ts";
import { invalidRequest } from "../faults.ts";
import { adoptBlob } from "../store/blob.ts";
import type { Bucket } from "../store/bucket.ts";
import { versions } from "../store/layout.ts";
import { putReplica } from "../store/replica.ts";

/** What is stored of a replica beside its content. */
interface PlannedReplica {
  readonly key: string;
  readonly replica: ObjectReplica;
  readonly attributes: ObjectAttributes;
  readonly lock: VersionLock;
}

/**
 * Stores a version as another installation has it. It survives a crash once it is answered, and repeating it changes
 * nothing. Checks, in order, the first six before any content is read:
 *  1. the key is not too long, and the version one that can be, see `readReplica`;
 *  2. metadata, headers, tags and storage class are valid;
 *  3. the lock that it asks for is valid, see `readLock`;
 *  4. the bucket keeps versions, and can lock them if it must (INVALID_REQUEST);
 *  5. checksums and the size are valid;
 *  6. the encryption is valid and the caller may use its key, see `openNewEncryption`;
 *  7. the content, as it arrives, has the size, and the checksum, without which it is refused (INVALID_REQUEST);
 *  8. bucket and lock again, where the version is stored; no other version of the key has its place (INVALID_REQUEST).
 */
export const putObjectReplica: Operation<"putObjectReplica"> = async (requests, context) => {
  const { app, access } = context;
  const { head, content } = await openIncoming(requests, context.requestHeader);
  checkKey(head.key);
  const replica = readReplica(head, app.clock.now());
  const attributes = planAttributes(head, access.bucket.onlyStorageClass);
  const lock = readLock(head, app.lockClock.now());
  checkDestination(access.bucket.known, lock);
  const planned = { key: head.key, replica, attributes, lock };
  if (head.contentOmitted === true) return { stored: await changeReplica(context, planned) };
  if (replica.isDeleteMarker) {
    await storeReplica(context, planned, undefined, () => Promise.resolve([]));
    return { stored: true };
  }
  const checksums = planReplicaChecksum(replica, head);
  const { objectBytesMax } = app.limits;
  checkDeclaredSize(replica.sizeBytes, objectBytesMax);
  const encryption = await openNewEncryption(context, access.bucket, head);
  const expectation = { checksums, sizeBytes: replica.sizeBytes, sizeBytesMax: objectBytesMax };
  await app.content.receive(content, expectation, encryption.contentKey, context.signal, async (received) => {
    checkCompared(head, replica, content);
    const computed = { ...received.checksum, type: "FULL_OBJECT" as const };
    const compared = { ...planned, replica: { ...replica, checksum: replica.checksum ?? computed } };
    await storeReplica(context, compared, encryption, (transaction) =>
      Promise.resolve(adoptBlob(transaction, received.blob)),
    );
  });
  return { stored: true };
};

/** What changes in the bucket, which is as it must be for the replica. */
const change = <T>(
  { app, access, signal }: BucketContext,
  { lock }: PlannedReplica,
  work: (transaction: Transaction, bucket: Bucket) => Promise<T>,
): Promise<T> =>
  app.store.transact(
    async (transaction) => {
      const bucket = await access.bucket.in(transaction);
      checkDestination(bucket, lock);
      return work(transaction, bucket);
    },
    { signal },
  );

/** Replaces the tags of a replica that is there; false if it is not. */
const changeReplica = (context: BucketContext, planned: PlannedReplica): Promise<boolean> =>
  change(context, planned, async (transaction, bucket) => {
    const { sequence, versionId } = planned.replica;
    const before = await transaction.get(versions, [bucket.bucketId, planned.key, sequence]);
    if (before?.versionId !== versionId) return false;
    await put(transaction, context, bucket, planned, undefined, () => Promise.resolve([]));
    return true;
  });

const storeReplica = (
  context: BucketContext,
  planned: PlannedReplica,
  encryption: NewEncryption | undefined,
  extents: (transaction: Transaction) => Promise<readonly Extent[]>,
): Promise<void> =>
  change(context, planned, async (transaction, bucket) => {
    const made = await put(transaction, context, bucket, planned, encryption, extents);
    if (made === "taken") throw invalidRequest("Another version of the key was made at the same instant.");
    const { sequence, versionId, lastModifiedMs: timeMs, isDeleteMarker, sizeBytes, eTag } = planned.replica;
    // What is written from now on is newer, however far the clock of the other installation is ahead.
    await context.app.sequences.next(transaction, sequence);
    if (made !== "new") return;
    const changed = { key: planned.key, versionId, sequence, timeMs };
    await context.app.events.announce(
      transaction,
      serviceOrigin("Replication"),
      bucket,
      isDeleteMarker ? { kind: "marker-created", ...changed } : { kind: "created", ...changed, sizeBytes, eTag },
    );
  });

const put = (
  transaction: Transaction,
  { app, access, caller }: BucketContext,
  bucket: Bucket,
  { key, replica, attributes, lock }: PlannedReplica,
  encryption: NewEncryption | undefined,
  extents: (transaction: Transaction) => Promise<readonly Extent[]>,
) => {
  const { sequence, versionId, lastModifiedMs, isDeleteMarker, eTag, sizeBytes, checksum, parts } = replica;
  const { ownerAccountId } = planNewObject(access.bucket.aclRules(bucket), caller, undefined);
  const { contentHeaders, metadata, tags, storageClass } = attributes;
  const nowMs = Math.max(app.clock.now(), app.lockClock.now());
  const stored = {
    versionId,
    lastModifiedMs: BigInt(lastModifiedMs),
    eTag,
    sizeBytes: BigInt(sizeBytes),
    storageClass: isDeleteMarker ? "" : storageClass,
    ownerAccountId,
    isDeleteMarker,
    tags: tags.map((tag) => create(TagRecordSchema, tag)),
    replication: create(ReplicationRecordSchema, { status: replicaStatus }),
    ...(!isDeleteMarker && { contentHeaders, metadata, ...lockOfNew(bucket.objectLock, lock, nowMs) }),
    ...(checksum && { checksum }),
    parts: [...parts],
    ...(encryption && { encryption: encryption.record }),
  };
  return putReplica(transaction, bucket, key, sequence, stored, extents);
};

const checkDestination = ({ versioning, objectLock }: Bucket, lock: VersionLock): void => {
  if (versioning !== "Enabled") throw invalidRequest("A bucket of replicas must have versioning enabled.");
  checkLockable(objectLock, lock);
};

/** Throws INVALID_REQUEST for content that came without a checksum of all of it. */
const checkCompared = (
  { checksumCrc64nvme }: PutObjectReplicaRequest,
  { checksum }: ObjectReplica,
  content: IncomingContent,
): void => {
  const { checksumCrc64nvme: trailing } = content.trailer();
  if (checksum?.type !== "FULL_OBJECT" && checksumCrc64nvme === undefined && trailing === undefined)
    throw invalidRequest("A replica needs a checksum of its whole content.");
};
