import type {
  UploadPartCopyRequest,
  UploadPartRequest,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { UploadRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { Reader } from "../../kit/store/store.ts";
import { useBucket } from "../access/bucket-access.ts";
import type { Context } from "../application.ts";
import type { ReceivedContent } from "../content/content-store.ts";
import { openIncoming } from "../content/incoming.ts";
import { checkAnnouncedSize } from "../content/meter.ts";
import type { ChecksumAlgorithm } from "../domain/checksum-algorithm.ts";
import {
  checksumMembers,
  defaultChecksumAlgorithm,
  encodeDigest,
  findChecksumAlgorithm,
} from "../domain/checksum-algorithm.ts";
import { quoteETag } from "../domain/conditions.ts";
import { parseCopySource, selectCopyRange } from "../domain/copy-source.ts";
import { planChecksums } from "../domain/expected-checksums.ts";
import { sliceExtents } from "../domain/extent.ts";
import { instant } from "../domain/instant.ts";
import { refuseUnoffered } from "../domain/offer.ts";
import { fault, invalidRequest } from "../faults.ts";
import { digestSource, findSource, findSourceAgain } from "../content/copy-source-lookup.ts";
import { adoptBlob, shareExtents } from "../store/blob.ts";
import { findUpload, putPart } from "../store/upload.ts";

/**
 * Stores a part of an open upload and replaces the part of the same number, in the order in which parts are answered.
 * Refuses from the head alone what is not offered, bad checksums and an announced size; then as every use of a bucket
 * does; an upload that is not open; another checksum algorithm than the upload's; then content as putObject does.
 */
export const uploadPart = async (requests: AsyncIterable<UploadPartRequest>, context: Context) => {
  const { app } = context;
  const { head, content: incoming } = await openIncoming(requests);
  refuseUnoffered(head);
  const checksums = planChecksums(head);
  const sizeBytes = head.contentLength === undefined ? undefined : Number(head.contentLength);
  checkAnnouncedSize(sizeBytes, app.limits.partBytesMax);
  const upload = await app.store.read((reader) => useUpload(reader, head, context));
  const algorithm = algorithmOf(upload);
  if (upload.isChecksumRequested && checksums.isRequested && checksums.algorithm !== algorithm)
    throw invalidRequest(
      `Checksum Type mismatch occurred, expected checksum Type: ${algorithm.toLowerCase()}, ` +
        `actual checksum Type: ${checksums.algorithm.toLowerCase()}`,
    );

  const commit = async (content: ReceivedContent) => {
    const nowMs = app.clock.now();
    await app.store.transact(
      async (transaction) => {
        await useUpload(transaction, head, context);
        const part = {
          lastModifiedMs: BigInt(nowMs),
          md5: content.md5,
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
      eTag: quoteETag(Buffer.from(content.md5).toString("hex")),
      ...(isShown ? { [checksumMembers[content.checksum.algorithm]]: encodeDigest(content.checksum.value) } : {}),
    };
  };
  const expectation = {
    checksums: checksums.isRequested ? checksums : { ...checksums, algorithm },
    alsoCompute: algorithm,
    sizeBytes,
    sizeBytesMax: app.limits.partBytesMax,
  };
  return app.content.receive(incoming, expectation, context.signal, commit);
};

/**
 * Makes a part of an open upload from an object or a range of it. Bytes are read for their digests and not written: the
 * part refers to the object's blobs. Refuses what is not offered, a source that is malformed, then as every use of the
 * bucket does, an upload that is not open, the source's bucket, key and conditions, its range, its size.
 */
export const uploadPartCopy = async (request: UploadPartCopyRequest, context: Context) => {
  const { app } = context;
  refuseUnoffered(request);
  const source = parseCopySource(request.copySource);
  const { upload, found, range } = await app.store.read(async (reader) => {
    const open = await useUpload(reader, request, context);
    const object = await findSource(reader, context, request, source);
    const selected = selectCopyRange(request.copySourceRange, Number(object.version.sizeBytes));
    return { upload: open, found: object, range: selected };
  });
  checkAnnouncedSize(range.lengthBytes, app.limits.partBytesMax);
  const algorithm = algorithmOf(upload);
  const facts = await digestSource(context, found, range, algorithm);

  const nowMs = app.clock.now();
  await app.store.transact(
    async (transaction) => {
      await useUpload(transaction, request, context);
      const { version } = await findSourceAgain(transaction, context, request, source, found);
      const extents = sliceExtents(version.extents, range);
      await shareExtents(transaction, extents);
      const part = {
        lastModifiedMs: BigInt(nowMs),
        md5: facts.md5,
        sizeBytes: BigInt(range.lengthBytes),
        checksum: { algorithm, type: "FULL_OBJECT", value: facts.checksum },
        extents,
      };
      await putPart(transaction, request.uploadId, request.partNumber ?? 0, part, nowMs);
    },
    { signal: context.signal },
  );

  return {
    copyPartResult: {
      eTag: quoteETag(Buffer.from(facts.md5).toString("hex")),
      lastModified: instant(nowMs),
      ...(upload.isChecksumRequested ? { [checksumMembers[algorithm]]: encodeDigest(facts.checksum) } : {}),
    },
  };
};

const useUpload = async (
  reader: Reader,
  request: UploadPartRequest | UploadPartCopyRequest,
  context: Context,
): Promise<UploadRecord> => {
  const { bucketId } = await useBucket(reader, context, request);
  const upload = await findUpload(reader, { bucketId, key: request.key, uploadId: request.uploadId });
  if (upload === undefined) throw fault(ErrorReason.NO_SUCH_UPLOAD, { upload_id: request.uploadId });
  return upload;
};

const algorithmOf = (upload: UploadRecord): ChecksumAlgorithm =>
  findChecksumAlgorithm(upload.checksumAlgorithm) ?? defaultChecksumAlgorithm;
