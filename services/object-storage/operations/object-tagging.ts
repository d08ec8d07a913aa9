import type {
  DeleteObjectTaggingRequest,
  GetObjectTaggingRequest,
  PutObjectTaggingRequest,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { useBucket } from "../access/bucket-access.ts";
import type { Context } from "../application.ts";
import { checkVersionId } from "../domain/object-version.ts";
import type { TagPair } from "../domain/tags.ts";
import { objectTagsMax, planTagging, tagPairs } from "../domain/tags.ts";
import { fault } from "../faults.ts";
import { findCurrent, putTags } from "../store/object.ts";

/**
 * Replaces the tags of an object; nothing else of it changes. Refuses bad tags, a version id that no object here has,
 * then as every use of a bucket does, then an unknown key. Repeating it changes nothing.
 */
export const putObjectTagging = async (request: PutObjectTaggingRequest, context: Context) => {
  const tags = tagPairs(planTagging(request.tagging, objectTagsMax));
  await replaceTags(request, context, tags);
  return {};
};

/** Tells the tags of an object, also when it has none. Refuses as putObjectTagging does. */
export const getObjectTagging = async (request: GetObjectTaggingRequest, context: Context) => {
  checkVersionId(request.versionId);
  const found = await context.app.store.read(async (reader) => {
    const bucket = await useBucket(reader, context, request);
    return findCurrent(reader, bucket.bucketId, request.key);
  });
  if (found === undefined) throw fault(ErrorReason.NO_SUCH_KEY, { key: request.key });
  return { tagSet: found.version.tags.map(({ key, value }) => ({ key, value })) };
};

/** Takes all tags off an object. Refuses as putObjectTagging does. Repeating it changes nothing. */
export const deleteObjectTagging = async (request: DeleteObjectTaggingRequest, context: Context) => {
  await replaceTags(request, context, []);
  return {};
};

const replaceTags = async (
  request: PutObjectTaggingRequest | DeleteObjectTaggingRequest,
  context: Context,
  tags: readonly TagPair[],
): Promise<void> => {
  const { app } = context;
  checkVersionId(request.versionId);
  await app.store.transact(async (transaction) => {
    const bucket = await useBucket(transaction, context, request);
    const current = await findCurrent(transaction, bucket.bucketId, request.key);
    if (current === undefined) throw fault(ErrorReason.NO_SUCH_KEY, { key: request.key });
    putTags(transaction, bucket.bucketId, request.key, current, tags);
    await app.events.announce(transaction, context, bucket, {
      kind: tags.length > 0 ? "tagged" : "untagged",
      key: request.key,
      sequence: current.sequence,
      eTag: current.version.eTag,
      timeMs: app.clock.now(),
    });
  });
};
