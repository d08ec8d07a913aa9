import type { UploadRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { Application, Operation } from "../application.ts";
import { announceAbort } from "../content/announced-expiry.ts";
import { readAcl } from "../domain/acl-request.ts";
import { checksumMembers, encodeDigest, findChecksumAlgorithm } from "../domain/checksum-algorithm.ts";
import { quoteETag } from "../domain/conditions.ts";
import { describeContext } from "../domain/encryption.ts";
import { instant } from "../domain/instant.ts";
import { encodeListed, listPage } from "../domain/listing.ts";
import { planUploadChecksum } from "../domain/multipart-checksum.ts";
import { planNewObject } from "../domain/object-acl.ts";
import { checkKey, planAttributes } from "../domain/object-attributes.ts";
import { checkLockable, readLock } from "../domain/object-lock.ts";
import { anonymousUserId, ownerOf } from "../domain/owner.ts";
import { ownerNow } from "../domain/ownership.ts";
import { isUploadIdOf, uploadIdOf, uploadIdRandomDigits } from "../domain/upload-id.ts";
import { checkRepeatedKey, describeNewEncryption, openNewEncryption } from "../encryption/content-encryption.ts";
import { readCustomerKey } from "../encryption/customer-key.ts";
import { fault, invalidArgument } from "../faults.ts";
import { limits } from "../limits.ts";
import type { Bucket } from "../store/bucket.ts";
import { findCurrentRow } from "../store/object.ts";
import { createUpload, endUpload, findUpload, listStoredParts, readAllParts, readUploadRows } from "../store/upload.ts";

/**
 * Starts a multipart upload; each call starts another one. Checks, in order:
 *  1. the key is not too long;
 *  2. its ACL is valid, see `readAcl`, and one that the bucket accepts, see `planNewObject`;
 *  3. metadata, headers, tags and storage class are valid;
 *  4. the lock that it asks for is valid, see `readLock`, and one that the bucket can have;
 *  5. the checksum algorithm has the checksum type;
 *  6. the encryption is valid, and the caller may create data keys and decrypt, see `openNewEncryption`.
 */
export const createMultipartUpload: Operation<"createMultipartUpload"> = async (request, context) => {
  const { app, access, caller } = context;
  checkKey(request.key);
  const requestedAcl = readAcl(request, app);
  planNewObject(access.bucket.aclRules(access.bucket.known), caller, requestedAcl);
  const attributes = planAttributes(request, access.bucket.onlyStorageClass);
  const lock = readLock(request, app.lockClock.now());
  checkLockable(access.bucket.known.objectLock, lock);
  const checksum = planUploadChecksum(request);
  const encryption = await openNewEncryption(context, access.bucket, request, ["kms:GenerateDataKey", "kms:Decrypt"]);
  const nowMs = app.clock.now();
  const uploadId = uploadIdOf(request.key, nowMs, app.ids.hex(uploadIdRandomDigits));

  const announced = await app.store.transact(async (transaction) => {
    const bucket = await access.bucket.in(transaction);
    const { bucketId } = bucket;
    checkLockable(bucket.objectLock, lock);
    const { ownerAccountId, acl } = planNewObject(access.bucket.aclRules(bucket), caller, requestedAcl);
    const current = await findCurrentRow(transaction, bucketId, request.key);
    createUpload(
      transaction,
      { bucketId, key: request.key, uploadId },
      {
        initiatedMs: BigInt(nowMs),
        ownerAccountId,
        ...(acl && { acl }),
        initiatorArn: caller.principalArn,
        storageClass: attributes.storageClass,
        contentHeaders: attributes.contentHeaders,
        metadata: attributes.metadata,
        tags: [...attributes.tags],
        ...lock,
        checksumAlgorithm: checksum.algorithm,
        checksumType: checksum.type,
        isChecksumRequested: checksum.isRequested,
        encryption: encryption.record,
        ...(current === undefined ? {} : { sequenceAtStart: current.sequence }),
      },
    );
    return announceAbort(transaction, context, bucket, request.key, nowMs);
  });

  return {
    ...describeNewEncryption(encryption),
    ...describeContext(encryption.record),
    bucket: request.bucket,
    key: request.key,
    uploadId,
    ...announced,
    checksumAlgorithm: checksum.isRequested ? checksum.algorithm : undefined,
    checksumType: checksum.isRequested ? checksum.type : undefined,
  };
};

/**
 * Ends an upload and releases its parts; a part that arrives afterwards is refused. Checks, in order:
 *  1. the upload is open;
 *  2. it was started at the given instant.
 */
export const abortMultipartUpload: Operation<"abortMultipartUpload"> = async (request, { app, access }) => {
  const nowMs = app.clock.now();
  await app.store.transact(async (transaction) => {
    const { bucketId } = await access.bucket.in(transaction);
    const reference = { bucketId, key: request.key, uploadId: request.uploadId };
    const upload = await findUpload(transaction, reference);
    if (upload === undefined) throw fault(ErrorReason.NO_SUCH_UPLOAD, { upload_id: request.uploadId });
    const { ifMatchInitiatedTime: expected } = request;
    if (expected !== undefined && Number(expected.seconds) !== Math.floor(Number(upload.initiatedMs) / 1000))
      throw fault(ErrorReason.PRECONDITION_FAILED, { condition: "x-svc-if-match-initiated-time" });
    const stored = await readAllParts(transaction, request.uploadId);
    await endUpload(transaction, reference, stored, () => false, nowMs);
  });
  return {};
};

/**
 * Lists the stored parts of an upload by number. Checks, in order:
 *  1. the caller's key, if it is given, is valid, see `readCustomerKey`;
 *  2. the upload is open;
 *  3. the key is the upload's.
 */
export const listParts: Operation<"listParts"> = async (request, context) => {
  const { app, access, caller } = context;
  const customerKey = readCustomerKey(request);
  const maxParts = Math.min(request.maxParts ?? limits.entriesPerPageMax, limits.entriesPerPageMax);
  const marker = request.partNumberMarker ?? 0;
  const { bucket, upload, found, announced } = await app.store.read(async (reader) => {
    const opened = await access.bucket.in(reader);
    const open = await findUpload(reader, { bucketId: opened.bucketId, key: request.key, uploadId: request.uploadId });
    if (open === undefined) throw fault(ErrorReason.NO_SUCH_UPLOAD, { upload_id: request.uploadId });
    checkRepeatedKey({ caller }, open.encryption, customerKey);
    return {
      bucket: opened,
      upload: open,
      announced: await announceAbort(reader, context, opened, request.key, Number(open.initiatedMs)),
      found: await listStoredParts(reader, request.uploadId, marker, maxParts + 1),
    };
  });

  const page = found.slice(0, maxParts);
  return {
    bucket: request.bucket,
    key: request.key,
    uploadId: request.uploadId,
    ...announced,
    partNumberMarker: marker,
    nextPartNumberMarker: page.at(-1)?.key[1] ?? 0,
    maxParts,
    isTruncated: maxParts > 0 && found.length > maxParts,
    parts: page.map(({ key: [, partNumber], value }) => {
      const algorithm = upload.isChecksumRequested ? findChecksumAlgorithm(upload.checksumAlgorithm) : undefined;
      return {
        partNumber,
        lastModified: instant(Number(value.lastModifiedMs)),
        eTag: quoteETag(Buffer.from(value.md5).toString("hex")),
        size: value.sizeBytes,
        ...(algorithm === undefined || value.checksum === undefined
          ? {}
          : { [checksumMembers[algorithm]]: encodeDigest(value.checksum.value) }),
      };
    }),
    ...describeUpload(app, bucket, upload),
  };
};

/** Lists the open uploads of a bucket by key, oldest first. Fails if a marker is no id of an upload of its key. */
export const listMultipartUploads: Operation<"listMultipartUploads"> = async (request, { app, access }) => {
  const { prefix = "", delimiter = "", keyMarker = "" } = request;
  const uploadIdMarker = keyMarker === "" ? undefined : request.uploadIdMarker || undefined;
  if (uploadIdMarker !== undefined && !isUploadIdOf(keyMarker, uploadIdMarker))
    throw invalidArgument("upload-id-marker", uploadIdMarker, "Invalid uploadId marker");
  const maxUploads = Math.min(request.maxUploads ?? limits.entriesPerPageMax, limits.entriesPerPageMax);
  const { bucket, page } = await app.store.read(async (reader) => {
    const opened = await access.bucket.in(reader);
    const start = { name: keyMarker, position: { key: keyMarker, uploadId: uploadIdMarker } };
    const listing = { prefix, delimiter, start, entriesMax: maxUploads };
    const rows = await listPage(listing, (seek, limit) => readUploadRows(reader, opened.bucketId, prefix, seek, limit));
    return { bucket: opened, page: rows };
  });

  const listed = encodeListed(request.encodingType);
  const last = page.isTruncated ? page.entries.at(-1) : undefined;
  return {
    bucket: request.bucket,
    keyMarker: listed(keyMarker),
    uploadIdMarker: request.uploadIdMarker,
    nextKeyMarker: last === undefined ? undefined : listed(last.name),
    nextUploadIdMarker: last?.kind === "row" ? last.row.uploadId : undefined,
    prefix: listed(prefix),
    delimiter: delimiter === "" ? undefined : listed(delimiter),
    maxUploads,
    isTruncated: page.isTruncated,
    encodingType: request.encodingType,
    uploads: page.entries.flatMap((entry) =>
      entry.kind === "row"
        ? [
            {
              uploadId: entry.row.uploadId,
              key: listed(entry.name),
              initiated: instant(Number(entry.row.upload.initiatedMs)),
              ...describeUpload(app, bucket, entry.row.upload),
            },
          ]
        : [],
    ),
    commonPrefixes: page.entries.flatMap((entry) =>
      entry.kind === "common-prefix" ? [{ prefix: listed(entry.name) }] : [],
    ),
  };
};

const describeUpload = (app: Application, bucket: Bucket, upload: UploadRecord) => ({
  initiator:
    upload.initiatorArn === ""
      ? { id: anonymousUserId, displayName: "anonymous" }
      : { id: upload.initiatorArn, displayName: upload.initiatorArn.split(/[:/]/).at(-1) },
  owner: ownerOf(app, ownerNow(bucket, upload.ownerAccountId)),
  storageClass: upload.storageClass,
  checksumAlgorithm: upload.isChecksumRequested ? upload.checksumAlgorithm : undefined,
  checksumType: upload.isChecksumRequested ? upload.checksumType : undefined,
});
