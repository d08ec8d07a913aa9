import { create } from "@bufbuild/protobuf";

import type { CopyObjectRequest } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { ChecksumRecord, VersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { VersionRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { useBucket } from "../access/bucket-access.ts";
import type { Context } from "../application.ts";
import { checkObjectAccess } from "../domain/access-control.ts";
import { judgeWrite, quoteETag } from "../domain/conditions.ts";
import { parseCopySource } from "../domain/copy-source.ts";
import { readAlgorithm } from "../domain/expected-checksums.ts";
import { instant } from "../domain/instant.ts";
import { checkKey, planAttributes } from "../domain/object-attributes.ts";
import type { ObjectAttributes } from "../domain/object-attributes.ts";
import { describeChecksum } from "../domain/object-version.ts";
import { refuseUnoffered } from "../domain/offer.ts";
import { fault, invalidRequest } from "../faults.ts";
import { digestSource, findSource, findSourceAgain } from "../content/copy-source-lookup.ts";
import { shareExtents } from "../store/blob.ts";
import { findCurrentRow, putNullVersion } from "../store/object.ts";

/**
 * Makes an object of an existing one in one transaction that moves references and no bytes. Its ETag and parts are the
 * source's; so is its checksum, unless another algorithm is asked for, for which the source is read. Refuses a long
 * key, what is not offered, access for others, a malformed source, bad attributes, then as every use of the destination
 * and then of the source does, the source's key and conditions, its size, a copy to itself that changes nothing, then
 * conditions.
 */
export const copyObject = async (request: CopyObjectRequest, context: Context) => {
  const { app } = context;
  checkKey(request.key);
  refuseUnoffered(request);
  checkObjectAccess(request);
  const source = parseCopySource(request.copySource);
  const asked = planAttributes(request);
  const algorithm = readAlgorithm(request.checksumAlgorithm);
  const found = await app.store.read(async (reader) => {
    await useBucket(reader, context, request);
    return findSource(reader, context, request, source);
  });
  checkCopy(request, found.version, source.bucket, source.key, app.limits.copyBytesMax);
  const checksum =
    algorithm === undefined || algorithm === found.version.checksum?.algorithm
      ? found.version.checksum
      : await newChecksum();

  const nowMs = app.clock.now();
  const version = await app.store.transact(
    async (transaction) => {
      const bucket = await useBucket(transaction, context, request);
      const current = await findSourceAgain(transaction, context, request, source, found);
      const verdict = judgeWrite(request, await findCurrentRow(transaction, bucket.bucketId, request.key));
      if (verdict.kind === "failed") throw fault(ErrorReason.PRECONDITION_FAILED, { condition: verdict.condition });
      if (verdict.kind === "absent") throw fault(ErrorReason.NO_SUCH_KEY, { key: request.key });
      const copy = copyOf(current.version, request, asked, checksum, context.caller.accountId, nowMs);
      await shareExtents(transaction, copy.extents);
      const sequence = await putNullVersion(transaction, app.sequences, bucket.bucketId, request.key, copy, nowMs);
      await app.events.announce(transaction, context, bucket, {
        kind: "created",
        key: request.key,
        sizeBytes: Number(copy.sizeBytes),
        eTag: copy.eTag,
        sequence,
        timeMs: nowMs,
      });
      return copy;
    },
    { signal: context.signal },
  );

  return {
    copyObjectResult: {
      eTag: quoteETag(version.eTag),
      lastModified: instant(nowMs),
      ...describeChecksum(create(VersionRecordSchema, version)),
    },
  };

  async function newChecksum() {
    const range = { offsetBytes: 0, lengthBytes: Number(found.version.sizeBytes) };
    const name = algorithm ?? "CRC64NVME";
    return { algorithm: name, type: "FULL_OBJECT", value: (await digestSource(context, found, range, name)).checksum };
  }
};

const checkCopy = (
  request: CopyObjectRequest,
  version: VersionRecord,
  sourceBucket: string,
  sourceKey: string,
  copyBytesMax: number,
): void => {
  if (Number(version.sizeBytes) > copyBytesMax)
    throw invalidRequest(
      `The specified copy source is larger than the maximum allowable size for a copy source: ${copyBytesMax}`,
    );
  const changesNothing =
    request.metadataDirective !== "REPLACE" &&
    request.taggingDirective !== "REPLACE" &&
    request.websiteRedirectLocation === undefined &&
    (request.storageClass === undefined || request.storageClass === version.storageClass);
  if (sourceBucket === request.bucket && sourceKey === request.key && changesNothing)
    throw invalidRequest(
      "This copy request is illegal because it is trying to copy an object to itself without changing the object's " +
        "metadata, storage class, website redirect location or encryption attributes.",
    );
};

/** The source's content under the attributes that the directives choose. */
const copyOf = (
  source: VersionRecord,
  request: CopyObjectRequest,
  asked: ObjectAttributes,
  checksum: Pick<ChecksumRecord, "algorithm" | "type" | "value"> | undefined,
  ownerAccountId: string,
  nowMs: number,
) => {
  const isReplaced = request.metadataDirective === "REPLACE";
  const kept = source.contentHeaders ?? asked.contentHeaders;
  const { websiteRedirectLocation } = asked.contentHeaders;
  return {
    lastModifiedMs: BigInt(nowMs),
    eTag: source.eTag,
    sizeBytes: source.sizeBytes,
    extents: source.extents,
    parts: source.parts,
    storageClass: asked.storageClass,
    ownerAccountId,
    contentHeaders: isReplaced ? asked.contentHeaders : { ...kept, websiteRedirectLocation },
    metadata: isReplaced ? asked.metadata : source.metadata,
    tags: request.taggingDirective === "REPLACE" ? asked.tags.map(({ key, value }) => ({ key, value })) : source.tags,
    ...(checksum === undefined ? {} : { checksum }),
  };
};
