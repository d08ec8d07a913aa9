import { create } from "@bufbuild/protobuf";

import type { VersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { VersionRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { CopyObjectRequest } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Operation } from "../application.ts";
import { announceExpiry } from "../content/announced-expiry.ts";
import type { CopiedContent } from "../content/copied-content.ts";
import { copyContent } from "../content/copied-content.ts";
import type { SourceVersion } from "../content/copy-source-lookup.ts";
import { findSource, findSourceAgain } from "../content/copy-source-lookup.ts";
import { readAcl } from "../domain/acl-request.ts";
import type { ChecksumAlgorithm } from "../domain/checksum-algorithm.ts";
import { evaluateWriteConditions, quoteETag } from "../domain/conditions.ts";
import { asksForEncryption, describeContext } from "../domain/encryption.ts";
import { readAlgorithm } from "../domain/expected-checksums.ts";
import { instant } from "../domain/instant.ts";
import type { PlannedOwner } from "../domain/object-acl.ts";
import { planNewObject } from "../domain/object-acl.ts";
import type { ObjectAttributes } from "../domain/object-attributes.ts";
import { checkKey, planAttributes } from "../domain/object-attributes.ts";
import { describeChecksum } from "../domain/object-version.ts";
import { checkLockable, lockOfNew, readLock } from "../domain/object-lock.ts";
import { checkOffered, checkOneCondition } from "../domain/offer.ts";
import { checkVersionId, shownVersionId } from "../domain/versioning.ts";
import type { NewEncryption } from "../encryption/content-encryption.ts";
import { contentDigest, describeNewEncryption, openNewEncryption } from "../encryption/content-encryption.ts";
import { readSourceCustomerKey } from "../encryption/customer-key.ts";
import { fault, invalidRequest } from "../faults.ts";
import { findCurrentRow } from "../store/object.ts";
import { putVersion } from "../store/version-change.ts";

/**
 * Copies an object in one transaction. Where source and copy are encrypted under the same key, it adds references and
 * copies no bytes; otherwise the content is encrypted again. Parts are the source's; so is the checksum, unless another
 * algorithm is named, for which the source is read; so is the ETag, unless an object without parts is encrypted again.
 * Checks, in order:
 *  1. the key is not too long;
 *  2. the request asks for nothing that is not offered, and for one condition on the destination at most;
 *  3. its ACL is valid, see `readAcl`, and one that the bucket accepts, see `planNewObject`;
 *  4. the source's version id is one that its bucket can have;
 *  5. metadata, headers, tags, storage class and checksum algorithm are valid;
 *  6. the lock that it asks for is valid, see `readLock`, and one that the bucket can have;
 *  7. the caller's key of the source is valid, see `readSourceCustomerKey`;
 *  8. the encryption is valid and the caller may use its key, see `openNewEncryption`;
 *  9. the source can be read, see `findSource`;
 * 10. where the copy takes the source's tags along, the caller may read them and give the copy tags;
 * 11. the source is not too large;
 * 12. a copy of an object to itself asks for a change or names the version that it copies;
 * 13. the conditions on the destination hold.
 */
export const copyObject: Operation<"copyObject"> = async (request, context) => {
  const { app, access } = context;
  checkKey(request.key);
  checkOffered(request);
  checkOneCondition(request);
  const requestedAcl = readAcl(request, app);
  planNewObject(access.bucket.aclRules(access.bucket.known), context.caller, requestedAcl);
  checkVersionId(access.source.bucket.known.versioning, access.source.versionId);
  const attributes = planAttributes(request, access.bucket.onlyStorageClass);
  const algorithm = readAlgorithm(request.checksumAlgorithm);
  const lock = readLock(request, app.lockClock.now());
  checkLockable(access.bucket.known.objectLock, lock);
  const sourceKey = readSourceCustomerKey(request);
  const encryption = await openNewEncryption(context, access.bucket, request);
  const found = await app.store.read(async (reader) => {
    const source = await findSource(reader, context, request, sourceKey);
    if (takesTags(request, source)) await access.checkTags(reader);
    return source;
  });
  checkSize(found.version, app.limits.copyBytesMax);
  if (access.source.bucket.name === access.bucket.name && access.source.key === request.key)
    checkChange(request, access.source.versionId);
  const computed = algorithm === found.version.checksum?.algorithm ? undefined : algorithm;

  const nowMs = app.clock.now();
  const commit = (content: CopiedContent) =>
    app.store.transact(
      async (transaction) => {
        const bucket = await access.bucket.in(transaction);
        await findSourceAgain(transaction, context, request, sourceKey, found);
        if (takesTags(request, found)) await access.checkTags(transaction);
        const outcome = evaluateWriteConditions(
          request,
          await findCurrentRow(transaction, bucket.bucketId, request.key),
        );
        if (outcome.kind === "failed") throw fault(ErrorReason.PRECONDITION_FAILED, { condition: outcome.condition });
        if (outcome.kind === "absent") throw fault(ErrorReason.NO_SUCH_KEY, { key: request.key });
        const owner = planNewObject(access.bucket.aclRules(bucket), context.caller, requestedAcl);
        const copy = {
          ...copyOf(found.version, request, attributes, owner, nowMs),
          ...identityOf(found.version, content, encryption, computed),
          extents: await content.adopt(transaction),
          encryption: encryption.record,
          ...lockOfNew(bucket.objectLock, lock, Math.max(nowMs, app.lockClock.now())),
        };
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
  const range = { offsetBytes: 0, lengthBytes: Number(found.version.sizeBytes) };
  const plan = { source: found, sourceKey, range, encryption, algorithm: computed };
  const { version, versionId, announced } = await copyContent(context, plan, commit);

  return {
    ...describeNewEncryption(encryption),
    ...describeContext(encryption.record),
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

/**
 * The ETag, the checksum and the parts of a copy. Only content in parts has an ETag that says nothing about its
 * encryption. Parts have no checksums where the copy has one of another algorithm, which was computed of the whole.
 */
const identityOf = (
  source: VersionRecord,
  { digests, isRewritten }: CopiedContent,
  encryption: NewEncryption,
  algorithm: ChecksumAlgorithm | undefined,
) => {
  const hasNewETag = isRewritten && digests !== undefined && source.parts.length === 0;
  const eTag = hasNewETag ? contentDigest(encryption, digests.md5).toString("hex") : source.eTag;
  if (algorithm === undefined || digests === undefined)
    return { eTag, parts: source.parts, ...(source.checksum && { checksum: source.checksum }) };
  return {
    eTag,
    parts: source.parts.map(({ sizeBytes }) => ({ sizeBytes })),
    checksum: { algorithm, type: "FULL_OBJECT", value: digests.checksum },
  };
};

/** Whether the copy has the tags of the source. */
const takesTags = ({ taggingDirective }: CopyObjectRequest, { version }: SourceVersion): boolean =>
  taggingDirective !== "REPLACE" && version.tags.length > 0;

const checkSize = ({ sizeBytes }: VersionRecord, copyBytesMax: number): void => {
  if (Number(sizeBytes) > copyBytesMax)
    throw invalidRequest(
      `The specified copy source is larger than the maximum allowable size for a copy source: ${copyBytesMax}`,
    );
};

/**
 * Throws INVALID_REQUEST for a copy to itself that asks for nothing. What it names counts even where the object has it
 * already: naming the storage class is how clients write objects again, for example under a new default encryption.
 */
const checkChange = (request: CopyObjectRequest, versionId: string | undefined): void => {
  const changesNothing =
    versionId === undefined &&
    request.metadataDirective !== "REPLACE" &&
    request.taggingDirective !== "REPLACE" &&
    request.websiteRedirectLocation === undefined &&
    request.storageClass === undefined &&
    !asksForEncryption(request);
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
  { ownerAccountId, acl }: PlannedOwner,
  nowMs: number,
) => {
  const isReplaced = request.metadataDirective === "REPLACE";
  const kept = source.contentHeaders ?? attributes.contentHeaders;
  const { websiteRedirectLocation } = attributes.contentHeaders;
  return {
    lastModifiedMs: BigInt(nowMs),
    sizeBytes: source.sizeBytes,
    storageClass: attributes.storageClass,
    ownerAccountId,
    ...(acl && { acl }),
    contentHeaders: isReplaced ? attributes.contentHeaders : { ...kept, websiteRedirectLocation },
    metadata: isReplaced ? attributes.metadata : source.metadata,
    tags:
      request.taggingDirective === "REPLACE" ? attributes.tags.map(({ key, value }) => ({ key, value })) : source.tags,
  };
};
