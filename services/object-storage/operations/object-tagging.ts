import type {
  DeleteObjectTaggingRequest,
  PutObjectTaggingRequest,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { BucketContext, Operation } from "../application.ts";
import { checkVersionId } from "../domain/object-version.ts";
import type { TagPair } from "../domain/tags.ts";
import { planTagging, tagPairs } from "../domain/tags.ts";
import { limits } from "../limits.ts";
import { findCurrent, putTags } from "../store/object.ts";

/**
 * Replaces the tags of an object and nothing else. Repeating it changes nothing. Checks, in order:
 *  1. the tags are valid;
 *  2. the version id is one that an object can have;
 *  3. the key exists.
 */
export const putObjectTagging: Operation<"putObjectTagging"> = async (request, context) => {
  const tags = tagPairs(planTagging(request.tagging, limits.tagsPerObjectMax));
  await replaceTags(request, context, tags);
  return {};
};

/** Returns the tags of an object; none is an empty set. Checks the version id and the key as putObjectTagging does. */
export const getObjectTagging: Operation<"getObjectTagging"> = async (request, { app, access }) => {
  checkVersionId(request.versionId);
  const found = await app.store.read(async (reader) => {
    const { bucketId } = await access.bucket.in(reader);
    return findCurrent(reader, bucketId, request.key);
  });
  if (found === undefined) throw access.bucket.noSuchKey(request.key);
  return { tagSet: found.version.tags.map(({ key, value }) => ({ key, value })) };
};

/**
 * Deletes all tags of an object. Repeating it changes nothing. Checks the version id and the key as putObjectTagging
 * does.
 */
export const deleteObjectTagging: Operation<"deleteObjectTagging"> = async (request, context) => {
  await replaceTags(request, context, []);
  return {};
};

const replaceTags = async (
  request: PutObjectTaggingRequest | DeleteObjectTaggingRequest,
  context: BucketContext,
  tags: readonly TagPair[],
): Promise<void> => {
  const { app, access } = context;
  checkVersionId(request.versionId);
  await app.store.transact(async (transaction) => {
    const bucket = await access.bucket.in(transaction);
    const current = await findCurrent(transaction, bucket.bucketId, request.key);
    if (current === undefined) throw access.bucket.noSuchKey(request.key);
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
