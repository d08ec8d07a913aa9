import type {
  DeleteObjectTaggingRequest,
  PutObjectTaggingRequest,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { BucketContext, Operation } from "../application.ts";
import { openVersion } from "../content/version-lookup.ts";
import type { TagPair } from "../domain/tags.ts";
import { planTagging, tagPairs } from "../domain/tags.ts";
import { shownVersionId } from "../domain/versioning.ts";
import { limits } from "../limits.ts";
import { putTags } from "../store/version-change.ts";

/**
 * Replaces the tags of an object and nothing else. Repeating it changes nothing. Checks, in order:
 *  1. the tags are valid;
 *  2. the version exists, see `openVersion`.
 */
export const putObjectTagging: Operation<"putObjectTagging"> = async (request, context) => {
  const tags = tagPairs(planTagging(request.tagging, limits.tagsPerObjectMax));
  return { versionId: await replaceTags(request, context, tags) };
};

/** Returns the tags of an object; none is an empty set. Checks that the version exists. */
export const getObjectTagging: Operation<"getObjectTagging"> = async (request, context) => {
  const { bucket, found } = await context.app.store.read((reader) => openVersion(reader, context, request));
  return {
    versionId: shownVersionId(bucket.versioning, found.version),
    tagSet: found.version.tags.map(({ key, value }) => ({ key, value })),
  };
};

/** Deletes all tags of an object. Repeating it changes nothing. Checks that the version exists. */
export const deleteObjectTagging: Operation<"deleteObjectTagging"> = async (request, context) => {
  return { versionId: await replaceTags(request, context, []) };
};

const replaceTags = async (
  request: PutObjectTaggingRequest | DeleteObjectTaggingRequest,
  context: BucketContext,
  tags: readonly TagPair[],
): Promise<string | undefined> => {
  const { app } = context;
  return app.store.transact(async (transaction) => {
    const { bucket, found } = await openVersion(transaction, context, request);
    const versionId = shownVersionId(bucket.versioning, found.version);
    await putTags(transaction, bucket, request.key, found, tags);
    await app.events.announce(transaction, context, bucket, {
      kind: tags.length > 0 ? "tagged" : "untagged",
      key: request.key,
      versionId,
      sequence: found.sequence,
      eTag: found.version.eTag,
      timeMs: app.clock.now(),
    });
    return versionId;
  });
};
