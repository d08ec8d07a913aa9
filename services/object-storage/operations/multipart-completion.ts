import type { FinishedUploadRecord, UploadRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { CompleteMultipartUploadRequest } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { BucketContext, Operation } from "../application.ts";
import { announceExpiry } from "../content/announced-expiry.ts";
import { digestOf } from "../../kit/digests/digest.ts";
import {
  checksumMembers,
  defaultChecksumAlgorithm,
  encodeDigest,
  findChecksumAlgorithm,
} from "../domain/checksum-algorithm.ts";
import { evaluateWriteConditions, quoteETag } from "../domain/conditions.ts";
import { describeEncryption } from "../domain/encryption.ts";
import type { UploadChecksum } from "../domain/multipart-checksum.ts";
import type { CompletedObject, DigestOf, ListedPart } from "../domain/multipart-completion.ts";
import {
  checkCompletion,
  checkOneChecksum,
  chooseParts,
  completeObject,
  readPartList,
} from "../domain/multipart-completion.ts";
import { lockOfNew } from "../domain/object-lock.ts";
import { checkOneCondition } from "../domain/offer.ts";
import { shownVersionId } from "../domain/versioning.ts";
import { checkDecryption, checkRepeatedKey } from "../encryption/content-encryption.ts";
import { readCustomerKey } from "../encryption/customer-key.ts";
import { fault } from "../faults.ts";
import type { Bucket } from "../store/bucket.ts";
import { findCurrentRow } from "../store/object.ts";
import { endUpload, findFinishedUpload, findUpload, putFinishedUpload, readAllParts } from "../store/upload.ts";
import { putVersion } from "../store/version-change.ts";

/**
 * Makes one object of an upload's parts, in one transaction that moves references and no bytes; parts that are not
 * listed are released. Repeating it returns the same answer for a day. Checks, in order:
 *  1. the caller's key, if it is given, is valid, see `readCustomerKey`, and there are one checksum and one condition
 *     at most;
 *  2. the list of parts is well formed and in order;
 *  3. the upload is open;
 *  4. the caller's key, if it is given, is the upload's; the caller may decrypt with its managed key;
 *  5. the listed parts are stored, with these ETags and checksums;
 *  6. no part but the last is too small, and the object is not too large;
 *  7. the given size and checksum are the object's;
 *  8. the conditions hold.
 */
export const completeMultipartUpload: Operation<"completeMultipartUpload"> = async (request, context) => {
  const { app, access } = context;
  const customerKey = readCustomerKey(request);
  checkOneChecksum(request);
  checkOneCondition(request);
  const listed = readPartList(request.completeMultipartUpload?.parts ?? [], request.uploadId);

  const finished = await app.store.transact(
    async (transaction) => {
      const bucket = await access.bucket.in(transaction);
      const reference = { bucketId: bucket.bucketId, key: request.key, uploadId: request.uploadId };
      const upload = await findUpload(transaction, reference);
      if (upload !== undefined) {
        checkRepeatedKey(context, upload.encryption, customerKey);
        checkDecryption(context, access.bucket, upload.encryption);
        return finish(transaction, context, request, bucket, upload, listed);
      }
      const before = await findFinishedUpload(transaction, reference);
      if (before === undefined) throw fault(ErrorReason.NO_SUCH_UPLOAD, { upload_id: request.uploadId });
      return { ...before, announced: {}, parts: Number(before.eTag.split("-").at(-1)) };
    },
    { signal: context.signal },
  );

  return {
    location: `/${request.bucket}/${request.key}`,
    bucket: request.bucket,
    key: request.key,
    eTag: quoteETag(finished.eTag),
    versionId: finished.versionId || undefined,
    ...finished.announced,
    ...describeEncryption(finished.encryption),
    ...describeChecksum(finished.checksum, finished.parts),
  };
};

const finish = async (
  transaction: Transaction,
  context: BucketContext,
  request: CompleteMultipartUploadRequest,
  bucket: Bucket,
  upload: UploadRecord,
  listed: readonly ListedPart[],
) => {
  const { app } = context;
  const reference = { bucketId: bucket.bucketId, key: request.key, uploadId: request.uploadId };
  const checksum = checksumOf(upload);
  const stored = await readAllParts(transaction, request.uploadId);
  const chosen = chooseParts(listed, stored, checksum, request.uploadId);
  const object = await completeObject(chosen, checksum, app.limits, digestByName);
  checkCompletion(request, object, checksum);
  await checkConditions(transaction, bucket, request, upload);

  const nowMs = app.clock.now();
  const kept = new Set(listed.map((part) => part.partNumber));
  await endUpload(transaction, reference, stored, (partNumber) => kept.has(partNumber), nowMs);
  const version = {
    ...versionOf(upload, object, checksum, nowMs),
    ...lockOfNew(bucket.objectLock, upload, Math.max(nowMs, app.lockClock.now())),
  };
  const made = await putVersion(transaction, app, bucket, request.key, version, nowMs);
  const versionId = shownVersionId(bucket.versioning, made);
  putFinishedUpload(transaction, reference, {
    finishedMs: BigInt(nowMs),
    eTag: object.eTag,
    versionId: versionId ?? "",
    ...(upload.encryption && { encryption: upload.encryption }),
    checksum: version.checksum as FinishedUploadRecord["checksum"],
  });
  await app.events.announce(transaction, context, bucket, {
    kind: "created",
    key: request.key,
    sizeBytes: object.sizeBytes,
    eTag: object.eTag,
    versionId,
    sequence: made.sequence,
    timeMs: nowMs,
  });
  const announced = await announceExpiry(transaction, context, bucket, request.key, version);
  return {
    announced,
    eTag: object.eTag,
    versionId: versionId ?? "",
    checksum: version.checksum,
    encryption: upload.encryption,
    parts: object.parts.length,
  };
};

/**
 * Conditions apply from the upload's start. A key that was written again since then is a conflict for If-Match, a key
 * that was deleted since then for If-None-Match: the caller must start another upload. Throws NO_SUCH_KEY,
 * CONDITIONAL_REQUEST_CONFLICT or PRECONDITION_FAILED.
 */
const checkConditions = async (
  transaction: Transaction,
  bucket: Bucket,
  request: CompleteMultipartUploadRequest,
  upload: UploadRecord,
): Promise<void> => {
  if (request.ifMatch === undefined && request.ifNoneMatch === undefined) return;
  const current = await findCurrentRow(transaction, bucket.bucketId, request.key);
  const isUnchanged = current?.sequence === upload.sequenceAtStart;
  const outcome = evaluateWriteConditions(request, current);
  if (outcome.kind === "absent") throw fault(ErrorReason.NO_SUCH_KEY, { key: request.key });
  if (!isUnchanged && (current === undefined || request.ifMatch !== undefined))
    throw fault(ErrorReason.CONDITIONAL_REQUEST_CONFLICT, {
      key: request.key,
      condition: request.ifMatch === undefined ? "If-None-Match" : "If-Match",
    });
  if (outcome.kind === "failed") throw fault(ErrorReason.PRECONDITION_FAILED, { condition: outcome.condition });
};

const versionOf = (upload: UploadRecord, object: CompletedObject, checksum: UploadChecksum, nowMs: number) => ({
  lastModifiedMs: BigInt(nowMs),
  eTag: object.eTag,
  sizeBytes: BigInt(object.sizeBytes),
  storageClass: upload.storageClass,
  ownerAccountId: upload.ownerAccountId,
  ...(upload.acl && { acl: upload.acl }),
  ...(upload.contentHeaders === undefined ? {} : { contentHeaders: upload.contentHeaders }),
  metadata: upload.metadata,
  tags: upload.tags,
  checksum: { algorithm: checksum.algorithm, type: checksum.type, value: object.checksum },
  extents: [...object.extents],
  ...(upload.encryption && { encryption: upload.encryption }),
  parts: [...object.parts],
});

const checksumOf = (upload: UploadRecord): UploadChecksum => ({
  algorithm: findChecksumAlgorithm(upload.checksumAlgorithm) ?? defaultChecksumAlgorithm,
  type: upload.checksumType === "COMPOSITE" ? "COMPOSITE" : "FULL_OBJECT",
  isRequested: upload.isChecksumRequested,
});

const describeChecksum = (
  checksum: Pick<NonNullable<FinishedUploadRecord["checksum"]>, "algorithm" | "type" | "value"> | undefined,
  parts: number,
) => {
  const algorithm = checksum === undefined ? undefined : findChecksumAlgorithm(checksum.algorithm);
  if (checksum === undefined || algorithm === undefined) return {};
  const suffix = checksum.type === "COMPOSITE" ? `-${parts}` : "";
  return { [checksumMembers[algorithm]]: encodeDigest(checksum.value) + suffix, checksumType: checksum.type };
};

const digestByName: DigestOf = (name, bytes) =>
  digestOf(findChecksumAlgorithm(name) ?? defaultChecksumAlgorithm, bytes);
