/**
 * The tags of a bucket one by one, as tools that manage resources of many services ask for them. They are the tags that
 * the operations on BucketTagging replace and return as a whole.
 */
import { create } from "@bufbuild/protobuf";

import type { Tag } from "../../../gen/quartet/objectstorage/v1/bucket_pb.ts";
import { TaggingSchema } from "../../../gen/quartet/objectstorage/v1/tagging_pb.ts";
import type { BucketContext, Operation } from "../application.ts";
import { checkTags, planTagging, tagPairs } from "../domain/tags.ts";
import { limits } from "../limits.ts";
import { deleteDocument, findDocument, putDocument } from "../store/configuration.ts";

/** Returns the tags of a bucket; none is an empty list. */
export const listTagsForResource: Operation<"listTagsForResource"> = async (_request, { app, access }) =>
  app.store.read(async (reader) => {
    const { bucketId } = await access.bucket.in(reader);
    return { tags: (await findDocument(reader, bucketId, "tagging"))?.tagSet ?? [] };
  });

/**
 * Adds tags to those of a bucket. A tag with the key of another takes its place. Repeating it changes nothing. Checks,
 * in order:
 *  1. the tags are valid;
 *  2. the bucket has not too many tags with them.
 */
export const tagResource: Operation<"tagResource"> = async ({ tags }, context) => {
  checkTags(tagPairs({ tagSet: tags }), limits.tagsPerBucketMax);
  const added = new Set(tags.map(({ key }) => key));
  await changeTags(context, (existing) => [...existing.filter(({ key }) => !added.has(key)), ...tags]);
  return {};
};

/** Removes the tags with the given keys from those of a bucket. Repeating it succeeds. */
export const untagResource: Operation<"untagResource"> = async ({ tagKeys }, context) => {
  const removed = new Set<string | undefined>(tagKeys);
  await changeTags(context, (existing) => existing.filter(({ key }) => !removed.has(key)));
  return {};
};

const changeTags = async (
  { app, access }: BucketContext,
  change: (existing: readonly Tag[]) => readonly Tag[],
): Promise<void> =>
  app.store.transact(async (transaction) => {
    const { bucketId } = await access.bucket.in(transaction);
    const tagSet = change((await findDocument(transaction, bucketId, "tagging"))?.tagSet ?? []);
    const planned = planTagging(create(TaggingSchema, { tagSet: [...tagSet] }), limits.tagsPerBucketMax);
    if (planned.tagSet.length === 0) deleteDocument(transaction, bucketId, "tagging");
    else putDocument(transaction, bucketId, "tagging", planned);
  });
