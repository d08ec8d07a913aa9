import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { Operation } from "../application.ts";
import type { IndexedAttribute } from "../domain/search.ts";
import { attributeName, planSearchIndex } from "../domain/search.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import { changeSearchIndex } from "../store/bucket.ts";

/**
 * Replaces what the objects of a bucket can be found by. With other attributes another index is built in the
 * background, and the one before is removed; with the same ones in any order nothing changes. Fails if the document is
 * invalid, see `planSearchIndex`.
 */
export const putBucketSearchIndex: Operation<"putBucketSearchIndex"> = async (request, { app, access }) => {
  const attributes = planSearchIndex(request.searchIndexConfiguration);
  const indexId = app.ids.hex(limits.searchIndexIdDigits);
  await app.store.transact(async (transaction) => {
    const bucket = await access.bucket.in(transaction);
    const before = bucket.searchIndex;
    if (before !== undefined && areSame(before.attributes, attributes)) return;
    if (before !== undefined) app.searchIndexes.remove(transaction, bucket, before.indexId);
    changeSearchIndex(transaction, bucket, { indexId, attributes, isActive: false });
    app.searchIndexes.build(transaction, bucket, indexId);
  });
  return {};
};

/** Returns what the objects of a bucket can be found by, and whether all are indexed. Fails if there is no index. */
export const getBucketSearchIndex: Operation<"getBucketSearchIndex"> = async (_request, { app, access }) => {
  const { searchIndex } = await app.store.read((reader) => access.bucket.in(reader));
  if (searchIndex === undefined) throw fault(ErrorReason.NO_SUCH_SEARCH_INDEX);
  return {
    attributes: searchIndex.attributes.map(({ source, name }) => ({ source, ...(name !== "" && { name }) })),
    status: searchIndex.isActive ? "ACTIVE" : "BUILDING",
  };
};

/** Deletes the index of a bucket; what is left of it is removed in the background. Repeating it changes nothing. */
export const deleteBucketSearchIndex: Operation<"deleteBucketSearchIndex"> = async (_request, { app, access }) => {
  await app.store.transact(async (transaction) => {
    const bucket = await access.bucket.in(transaction);
    if (bucket.searchIndex === undefined) return;
    app.searchIndexes.remove(transaction, bucket, bucket.searchIndex.indexId);
    changeSearchIndex(transaction, bucket, undefined);
  });
  return {};
};

const areSame = (before: readonly IndexedAttribute[], after: readonly IndexedAttribute[]): boolean => {
  const names = new Set(before.map(attributeName));
  return names.size === after.length && after.every((attribute) => names.has(attributeName(attribute)));
};
