import type { CompleteMultipartUploadRequest } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { FinishedUploadRecord, UploadRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { Transaction } from "../../kit/store/store.ts";
import { useBucket } from "../access/bucket-access.ts";
import type { Context } from "../application.ts";
import { openDigest } from "../content/digest.ts";
import {
  checksumMembers,
  defaultChecksumAlgorithm,
  encodeDigest,
  findChecksumAlgorithm,
} from "../domain/checksum-algorithm.ts";
import { judgeWrite, quoteETag } from "../domain/conditions.ts";
import type { UploadChecksum } from "../domain/multipart-checksum.ts";
import type { CompletedObject, DigestOf, ListedPart } from "../domain/multipart-completion.ts";
import { checkCompletion, chooseParts, completeObject, readPartList } from "../domain/multipart-completion.ts";
import { refuseUnoffered } from "../domain/offer.ts";
import { fault } from "../faults.ts";
import type { Bucket } from "../store/bucket.ts";
import { findCurrentRow, putNullVersion } from "../store/object.ts";
import { endUpload, findFinishedUpload, findUpload, putFinishedUpload, readParts } from "../store/upload.ts";

/**
 * Makes the object of an upload's parts, in one transaction that moves references and no bytes; parts that are not
 * listed are freed. Repeating it answers the same for a day. Refuses what is not offered, a malformed list of parts,
 * then as every use of a bucket does, an upload that is not open, wrong parts, sizes, checksums, then conditions.
 */
export const completeMultipartUpload = async (request: CompleteMultipartUploadRequest, context: Context) => {
  const { app } = context;
  refuseUnoffered(request);
  const listed = readPartList(request.completeMultipartUpload?.parts ?? []);

  const finished = await app.store.transact(
    async (transaction) => {
      const bucket = await useBucket(transaction, context, request);
      const place = { bucketId: bucket.bucketId, key: request.key, uploadId: request.uploadId };
      const upload = await findUpload(transaction, place);
      if (upload !== undefined) return finish(transaction, context, request, bucket, upload, listed);
      const before = await findFinishedUpload(transaction, place);
      if (before === undefined) throw fault(ErrorReason.NO_SUCH_UPLOAD, { upload_id: request.uploadId });
      return { eTag: before.eTag, checksum: before.checksum, parts: Number(before.eTag.split("-").at(-1)) };
    },
    { signal: context.signal },
  );

  return {
    location: `/${request.bucket}/${request.key}`,
    bucket: request.bucket,
    key: request.key,
    eTag: quoteETag(finished.eTag),
    ...describeChecksum(finished.checksum, finished.parts),
  };
};

const finish = async (
  transaction: Transaction,
  context: Context,
  request: CompleteMultipartUploadRequest,
  bucket: Bucket,
  upload: UploadRecord,
  listed: readonly ListedPart[],
) => {
  const { app } = context;
  const place = { bucketId: bucket.bucketId, key: request.key, uploadId: request.uploadId };
  const checksum = checksumOf(upload);
  const stored = await readParts(transaction, request.uploadId);
  const chosen = chooseParts(listed, stored, checksum);
  const object = await completeObject(chosen, checksum, app.limits, digestOf);
  checkCompletion(request, object, checksum);
  await checkConditions(transaction, bucket, request, upload);

  const nowMs = app.clock.now();
  const taken = new Set(listed.map((part) => part.partNumber));
  await endUpload(transaction, place, stored, (partNumber) => taken.has(partNumber), nowMs);
  const version = versionOf(upload, object, checksum, nowMs);
  const sequence = await putNullVersion(transaction, app.sequences, bucket.bucketId, request.key, version, nowMs);
  putFinishedUpload(transaction, place, {
    finishedTimeMs: BigInt(nowMs),
    eTag: object.eTag,
    checksum: version.checksum as FinishedUploadRecord["checksum"],
  });
  await app.events.announce(transaction, context, bucket, {
    kind: "created",
    key: request.key,
    sizeBytes: object.sizeBytes,
    eTag: object.eTag,
    sequence,
    timeMs: nowMs,
  });
  return { eTag: object.eTag, checksum: version.checksum, parts: object.parts.length };
};

/**
 * Conditions count from the upload's start. A key that was written again since is a conflict for If-Match, one that was
 * deleted since for If-None-Match: the caller must start again. Otherwise a condition that does not hold is just that.
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
  const verdict = judgeWrite(request, current);
  if (verdict.kind === "absent") throw fault(ErrorReason.NO_SUCH_KEY, { key: request.key });
  if (!isUnchanged && (current === undefined || request.ifMatch !== undefined))
    throw fault(ErrorReason.CONDITIONAL_REQUEST_CONFLICT, { key: request.key });
  if (verdict.kind === "failed") throw fault(ErrorReason.PRECONDITION_FAILED, { condition: verdict.condition });
};

const versionOf = (upload: UploadRecord, object: CompletedObject, checksum: UploadChecksum, nowMs: number) => ({
  lastModifiedMs: BigInt(nowMs),
  eTag: object.eTag,
  sizeBytes: BigInt(object.sizeBytes),
  storageClass: upload.storageClass,
  ownerAccountId: upload.ownerAccountId,
  ...(upload.contentHeaders === undefined ? {} : { contentHeaders: upload.contentHeaders }),
  metadata: upload.metadata,
  tags: upload.tags,
  checksum: { algorithm: checksum.algorithm, type: checksum.type, value: object.checksum },
  extents: [...object.extents],
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

const digestOf: DigestOf = async (name, bytes) => {
  const digest = await openDigest(findChecksumAlgorithm(name) ?? defaultChecksumAlgorithm);
  digest.update(bytes);
  return digest.finish();
};
