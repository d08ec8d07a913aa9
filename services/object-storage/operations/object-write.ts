import type {
  DeleteObjectRequest,
  PutObjectRequest,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { Reader } from "../../kit/store/store.ts";
import { useBucket } from "../access/bucket-access.ts";
import type { Context } from "../application.ts";
import type { ReceivedContent } from "../content/content-store.ts";
import { openIncoming } from "../content/incoming.ts";
import { checkAnnouncedSize } from "../content/meter.ts";
import { deleteCurrent } from "../content/deletion.ts";
import { checkObjectAccess } from "../domain/access-control.ts";
import { checksumMembers, encodeDigest } from "../domain/checksum-algorithm.ts";
import { judgeWrite, quoteETag } from "../domain/conditions.ts";
import { planChecksums } from "../domain/expected-checksums.ts";
import { checkKey, planAttributes } from "../domain/object-attributes.ts";
import { checkVersionId } from "../domain/object-version.ts";
import { refuseUnoffered } from "../domain/offer.ts";
import { fault } from "../faults.ts";
import { adoptBlob } from "../store/blob.ts";
import type { Bucket } from "../store/bucket.ts";
import { findCurrentRow, putNullVersion } from "../store/object.ts";

/**
 * Stores an object whole. The caller is promised that once answered it survives a crash and is seen by every later
 * read; repeating it stores the same object again. Refuses from the head alone, before a byte of content is taken: a
 * long key, what is not offered, access for others, bad attributes, bad checksums, announced sizes; then as every use of
 * a bucket does; then conditions. Content that is too large, cut short or not what its digests say is refused as it arrives. Bucket
 * and conditions are judged again where the object is written. Nothing stays behind after a refusal.
 */
export const putObject = async (requests: AsyncIterable<PutObjectRequest>, context: Context) => {
  const { app } = context;
  const { head, content: incoming } = await openIncoming(requests);
  checkKey(head.key);
  refuseUnoffered(head);
  checkObjectAccess(head);
  const attributes = planAttributes(head);
  const expectation = {
    checksums: planChecksums(head),
    sizeBytes: head.contentLength === undefined ? undefined : Number(head.contentLength),
    sizeBytesMax: app.limits.objectBytesMax,
  };
  checkAnnouncedSize(expectation.sizeBytes, expectation.sizeBytesMax);
  await app.store.read((reader) => useBucketForWrite(reader, head, context));

  const commit = async (content: ReceivedContent) => {
    const nowMs = app.clock.now();
    const eTag = Buffer.from(content.md5).toString("hex");
    await app.store.transact(
      async (transaction) => {
        const bucket = await useBucketForWrite(transaction, head, context);
        const version = {
          lastModifiedMs: BigInt(nowMs),
          eTag,
          sizeBytes: BigInt(content.sizeBytes),
          storageClass: attributes.storageClass,
          ownerAccountId: context.caller.accountId,
          contentHeaders: attributes.contentHeaders,
          metadata: attributes.metadata,
          tags: [...attributes.tags],
          checksum: { ...content.checksum, type: "FULL_OBJECT" },
          extents: adoptBlob(transaction, content.blob),
        };
        const sequence = await putNullVersion(transaction, app.sequences, bucket.bucketId, head.key, version, nowMs);
        await app.events.announce(transaction, context, bucket, {
          kind: "created",
          key: head.key,
          sizeBytes: content.sizeBytes,
          eTag,
          sequence,
          timeMs: nowMs,
        });
      },
      { signal: context.signal },
    );
    return {
      eTag: quoteETag(eTag),
      [checksumMembers[content.checksum.algorithm]]: encodeDigest(content.checksum.value),
      checksumType: "FULL_OBJECT",
    };
  };
  return app.content.receive(incoming, expectation, context.signal, commit);
};

/**
 * Deletes an object; a key that has none is deleted already, so repeating it succeeds. Refuses what is not offered, a
 * version id that no object here has, then as every use of a bucket does, then conditions that an existing object does
 * not meet.
 */
export const deleteObject = async (request: DeleteObjectRequest, context: Context) => {
  const { app } = context;
  refuseUnoffered(request);
  checkVersionId(request.versionId);

  await app.store.transact(
    async (transaction) => {
      const bucket = await useBucket(transaction, context, request);
      await deleteCurrent(transaction, context, bucket, request.key, request);
    },
    { signal: context.signal },
  );

  return {};
};

/** The bucket to write to, when the conditions of the write hold. */
const useBucketForWrite = async (
  reader: Reader,
  request: Pick<PutObjectRequest, "bucket" | "key" | "expectedBucketOwner" | "ifMatch" | "ifNoneMatch">,
  context: Context,
): Promise<Bucket> => {
  const bucket = await useBucket(reader, context, request);
  if (request.ifMatch === undefined && request.ifNoneMatch === undefined) return bucket;
  const verdict = judgeWrite(request, await findCurrentRow(reader, bucket.bucketId, request.key));
  if (verdict.kind === "failed") throw fault(ErrorReason.PRECONDITION_FAILED, { condition: verdict.condition });
  if (verdict.kind === "absent") throw fault(ErrorReason.NO_SUCH_KEY, { key: request.key });
  return bucket;
};
