import type { VersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { PutObjectRequest } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Reader } from "../../kit/store/store.ts";
import type { BucketContext } from "../application.ts";
import { announceExpiry } from "./announced-expiry.ts";
import type { IncomingContent, ReceivedContent } from "./content-store.ts";
import { checkDeclaredSize } from "./content-verifier.ts";
import { appendedAlgorithm, appendedObject, checkAppendable, checkAppendMembers, tailOf } from "../domain/append.ts";
import { evaluateWriteConditions, quoteETag } from "../domain/conditions.ts";
import { describeContext } from "../domain/encryption.ts";
import { planChecksums } from "../domain/expected-checksums.ts";
import type { BlobRange } from "../domain/extent.ts";
import { checkLockable, lockOfNew, readLock } from "../domain/object-lock.ts";
import { describeChecksum } from "../domain/object-version.ts";
import { shownVersionId } from "../domain/versioning.ts";
import { contentDigest, describeNewEncryption, openAppendedEncryption } from "../encryption/content-encryption.ts";
import { fault } from "../faults.ts";
import { adoptBlob } from "../store/blob.ts";
import type { Bucket } from "../store/bucket.ts";
import type { StoredVersion } from "../store/object.ts";
import { findCurrent, rangesOf } from "../store/object.ts";
import { putContinuedVersion } from "../store/version-change.ts";

/** An object that is appended to. */
export interface AppendedTo {
  readonly found: StoredVersion;
  /** Its tail, which is stored again with what is appended. Empty: none is. */
  readonly tail: readonly BlobRange[];
}

/**
 * The object that a write with an offset appends to; undefined: the key has none, and the offset is 0. Throws, in this
 * order: PRECONDITION_FAILED or NO_SUCH_KEY for the conditions; INVALID_WRITE_OFFSET; the refusals of `checkAppendable`
 * and `checkAppendMembers`.
 */
export const findAppendedTo = (head: PutObjectRequest, context: BucketContext): Promise<AppendedTo | undefined> =>
  context.app.store.read(async (reader) => {
    const { found } = await currentAtOffset(reader, head, context);
    if (found === undefined) return undefined;
    const { version } = found;
    checkAppendable(version);
    checkAppendMembers(head, version);
    const tail = tailOf(version);
    if (tail === undefined) return { found, tail: [] };
    const lengthBytes = Number(tail.lengthBytes);
    const range = { offsetBytes: Number(version.sizeBytes) - lengthBytes, lengthBytes };
    return { found, tail: await rangesOf(reader, version, range) };
  });

/**
 * Appends to an object in one transaction. Nothing but its tail is copied, if that is in the database: it is stored
 * again with what is appended, so that many small appends make few extents. Everything about the object stays. Of
 * several appends at one offset one succeeds, so a repetition fails. Checks, in order:
 *  1. `findAppendedTo`;
 *  2. the lock that it asks for is valid, see `readLock`, and one that the bucket can have;
 *  3. checksums and the declared size are valid;
 *  4. the encryption is that of the object, and the caller may use its key, see `openAppendedEncryption`;
 *  5. the content, as it arrives, has the declared size and digests;
 *  6. conditions and offset again; the object was not written meanwhile (CONDITIONAL_REQUEST_CONFLICT).
 */
export const appendObject = async (
  head: PutObjectRequest,
  incoming: IncomingContent,
  context: BucketContext,
  { found, tail }: AppendedTo,
) => {
  const { app, access } = context;
  const { version } = found;
  const lock = readLock(head, app.lockClock.now());
  checkLockable(access.bucket.known.objectLock, lock);
  const algorithm = appendedAlgorithm(version);
  const expectation = {
    checksums: planChecksums(head),
    ...(algorithm && { alsoCompute: algorithm }),
    sizeBytes: head.contentLength === undefined ? undefined : Number(head.contentLength),
    sizeBytesMax: app.limits.objectBytesMax - Number(version.sizeBytes),
  };
  checkDeclaredSize(expectation.sizeBytes, expectation.sizeBytesMax);
  const encryption = await openAppendedEncryption(context, access.bucket, head, version.encryption);
  const prefix = Buffer.concat(await Array.fromAsync(app.content.read(tail, encryption.contentKey)));

  const commit = async (content: ReceivedContent) => {
    const nowMs = app.clock.now();
    const appended = await appendedObject(version, {
      sizeBytes: content.sizeBytes,
      digest: contentDigest(encryption, content.md5),
      checksum: algorithm && content.computed.get(algorithm),
    });
    const { made, announced } = await app.store.transact(
      async (transaction) => {
        const { bucket, found: now } = await currentAtOffset(transaction, head, context);
        if (now?.sequence !== found.sequence) throw fault(ErrorReason.CONDITIONAL_REQUEST_CONFLICT, { key: head.key });
        const kept = tail.length === 0 ? version.extents : version.extents.slice(0, -1);
        const record = {
          ...keptMembers(now.version),
          ...appended,
          lastModifiedMs: BigInt(nowMs),
          ...lockOfNew(bucket.objectLock, lock, Math.max(nowMs, app.lockClock.now())),
          extents: [...kept, ...adoptBlob(transaction, content.blob)],
        };
        const continued = { sequence: found.sequence, kept, dropped: version.extents.slice(kept.length) };
        const { sequence, versionId } = await putContinuedVersion(
          transaction,
          app,
          bucket,
          head.key,
          continued,
          record,
          nowMs,
        );
        const shownId = shownVersionId(bucket.versioning, { versionId });
        await app.events.announce(transaction, context, bucket, {
          kind: "created",
          key: head.key,
          sizeBytes: Number(record.sizeBytes),
          eTag: record.eTag,
          versionId: shownId,
          sequence,
          timeMs: nowMs,
        });
        return { made: shownId, announced: await announceExpiry(transaction, context, bucket, head.key, record) };
      },
      { signal: context.signal },
    );
    return {
      eTag: quoteETag(appended.eTag),
      versionId: made,
      size: appended.sizeBytes,
      ...announced,
      ...describeChecksum(appended),
      ...describeNewEncryption(encryption),
      ...describeContext(encryption.record),
    };
  };
  return app.content.receive({ ...incoming, prefix }, expectation, encryption.contentKey, context.signal, commit);
};

/**
 * The bucket and the current version of the key, undefined if there is none. Throws PRECONDITION_FAILED or NO_SUCH_KEY
 * for the conditions, then INVALID_WRITE_OFFSET if its size is not the offset.
 */
const currentAtOffset = async (
  reader: Reader,
  head: PutObjectRequest,
  context: BucketContext,
): Promise<{ readonly bucket: Bucket; readonly found: StoredVersion | undefined }> => {
  const bucket = await context.access.bucket.in(reader);
  const found = await findCurrent(reader, bucket.bucketId, head.key);
  const outcome = evaluateWriteConditions(head, found?.version);
  if (outcome.kind === "failed") throw fault(ErrorReason.PRECONDITION_FAILED, { condition: outcome.condition });
  if (outcome.kind === "absent") throw fault(ErrorReason.NO_SUCH_KEY, { key: head.key });
  if (head.writeOffsetBytes !== (found?.version.sizeBytes ?? 0n)) throw fault(ErrorReason.INVALID_WRITE_OFFSET);
  return { bucket, found };
};

/** What an append leaves as it is. */
const keptMembers = (version: VersionRecord) => {
  const { acl, contentHeaders, encryption } = version;
  return {
    ownerAccountId: version.ownerAccountId,
    storageClass: version.storageClass,
    metadata: version.metadata,
    tags: version.tags,
    ...(acl && { acl }),
    ...(contentHeaders && { contentHeaders }),
    ...(encryption && { encryption }),
  };
};
