import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type {
  GetObjectRequest,
  HeadObjectRequest,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Reader } from "../../kit/store/store.ts";
import type { BucketContext, Operation } from "../application.ts";
import { announceExpiry } from "../content/announced-expiry.ts";
import { openVersion } from "../content/version-lookup.ts";
import { describeEncryption, refuseEncryption } from "../domain/encryption.ts";
import { allowsRange, evaluateReadConditions, quoteETag } from "../domain/conditions.ts";
import { instantMs } from "../domain/instant.ts";
import type { ReadSelection } from "../domain/object-version.ts";
import {
  checkOverrides,
  checkPartAndRange,
  describeReadChecksum,
  describeVersion,
  selectContent,
} from "../domain/object-version.ts";
import type { VersionLock } from "../domain/object-lock.ts";
import { describeLock } from "../domain/object-lock.ts";
import { checkReadable, describeRestore } from "../domain/restore.ts";
import { checkCustomerKey, checkDecryption, openContentKey } from "../encryption/content-encryption.ts";
import type { CustomerKey } from "../encryption/customer-key.ts";
import { describeCustomerKey, readCustomerKey } from "../encryption/customer-key.ts";
import { fault } from "../faults.ts";
import { transformObject } from "../functions/transformed-read.ts";
import { shownVersionId } from "../domain/versioning.ts";
import type { Bucket } from "../store/bucket.ts";
import type { StoredVersion } from "../store/object.ts";
import { rangesOf } from "../store/object.ts";

type ReadRequest = GetObjectRequest | HeadObjectRequest;

/**
 * Reads an object, or a part or range of it. Answers when the first bytes are verified. An access point with a function
 * has it answer instead, see `transformObject`. Checks, in order:
 *  1. it names no encryption, which is for writes;
 *  2. it does not ask for a part and a range;
 *  3. headers can hold its overrides, which nobody asks for without a signature;
 *  4. the caller's key is valid, see `readCustomerKey`;
 *  5. the version id is one that the bucket can have;
 *  6. the key or the version exists and is no delete marker;
 *  7. the caller's key is the object's, see `checkCustomerKey`;
 *  8. the conditions hold;
 *  9. the object has the part or range;
 * 10. it is in no archive class, or restored (INVALID_OBJECT_STATE);
 * 11. the caller may decrypt with the managed key, see `checkDecryption`, and it may be used.
 */
export const getObject: Operation<"getObject"> = async function* (request, context) {
  const { app } = context;
  const { transformedBy } = context.access.bucket;
  if (transformedBy !== undefined) return yield* transformObject(request, context, transformedBy);
  const customerKey = checkRead(request, context);

  const { ranges, ...read } = await app.store.read(async (reader) => {
    const opened = await openForRead(reader, request, context, customerKey);
    const { version } = opened.found;
    checkReadable(version, app.clock.now());
    checkDecryption(context, context.access.bucket, version.encryption);
    return { ...opened, ranges: await rangesOf(reader, version, opened.selection.range) };
  });

  const contentKey = await openContentKey(app, read.found.version.encryption, customerKey);
  const pieces = app.content.read(ranges, contentKey);
  try {
    const first = await pieces.next();
    yield { ...describe(request, read), body: first.done === true ? undefined : first.value };
    for await (const piece of pieces) yield { body: piece };
  } finally {
    await pieces.return(undefined);
  }
};

/**
 * Returns everything about an object but its content. Checks the same as getObject, but the last two; the managed key
 * where the checksum is asked for.
 */
export const headObject: Operation<"headObject"> = async (request, context) => {
  const customerKey = checkRead(request, context);
  const read = await context.app.store.read((reader) => openForRead(reader, request, context, customerKey));
  // The checksum says something about the content.
  if (request.checksumMode === "ENABLED")
    checkDecryption(context, context.access.bucket, read.found.version.encryption);
  return describe(request, read);
};

/** What is read, and its bucket. */
interface OpenedObject {
  readonly bucket: Bucket;
  readonly found: StoredVersion;
  readonly selection: ReadSelection;
  /** As far as the caller may see it. */
  readonly lock: VersionLock;
  /** What is announced of its end and of its restore. */
  readonly announced: { readonly expiration?: string; readonly restore: string | undefined };
}

/** The checks that need only the request. Returns the caller's key. */
const checkRead = (request: ReadRequest, { caller }: BucketContext): CustomerKey | undefined => {
  refuseEncryption(request);
  checkPartAndRange(request);
  checkOverrides(request, caller.isAnonymous);
  return readCustomerKey(request);
};

const openForRead = async (
  reader: Reader,
  request: ReadRequest,
  context: BucketContext,
  customerKey: CustomerKey | undefined,
): Promise<OpenedObject> => {
  const opened = await openVersion(reader, context, request);
  checkCustomerKey(context, context.access.bucket, request.key, opened.found.version.encryption, customerKey);
  checkConditions(request, opened.found, context);
  const { version } = opened.found;
  const selection = selectContent(version, withAllowedRange(request, version));
  const announced = {
    // Rules end current versions; those that are read by their ids need not be.
    ...(request.versionId === undefined
      ? await announceExpiry(reader, context, opened.bucket, request.key, version)
      : {}),
    restore: describeRestore(version, context.app.clock.now()),
  };
  return { ...opened, selection, announced, lock: await visibleLock(reader, request, opened.found, context) };
};

/** The request without its range, if that is of another content. */
const withAllowedRange = (request: ReadRequest, { eTag, lastModifiedMs }: StoredVersion["version"]) => {
  const { range, ifRange, partNumber } = request;
  const isAllowed = ifRange === undefined || allowsRange(ifRange, { eTag, lastModifiedMs: Number(lastModifiedMs) });
  return { ...(range !== undefined && isAllowed && { range }), ...(partNumber !== undefined && { partNumber }) };
};

/** What protects the version from deletion, as far as the caller may see it. */
const visibleLock = async (
  reader: Reader,
  { key }: ReadRequest,
  { version: { retention, legalHold } }: StoredVersion,
  { access }: BucketContext,
): Promise<VersionLock> => {
  const sees = (action: string): Promise<boolean> => access.bucket.may(reader, action, key);
  return {
    ...(retention && (await sees("GetObjectRetention")) && { retention }),
    legalHold: legalHold !== "" && (await sees("GetObjectLegalHold")) ? legalHold : "",
  };
};

/** Throws PRECONDITION_FAILED, or NOT_MODIFIED with the validators that a cache needs as headers. */
const checkConditions = (
  request: ReadRequest,
  { version }: StoredVersion,
  { app, responseHeader }: BucketContext,
): void => {
  const { ifMatch, ifNoneMatch, ifModifiedSince, ifUnmodifiedSince } = request;
  const subject = { eTag: version.eTag, lastModifiedMs: Number(version.lastModifiedMs) };
  const conditions = {
    ifMatch,
    ifNoneMatch,
    ifModifiedSinceMs: ifModifiedSince === undefined ? undefined : instantMs(ifModifiedSince),
    ifUnmodifiedSinceMs: ifUnmodifiedSince === undefined ? undefined : instantMs(ifUnmodifiedSince),
  };
  const outcome = evaluateReadConditions(conditions, subject, app.clock.now());
  if (outcome.kind === "failed") throw fault(ErrorReason.PRECONDITION_FAILED, { condition: outcome.condition });
  if (outcome.kind === "not-modified") {
    const validators = {
      e_tag: quoteETag(version.eTag),
      last_modified: new Date(subject.lastModifiedMs).toUTCString(),
    };
    responseHeader.set("etag", validators.e_tag);
    responseHeader.set("last-modified", validators.last_modified);
    throw fault(ErrorReason.NOT_MODIFIED, validators);
  }
};

const describe = (request: ReadRequest, { bucket, found: { version }, ...read }: OpenedObject) => {
  const { selection, lock, announced } = read;
  return {
    ...describeVersion(version, request),
    ...describeEncryption(version.encryption),
    ...describeCustomerKey(request),
    ...describeLock(lock),
    ...announced,
    ...(request.checksumMode === "ENABLED" ? describeReadChecksum(version, request, selection) : {}),
    versionId: shownVersionId(bucket.versioning, version),
    contentLength: BigInt(selection.range.lengthBytes),
    contentRange: selection.contentRange,
    partsCount: selection.partsCount,
    statusCode: selection.statusCode,
  };
};
