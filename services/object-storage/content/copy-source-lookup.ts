import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { Clock } from "../../kit/clock/clock.ts";
import type { Reader, Store } from "../../kit/store/store.ts";
import type { AuthorizedSource } from "../access/access.ts";
import type { ByteRange } from "../domain/byte-range.ts";
import type { ChecksumAlgorithm } from "../domain/checksum-algorithm.ts";
import type { CopyConditions } from "../domain/copy-source.ts";
import { checkCopyConditions } from "../domain/copy-source.ts";
import { isReadable } from "../domain/restore.ts";
import type { EncryptionContextOfCall } from "../encryption/content-encryption.ts";
import { checkCustomerKey, checkDecryption } from "../encryption/content-encryption.ts";
import type { ContentKey } from "../encryption/content-key.ts";
import type { CustomerKey } from "../encryption/customer-key.ts";
import { checkVersionId, shownVersionId } from "../domain/versioning.ts";
import { fault, invalidRequest } from "../faults.ts";
import type { StoredVersion } from "../store/object.ts";
import { findCurrent, findVersion, rangesOf } from "../store/object.ts";
import type { ContentStore } from "./content-store.ts";
import { openDigest } from "../../kit/digests/digest.ts";

/** The part of a call's context that reading a copy's source needs. */
export interface SourceContext extends EncryptionContextOfCall {
  readonly app: EncryptionContextOfCall["app"] & {
    readonly store: Store;
    readonly clock: Clock;
    readonly content: ContentStore;
  };
  readonly access: { readonly source: AuthorizedSource };
  readonly signal: AbortSignal;
}

/** The version that a copy reads. */
export interface SourceVersion extends StoredVersion {
  /** As answers show it; undefined in a bucket that never kept versions. */
  readonly versionId: string | undefined;
}

/**
 * The source of a copy. Fails if its bucket is not accessible any more, the key or version is unknown, the version is a
 * delete marker, the caller's key is not the source's, a condition does not hold, the caller may not decrypt with the
 * managed key, or it is in an archive class and not restored.
 */
export const findSource = async (
  reader: Reader,
  context: SourceContext,
  conditions: CopyConditions,
  customerKey: CustomerKey | undefined,
): Promise<SourceVersion> => {
  const { app, access } = context;
  const { bucket, key, versionId } = access.source;
  const { bucketId, versioning } = await bucket.in(reader);
  // Another bucket of this name, which keeps no versions, may have come since the call was decided.
  checkVersionId(versioning, versionId);
  const isNamed = versionId !== undefined && versioning !== "";
  const found = isNamed
    ? await findVersion(reader, bucketId, key, versionId)
    : await findCurrent(reader, bucketId, key);
  if (found === undefined) throw isNamed ? bucket.noSuchVersion(key, versionId) : bucket.noSuchKey(key);
  if (found.version.isDeleteMarker)
    throw invalidRequest("The source of a copy request may not specifically refer to a delete marker by version id.");
  checkCustomerKey(context, bucket, key, found.version.encryption, customerKey);
  const subject = { eTag: found.version.eTag, lastModifiedMs: Number(found.version.lastModifiedMs) };
  checkCopyConditions(conditions, subject, app.clock.now());
  checkDecryption(context, bucket, found.version.encryption);
  if (!isReadable(found.version, app.clock.now()))
    throw fault(ErrorReason.OBJECT_NOT_IN_ACTIVE_TIER, { storage_class: found.version.storageClass });
  return { ...found, versionId: shownVersionId(versioning, found.version) };
};

/** The source as it was when its content was read. Throws CONTENTION if it was replaced since. */
export const findSourceAgain = async (
  reader: Reader,
  context: SourceContext,
  conditions: CopyConditions,
  customerKey: CustomerKey | undefined,
  before: StoredVersion,
): Promise<SourceVersion> => {
  const found = await findSource(reader, context, conditions, customerKey);
  if (found.sequence !== before.sequence) throw fault(ErrorReason.CONTENTION);
  return found;
};

/** The digests of a range of an object, computed from its verified bytes. */
export const digestSource = async (
  { app, signal }: Pick<SourceContext, "app" | "signal">,
  object: StoredVersion,
  range: ByteRange,
  contentKey: ContentKey,
  algorithm: ChecksumAlgorithm,
): Promise<{ readonly md5: Uint8Array; readonly checksum: Uint8Array }> => {
  const ranges = await app.store.read((reader) => rangesOf(reader, object.version, range));
  const [md5, checksum] = [await openDigest("MD5"), await openDigest(algorithm)];
  for await (const piece of app.content.read(ranges, contentKey)) {
    signal.throwIfAborted();
    md5.update(piece);
    checksum.update(piece);
  }
  return { md5: md5.finish(), checksum: checksum.finish() };
};
