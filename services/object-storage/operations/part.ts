import type { UploadRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type {
  UploadPartCopyRequest,
  UploadPartRequest,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Reader } from "../../kit/store/store.ts";
import type { BucketContext, Operation } from "../application.ts";
import type { ReceivedContent } from "../content/content-store.ts";
import { checkDeclaredSize } from "../content/content-verifier.ts";
import type { CopiedContent } from "../content/copied-content.ts";
import { copyContent } from "../content/copied-content.ts";
import { findSource, findSourceAgain } from "../content/copy-source-lookup.ts";
import { openIncoming } from "../content/incoming.ts";
import type { ChecksumAlgorithm } from "../domain/checksum-algorithm.ts";
import {
  checksumMembers,
  defaultChecksumAlgorithm,
  encodeDigest,
  findChecksumAlgorithm,
} from "../domain/checksum-algorithm.ts";
import { quoteETag } from "../domain/conditions.ts";
import { selectCopyRange } from "../domain/copy-source.ts";
import { planChecksums } from "../domain/expected-checksums.ts";
import { instant } from "../domain/instant.ts";
import { checkVersionId } from "../domain/versioning.ts";
import { fault, invalidRequest } from "../faults.ts";
import { contentDigest, describeNewEncryption, openPartEncryption } from "../encryption/content-encryption.ts";
import { readCustomerKey, readSourceCustomerKey } from "../encryption/customer-key.ts";
import { adoptBlob } from "../store/blob.ts";
import { findUpload, putPart } from "../store/upload.ts";

/**
 * Stores a part of an open upload and replaces the part of the same number; the part that is answered last stays.
 * Checks, in order, the first five before any content is read:
 *  1. checksums and the declared size are valid;
 *  2. the caller's key is valid, see `readCustomerKey`;
 *  3. the upload is open;
 *  4. the key is the upload's, and the caller may use it, see `openPartEncryption`;
 *  5. the checksum algorithm is the upload's;
 *  6. the content, as it arrives, has the declared size and digests, and a checksum where that of the upload is made of
 *     those of its parts;
 *  7. the upload again, where the part is stored.
 */
export const uploadPart: Operation<"uploadPart"> = async (requests, context) => {
  const { app } = context;
  const { head, content: incoming } = await openIncoming(requests, context.requestHeader);
  const checksums = planChecksums(head);
  const sizeBytes = head.contentLength === undefined ? undefined : Number(head.contentLength);
  checkDeclaredSize(sizeBytes, app.limits.partBytesMax);
  const customerKey = readCustomerKey(head);
  const upload = await app.store.read((reader) => getUpload(reader, head, context));
  const encryption = await openPartEncryption(context, context.access.bucket, upload.encryption, customerKey);
  const algorithm = algorithmOf(upload);
  if (upload.isChecksumRequested && checksums.isRequested && checksums.algorithm !== algorithm)
    throw otherChecksum(algorithm, checksums.algorithm.toLowerCase());

  const commit = async (content: ReceivedContent) => {
    const isComposed = upload.isChecksumRequested && upload.checksumType === "COMPOSITE";
    if (isComposed && !content.isChecksumRequested) throw otherChecksum(algorithm, "null");
    const nowMs = app.clock.now();
    const md5 = contentDigest(encryption, content.md5);
    await app.store.transact(
      async (transaction) => {
        await getUpload(transaction, head, context);
        const part = {
          lastModifiedMs: BigInt(nowMs),
          md5,
          sizeBytes: BigInt(content.sizeBytes),
          checksum: { algorithm, type: "FULL_OBJECT", value: content.computed.get(algorithm) ?? new Uint8Array() },
          extents: adoptBlob(transaction, content.blob),
        };
        await putPart(transaction, head.uploadId, head.partNumber ?? 0, part, nowMs);
      },
      { signal: context.signal },
    );
    const isShown = upload.isChecksumRequested || content.isChecksumRequested;
    return {
      ...describeNewEncryption(encryption),
      eTag: quoteETag(md5.toString("hex")),
      ...(isShown ? { [checksumMembers[content.checksum.algorithm]]: encodeDigest(content.checksum.value) } : {}),
    };
  };
  const expectation = {
    checksums: checksums.isRequested ? checksums : { ...checksums, algorithm },
    alsoCompute: algorithm,
    sizeBytes,
    sizeBytesMax: app.limits.partBytesMax,
  };
  return app.content.receive(incoming, expectation, encryption.contentKey, context.signal, commit);
};

/**
 * Makes a part of an open upload from an object or a range of it. Its bytes are read for their digests; they are
 * written only if they must be encrypted again, otherwise the part refers to the object's blobs. Checks, in order:
 *  1. the source's version id is one that an object can have;
 *  2. the caller's keys are valid, see `readCustomerKey` and `readSourceCustomerKey`;
 *  3. the upload is open;
 *  4. the source can be read, see `findSource`;
 *  5. the source has the range;
 *  6. the range is not too large;
 *  7. the key is the upload's, and the caller may use it, see `openPartEncryption`.
 */
export const uploadPartCopy: Operation<"uploadPartCopy"> = async (request, context) => {
  const { app, access } = context;
  checkVersionId(access.source.bucket.known.versioning, access.source.versionId);
  const customerKey = readCustomerKey(request);
  const sourceKey = readSourceCustomerKey(request);
  const { upload, found, range } = await app.store.read(async (reader) => {
    const open = await getUpload(reader, request, context);
    const object = await findSource(reader, context, request, sourceKey);
    const selected = selectCopyRange(request.copySourceRange, Number(object.version.sizeBytes));
    return { upload: open, found: object, range: selected };
  });
  checkDeclaredSize(range.lengthBytes, app.limits.partBytesMax);
  const algorithm = algorithmOf(upload);
  const encryption = await openPartEncryption(context, access.bucket, upload.encryption, customerKey);

  const nowMs = app.clock.now();
  const commit = async (content: CopiedContent) => {
    if (content.digests === undefined) throw new Error("a part was copied without its digests");
    const md5 = contentDigest(encryption, content.digests.md5);
    const { checksum } = content.digests;
    await app.store.transact(
      async (transaction) => {
        await getUpload(transaction, request, context);
        await findSourceAgain(transaction, context, request, sourceKey, found);
        const part = {
          lastModifiedMs: BigInt(nowMs),
          md5,
          sizeBytes: BigInt(range.lengthBytes),
          checksum: { algorithm, type: "FULL_OBJECT", value: checksum },
          extents: await content.adopt(transaction),
        };
        await putPart(transaction, request.uploadId, request.partNumber ?? 0, part, nowMs);
      },
      { signal: context.signal },
    );
    return { md5, checksum };
  };
  const plan = { source: found, sourceKey, range, encryption, algorithm };
  const { md5, checksum } = await copyContent(context, plan, commit);

  return {
    ...describeNewEncryption(encryption),
    copySourceVersionId: found.versionId,
    copyPartResult: {
      eTag: quoteETag(md5.toString("hex")),
      lastModified: instant(nowMs),
      ...(upload.isChecksumRequested ? { [checksumMembers[algorithm]]: encodeDigest(checksum) } : {}),
    },
  };
};

const getUpload = async (
  reader: Reader,
  { key, uploadId }: Pick<UploadPartRequest | UploadPartCopyRequest, "key" | "uploadId">,
  { access }: BucketContext,
): Promise<UploadRecord> => {
  const { bucketId } = await access.bucket.in(reader);
  const upload = await findUpload(reader, { bucketId, key, uploadId });
  if (upload === undefined) throw fault(ErrorReason.NO_SUCH_UPLOAD, { upload_id: uploadId });
  return upload;
};

const algorithmOf = (upload: UploadRecord): ChecksumAlgorithm =>
  findChecksumAlgorithm(upload.checksumAlgorithm) ?? defaultChecksumAlgorithm;

const otherChecksum = (expected: ChecksumAlgorithm, actual: string) =>
  invalidRequest(
    `Checksum Type mismatch occurred, expected checksum Type: ${expected.toLowerCase()}, actual checksum Type: ${actual}`,
  );
