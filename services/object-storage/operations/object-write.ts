import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { PutObjectRequest } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Reader } from "../../kit/store/store.ts";
import { checkSecondFactor } from "../access/second-factor.ts";
import type { BucketContext, Operation } from "../application.ts";
import { announceExpiry } from "../content/announced-expiry.ts";
import { appendObject, findAppendedTo } from "../content/append.ts";
import type { ReceivedContent } from "../content/content-store.ts";
import { checkDeclaredSize } from "../content/content-verifier.ts";
import { deleteVersion } from "../content/deletion.ts";
import { openIncoming } from "../content/incoming.ts";
import { readAcl } from "../domain/acl-request.ts";
import { checksumMembers, encodeDigest } from "../domain/checksum-algorithm.ts";
import { evaluateWriteConditions, quoteETag } from "../domain/conditions.ts";
import { describeContext } from "../domain/encryption.ts";
import { planChecksums } from "../domain/expected-checksums.ts";
import { planNewObject } from "../domain/object-acl.ts";
import { checkKey, planAttributes } from "../domain/object-attributes.ts";
import { checkLockable, lockOfNew, readLock } from "../domain/object-lock.ts";
import { checkOneCondition } from "../domain/offer.ts";
import { shownVersionId } from "../domain/versioning.ts";
import { contentDigest, describeNewEncryption, openNewEncryption } from "../encryption/content-encryption.ts";
import { fault } from "../faults.ts";
import { adoptBlob } from "../store/blob.ts";
import type { Bucket } from "../store/bucket.ts";
import { findCurrentRow } from "../store/object.ts";
import { putVersion } from "../store/version-change.ts";

/**
 * Stores an object whole; with an offset it appends, see `findAppendedTo` and `appendObject`. Once answered it survives
 * a crash and every later read sees it; repeating it stores the same object again. A refused write leaves nothing.
 * Checks, in order, the first eight before any content is read:
 *  1. the key is not too long, and there is one condition at most;
 *  2. with an offset, see `findAppendedTo`; what appends is then checked by `appendObject`;
 *  3. its ACL is valid, see `readAcl`, and one that the bucket accepts, see `planNewObject`;
 *  4. metadata, headers, tags and storage class are valid;
 *  5. the lock that it asks for is valid, see `readLock`, and one that the bucket can have;
 *  6. checksums and the declared size are valid;
 *  7. the encryption is valid and the caller may use its key, see `openNewEncryption`;
 *  8. the conditions hold;
 *  9. the content, as it arrives, has the declared size and digests;
 * 10. bucket, lock and conditions again, where the object is stored.
 */
export const putObject: Operation<"putObject"> = async (requests, context) => {
  const { app, access } = context;
  const { head, content: incoming } = await openIncoming(requests, context.requestHeader);
  checkKey(head.key);
  checkOneCondition(head);
  const appendedTo = head.writeOffsetBytes === undefined ? undefined : await findAppendedTo(head, context);
  if (appendedTo !== undefined) return appendObject(head, incoming, context, appendedTo);
  const requestedAcl = readAcl(head, app);
  planNewObject(access.bucket.aclRules(access.bucket.known), context.caller, requestedAcl);
  const attributes = planAttributes(head, context.access.bucket.onlyStorageClass);
  const lock = readLock(head, app.lockClock.now());
  checkLockable(access.bucket.known.objectLock, lock);
  const expectation = {
    checksums: planChecksums(head),
    sizeBytes: head.contentLength === undefined ? undefined : Number(head.contentLength),
    sizeBytesMax: app.limits.objectBytesMax,
  };
  checkDeclaredSize(expectation.sizeBytes, expectation.sizeBytesMax);
  const encryption = await openNewEncryption(context, access.bucket, head);
  if (isConditional(head)) await app.store.read((reader) => bucketForWrite(reader, head, context));

  const commit = async (content: ReceivedContent) => {
    const nowMs = app.clock.now();
    const eTag = contentDigest(encryption, content.md5).toString("hex");
    const { versionId, announced } = await app.store.transact(
      async (transaction) => {
        const bucket = await bucketForWrite(transaction, head, context);
        const { ownerAccountId, acl } = planNewObject(access.bucket.aclRules(bucket), context.caller, requestedAcl);
        const version = {
          lastModifiedMs: BigInt(nowMs),
          eTag,
          sizeBytes: BigInt(content.sizeBytes),
          storageClass: attributes.storageClass,
          ownerAccountId,
          ...(acl && { acl }),
          contentHeaders: attributes.contentHeaders,
          metadata: attributes.metadata,
          tags: [...attributes.tags],
          ...lockOfNew(bucket.objectLock, lock, Math.max(nowMs, app.lockClock.now())),
          checksum: { ...content.checksum, type: "FULL_OBJECT" },
          extents: adoptBlob(transaction, content.blob),
          encryption: encryption.record,
        };
        const made = await putVersion(transaction, app, bucket, head.key, version, nowMs);
        const shownId = shownVersionId(bucket.versioning, made);
        await app.events.announce(transaction, context, bucket, {
          kind: "created",
          key: head.key,
          sizeBytes: content.sizeBytes,
          eTag,
          versionId: shownId,
          sequence: made.sequence,
          timeMs: nowMs,
        });
        return { versionId: shownId, announced: await announceExpiry(transaction, context, bucket, head.key, version) };
      },
      { signal: context.signal },
    );
    return {
      eTag: quoteETag(eTag),
      versionId,
      ...announced,
      [checksumMembers[content.checksum.algorithm]]: encodeDigest(content.checksum.value),
      checksumType: "FULL_OBJECT",
      ...describeNewEncryption(encryption),
      ...describeContext(encryption.record),
      ...(head.writeOffsetBytes !== undefined && { size: BigInt(content.sizeBytes) }),
    };
  };
  return app.content.receive(incoming, expectation, encryption.contentKey, context.signal, commit);
};

/**
 * Deletes an object: in a bucket that keeps versions by a delete marker, which is the newest version then. With a
 * version id, removes that version, also a delete marker. Succeeds for what does not exist, so repeating it succeeds.
 * Checks, in order:
 *  1. where the bucket's versions need a second factor to be deleted, it is given with a version id (ACCESS_DENIED);
 *  2. the version id is one that the bucket can have;
 *  3. an existing object or version meets the conditions;
 *  4. the version that is named is not locked (OBJECT_LOCKED); the permission to bypass it is checked before.
 */
export const deleteObject: Operation<"deleteObject"> = async (request, context) => {
  const { versionId, isDeleteMarker } = await context.app.store.transact(
    async (transaction) => {
      const bucket = await context.access.bucket.in(transaction);
      const { versionId: named, mfa } = request;
      if (mfa !== undefined || (named !== undefined && bucket.mfaDelete === "Enabled"))
        await checkSecondFactor(
          transaction,
          context,
          bucket,
          mfa,
          named === undefined ? "DeleteObject" : "DeleteObjectVersion",
          `${bucket.name}/${request.key}`,
        );
      return deleteVersion(transaction, context, bucket, request);
    },
    { signal: context.signal },
  );
  return { versionId, deleteMarker: isDeleteMarker || undefined };
};

type ConditionalWrite = Pick<PutObjectRequest, "key" | "ifMatch" | "ifNoneMatch" | "writeOffsetBytes">;

const isConditional = ({ ifMatch, ifNoneMatch, writeOffsetBytes }: ConditionalWrite): boolean =>
  ifMatch !== undefined || ifNoneMatch !== undefined || writeOffsetBytes !== undefined;

/**
 * The bucket to write to. Fails if the conditions of the write do not hold, and if an object with an offset, which is
 * to be new, exists (INVALID_WRITE_OFFSET, or CONDITIONAL_REQUEST_CONFLICT if it has no content).
 */
const bucketForWrite = async (reader: Reader, request: ConditionalWrite, context: BucketContext): Promise<Bucket> => {
  const bucket = await context.access.bucket.in(reader);
  if (!isConditional(request)) return bucket;
  const current = await findCurrentRow(reader, bucket.bucketId, request.key);
  const outcome = evaluateWriteConditions(request, current);
  if (outcome.kind === "failed") throw fault(ErrorReason.PRECONDITION_FAILED, { condition: outcome.condition });
  if (outcome.kind === "absent") throw fault(ErrorReason.NO_SUCH_KEY, { key: request.key });
  if (request.writeOffsetBytes !== undefined && current !== undefined)
    throw current.sizeBytes > 0n
      ? fault(ErrorReason.INVALID_WRITE_OFFSET)
      : fault(ErrorReason.CONDITIONAL_REQUEST_CONFLICT, { key: request.key });
  return bucket;
};
