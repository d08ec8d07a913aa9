import { create } from "@bufbuild/protobuf";

import type { ChecksumRecord, VersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { VersionRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { CopyObjectRequest } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { CopyContext, Operation } from "../application.ts";
import { announceExpiry } from "../content/announced-expiry.ts";
import { digestSource, findSource, findSourceAgain } from "../content/copy-source-lookup.ts";
import { readAcl } from "../domain/acl-request.ts";
import type { ChecksumAlgorithm } from "../domain/checksum-algorithm.ts";
import { evaluateWriteConditions, quoteETag } from "../domain/conditions.ts";
import { readAlgorithm } from "../domain/expected-checksums.ts";
import { instant } from "../domain/instant.ts";
import type { PlannedOwner } from "../domain/object-acl.ts";
import { planNewObject } from "../domain/object-acl.ts";
import type { ObjectAttributes } from "../domain/object-attributes.ts";
import { checkKey, planAttributes } from "../domain/object-attributes.ts";
import { describeChecksum } from "../domain/object-version.ts";
import { checkLockable, lockOfNew, readLock } from "../domain/object-lock.ts";
import { checkOffered } from "../domain/offer.ts";
import { checkVersionId, shownVersionId } from "../domain/versioning.ts";
import { fault, invalidRequest } from "../faults.ts";
import { shareExtents } from "../store/blob.ts";
import type { StoredVersion } from "../store/object.ts";
import { findCurrentRow } from "../store/object.ts";
import { putVersion } from "../store/version-change.ts";

/**
 * Copies an object in one transaction that adds references and copies no bytes. ETag and parts are the source's; so is
 * the checksum, unless another algorithm is named, for which the source is read. Checks, in order:
 *  1. the key is not too long;
 *  2. the request asks for nothing that is not offered;
 *  3. its ACL is valid, see `readAcl`, and one that the bucket accepts, see `planNewObject`;
 *  4. the source's version id is one that its bucket can have;
 *  5. metadata, headers, tags, storage class and checksum algorithm are valid;
 *  6. the lock that it asks for is valid, see `readLock`, and one that the bucket can have;
 *  7. the source's key exists, and the conditions on it hold;
 *  8. the source is not too large;
 *  9. a copy of a current object to itself changes something;
 * 10. the conditions on the destination hold.
 */
export const copyObject: Operation<"copyObject"> = async (request, context) => {
  const { app, access } = context;
  checkKey(request.key);
  checkOffered(request);
  const requestedAcl = readAcl(request, app.accounts);
  planNewObject(access.bucket.aclRules(access.bucket.known), context.caller, requestedAcl);
  checkVersionId(access.source.bucket.known.versioning, access.source.versionId);
  const attributes = planAttributes(request);
  const algorithm = readAlgorithm(request.checksumAlgorithm);
  const lock = readLock(request, app.lockClock.now());
  checkLockable(access.bucket.known.objectLock, lock);
  const found = await app.store.read((reader) => findSource(reader, context, request));
  checkSize(found.version, app.limits.copyBytesMax);
  if (found.isCurrent && access.source.bucket.name === request.bucket && access.source.key === request.key)
    checkChange(request, found.version);
  const checksum = await checksumOf(context, found, algorithm);

  const nowMs = app.clock.now();
  const { version, versionId, announced } = await app.store.transact(
    async (transaction) => {
      const bucket = await access.bucket.in(transaction);
      const current = await findSourceAgain(transaction, context, request, found);
      const outcome = evaluateWriteConditions(request, await findCurrentRow(transaction, bucket.bucketId, request.key));
      if (outcome.kind === "failed") throw fault(ErrorReason.PRECONDITION_FAILED, { condition: outcome.condition });
      if (outcome.kind === "absent") throw fault(ErrorReason.NO_SUCH_KEY, { key: request.key });
      const owner = planNewObject(access.bucket.aclRules(bucket), context.caller, requestedAcl);
      const copy = {
        ...copyOf(current.version, request, attributes, checksum, owner, nowMs),
        ...lockOfNew(bucket.objectLock, lock, Math.max(nowMs, app.lockClock.now())),
      };
      await shareExtents(transaction, copy.extents);
      const made = await putVersion(transaction, app, bucket, request.key, copy, nowMs);
      const shownId = shownVersionId(bucket.versioning, made);
      await app.events.announce(transaction, context, bucket, {
        kind: "created",
        key: request.key,
        sizeBytes: Number(copy.sizeBytes),
        eTag: copy.eTag,
        versionId: shownId,
        sequence: made.sequence,
        timeMs: nowMs,
      });
      const expiry = await announceExpiry(transaction, context, bucket, request.key, copy);
      return { version: copy, versionId: shownId, announced: expiry };
    },
    { signal: context.signal },
  );

  return {
    versionId,
    ...announced,
    copySourceVersionId: found.versionId,
    copyObjectResult: {
      eTag: quoteETag(version.eTag),
      lastModified: instant(nowMs),
      ...describeChecksum(create(VersionRecordSchema, version)),
    },
  };
};

type Checksum = Pick<ChecksumRecord, "algorithm" | "type" | "value">;

/** The source's checksum, or that of another algorithm if one is named. */
const checksumOf = async (
  context: CopyContext,
  source: StoredVersion,
  algorithm: ChecksumAlgorithm | undefined,
): Promise<Checksum | undefined> => {
  const { checksum, sizeBytes } = source.version;
  if (algorithm === undefined || algorithm === checksum?.algorithm) return checksum;
  const range = { offsetBytes: 0, lengthBytes: Number(sizeBytes) };
  const digests = await digestSource(context, source, range, algorithm);
  return { algorithm, type: "FULL_OBJECT", value: digests.checksum };
};

const checkSize = ({ sizeBytes }: VersionRecord, copyBytesMax: number): void => {
  if (Number(sizeBytes) > copyBytesMax)
    throw invalidRequest(
      `The specified copy source is larger than the maximum allowable size for a copy source: ${copyBytesMax}`,
    );
};

/** Throws INVALID_REQUEST for a copy that would leave its object as it is. */
const checkChange = (request: CopyObjectRequest, version: VersionRecord): void => {
  const changesNothing =
    request.metadataDirective !== "REPLACE" &&
    request.taggingDirective !== "REPLACE" &&
    request.websiteRedirectLocation === undefined &&
    (request.storageClass === undefined || request.storageClass === version.storageClass);
  if (changesNothing)
    throw invalidRequest(
      "This copy request is illegal because it is trying to copy an object to itself without changing the object's " +
        "metadata, storage class, website redirect location or encryption attributes.",
    );
};

/** The source's content with the attributes that the directives select. */
const copyOf = (
  source: VersionRecord,
  request: CopyObjectRequest,
  attributes: ObjectAttributes,
  checksum: Checksum | undefined,
  { ownerAccountId, acl }: PlannedOwner,
  nowMs: number,
) => {
  const isReplaced = request.metadataDirective === "REPLACE";
  const kept = source.contentHeaders ?? attributes.contentHeaders;
  const { websiteRedirectLocation } = attributes.contentHeaders;
  return {
    lastModifiedMs: BigInt(nowMs),
    eTag: source.eTag,
    sizeBytes: source.sizeBytes,
    extents: source.extents,
    parts: source.parts,
    storageClass: attributes.storageClass,
    ownerAccountId,
    ...(acl && { acl }),
    contentHeaders: isReplaced ? attributes.contentHeaders : { ...kept, websiteRedirectLocation },
    metadata: isReplaced ? attributes.metadata : source.metadata,
    tags:
      request.taggingDirective === "REPLACE" ? attributes.tags.map(({ key, value }) => ({ key, value })) : source.tags,
    ...(checksum === undefined ? {} : { checksum }),
  };
};
