import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { Clock } from "../../kit/clock/clock.ts";
import type { Reader, Store } from "../../kit/store/store.ts";
import type { AuthorizedSource } from "../access/access.ts";
import type { ByteRange } from "../domain/byte-range.ts";
import type { ChecksumAlgorithm } from "../domain/checksum-algorithm.ts";
import type { CopyConditions } from "../domain/copy-source.ts";
import { checkCopyConditions } from "../domain/copy-source.ts";
import { fault } from "../faults.ts";
import type { CurrentObject } from "../store/object.ts";
import { findCurrent, rangesOf } from "../store/object.ts";
import type { ContentStore } from "./content-store.ts";
import { openDigest } from "../../kit/digests/digest.ts";

/** The part of a call's context that reading a copy's source needs. */
export interface SourceContext {
  readonly app: { readonly store: Store; readonly clock: Clock; readonly content: ContentStore };
  readonly access: { readonly source: AuthorizedSource };
  readonly signal: AbortSignal;
}

/**
 * The source of a copy. Fails if its bucket is no longer accessible, the key is unknown, or a condition does not hold.
 */
export const findSource = async (
  reader: Reader,
  { app, access }: SourceContext,
  conditions: CopyConditions,
): Promise<CurrentObject> => {
  const { bucket, key } = access.source;
  const { bucketId } = await bucket.in(reader);
  const found = await findCurrent(reader, bucketId, key);
  if (found === undefined) throw bucket.noSuchKey(key);
  const subject = { eTag: found.version.eTag, lastModifiedMs: Number(found.version.lastModifiedMs) };
  checkCopyConditions(conditions, subject, app.clock.now());
  return found;
};

/** The source as it was when its content was read. Throws CONTENTION if it was replaced since. */
export const findSourceAgain = async (
  reader: Reader,
  context: SourceContext,
  conditions: CopyConditions,
  before: CurrentObject,
): Promise<CurrentObject> => {
  const found = await findSource(reader, context, conditions);
  if (found.sequence !== before.sequence) throw fault(ErrorReason.CONTENTION);
  return found;
};

/** The digests of a range of an object, computed from its verified bytes. */
export const digestSource = async (
  { app, signal }: SourceContext,
  object: CurrentObject,
  range: ByteRange,
  algorithm: ChecksumAlgorithm,
): Promise<{ readonly md5: Uint8Array; readonly checksum: Uint8Array }> => {
  const ranges = await app.store.read((reader) => rangesOf(reader, object.version, range));
  const [md5, checksum] = [await openDigest("MD5"), await openDigest(algorithm)];
  for await (const piece of app.content.read(ranges)) {
    signal.throwIfAborted();
    md5.update(piece);
    checksum.update(piece);
  }
  return { md5: md5.finish(), checksum: checksum.finish() };
};
