import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { Reader } from "../../kit/store/store.ts";
import { useBucket } from "../access/bucket-access.ts";
import type { Context } from "../application.ts";
import { openDigest } from "./digest.ts";
import type { ByteRange } from "../domain/byte-range.ts";
import type { ChecksumAlgorithm } from "../domain/checksum-algorithm.ts";
import type { CopyConditions, CopySource } from "../domain/copy-source.ts";
import { checkCopyConditions } from "../domain/copy-source.ts";
import { fault } from "../faults.ts";
import type { CurrentObject } from "../store/object.ts";
import { findCurrent, stretchesOf } from "../store/object.ts";

/** What a copy says about its source besides where it is. */
type SourceRequest = CopyConditions & { readonly expectedSourceBucketOwner?: string };

/** The source of a copy, if the caller may read it and its conditions hold. Refuses as every use of its bucket does, an unknown key, conditions. */
export const findSource = async (
  reader: Reader,
  context: Context,
  request: SourceRequest,
  source: CopySource,
): Promise<CurrentObject> => {
  const { bucketId } = await useBucket(reader, context, {
    bucket: source.bucket,
    ...(request.expectedSourceBucketOwner === undefined
      ? {}
      : { expectedBucketOwner: request.expectedSourceBucketOwner }),
  });
  const found = await findCurrent(reader, bucketId, source.key);
  if (found === undefined) throw fault(ErrorReason.NO_SUCH_KEY, { key: source.key });
  const subject = { eTag: found.version.eTag, lastModifiedMs: Number(found.version.lastModifiedMs) };
  checkCopyConditions(request, subject, context.app.clock.now());
  return found;
};

/** The source as it was when its content was looked at. Throws CONTENTION when it was replaced since. */
export const findSourceAgain = async (
  reader: Reader,
  context: Context,
  request: SourceRequest,
  source: CopySource,
  seen: CurrentObject,
): Promise<CurrentObject> => {
  const found = await findSource(reader, context, request, source);
  if (found.sequence !== seen.sequence) throw fault(ErrorReason.CONTENTION);
  return found;
};

/** The digests of a range of an object, computed while its verified bytes pass by. */
export const digestSource = async (
  context: Context,
  object: CurrentObject,
  range: ByteRange,
  algorithm: ChecksumAlgorithm,
): Promise<{ readonly md5: Uint8Array; readonly checksum: Uint8Array }> => {
  const { app, signal } = context;
  const stretches = await app.store.read((reader) => stretchesOf(reader, object.version, range));
  const [md5, checksum] = [await openDigest("MD5"), await openDigest(algorithm)];
  for await (const piece of app.content.read(stretches)) {
    signal.throwIfAborted();
    md5.update(piece);
    checksum.update(piece);
  }
  return { md5: md5.finish(), checksum: checksum.finish() };
};
