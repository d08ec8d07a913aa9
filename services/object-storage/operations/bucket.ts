import { create } from "@bufbuild/protobuf";

import type {
  CreateBucketRequest,
  DeleteBucketRequest,
  GetBucketLocationRequest,
  HeadBucketRequest,
  ListBucketsRequest,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { TaggingSchema } from "../../../gen/quartet/objectstorage/v1/tagging_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { arn } from "../../kit/arn/arn.ts";
import { refuseAnonymous, useBucket } from "../access/bucket-access.ts";
import type { Application, Context } from "../application.ts";
import { openContinuation } from "../continuation.ts";
import { checkBucketAccess } from "../domain/access-control.ts";
import { isBucketName } from "../domain/bucket-name.ts";
import { chooseRegion, locationConstraintOf } from "../domain/location.ts";
import { refuseUnoffered } from "../domain/offer.ts";
import { bucketTagsMax, planTagging } from "../domain/tags.ts";
import { instant } from "../domain/instant.ts";
import { fault, notOffered } from "../faults.ts";
import { ownerOf } from "../domain/owner.ts";
import {
  countBuckets,
  createBucketRecord,
  deleteBucketRecord,
  findBucket,
  isBucketEmpty,
  listAccountBuckets,
} from "../store/bucket.ts";
import { putDocument } from "../store/configuration.ts";

const bucketsPerPageMax = 10_000;

/**
 * Makes an empty bucket of the caller's account. Refuses an anonymous caller, a name that breaks the rules, what is
 * not offered, access for others, a wrong region, bad tags, a name that is taken (by the caller's account or another), one bucket too
 * many. Repeating it is refused and changes nothing.
 */
export const createBucket = async (request: CreateBucketRequest, context: Context) => {
  const { app, caller } = context;
  const { bucket: name, createBucketConfiguration: configuration } = request;
  refuseAnonymous(context, name);
  if (!isBucketName(name)) throw fault(ErrorReason.INVALID_BUCKET_NAME, { bucket_name: name });
  refuseUnoffered(request);
  if (configuration?.location !== undefined) throw notOffered("Location");
  if (configuration?.bucket !== undefined) throw notOffered("Bucket");
  checkBucketAccess(request);
  const region = chooseRegion(configuration?.locationConstraint, app.region);
  const tagging = planTagging(create(TaggingSchema, { tagSet: configuration?.tags ?? [] }), bucketTagsMax);

  const bucket = {
    name,
    bucketId: app.ids.hex(16),
    accountId: caller.accountId,
    region,
    creationTimeMs: app.clock.now(),
  };
  await app.store.transact(async (transaction) => {
    const existing = await findBucket(transaction, name);
    if (existing?.accountId === caller.accountId)
      throw fault(ErrorReason.BUCKET_ALREADY_OWNED_BY_YOU, { bucket_name: name });
    if (existing !== undefined) throw fault(ErrorReason.BUCKET_ALREADY_EXISTS, { bucket_name: name });
    const { bucketsPerAccountMax } = app.limits;
    if ((await countBuckets(transaction, caller.accountId, bucketsPerAccountMax)) >= bucketsPerAccountMax)
      throw fault(ErrorReason.TOO_MANY_BUCKETS, { buckets_max: String(bucketsPerAccountMax) });
    createBucketRecord(transaction, bucket);
    if (tagging.tagSet.length > 0) putDocument(transaction, bucket.bucketId, "tagging", tagging);
  });

  return { location: `/${name}`, bucketArn: bucketArn(app, name) };
};

/** Tells whether the bucket exists and the caller may use it. Refuses as every use of a bucket does. */
export const headBucket = async (request: HeadBucketRequest, context: Context) => {
  const { app } = context;
  const bucket = await app.store.read((reader) => useBucket(reader, context, request));
  return { bucketArn: bucketArn(app, bucket.name), bucketRegion: bucket.region, accessPointAlias: false };
};

/** Tells the region of a bucket: nothing for the first region. Refuses as every use of a bucket does. */
export const getBucketLocation = async (request: GetBucketLocationRequest, context: Context) => {
  const bucket = await context.app.store.read((reader) => useBucket(reader, context, request));
  return { locationConstraint: locationConstraintOf(bucket.region) };
};

/** Deletes an empty bucket. Refuses as every use of a bucket does, then a bucket with anything in it. */
export const deleteBucket = async (request: DeleteBucketRequest, context: Context) => {
  await context.app.store.transact(async (transaction) => {
    const bucket = await useBucket(transaction, context, request);
    if (!(await isBucketEmpty(transaction, bucket)))
      throw fault(ErrorReason.BUCKET_NOT_EMPTY, { bucket_name: bucket.name });
    await deleteBucketRecord(transaction, bucket);
  });
  return {};
};

/** Lists the buckets of the caller's account by name. Refuses an anonymous caller and a token of another listing. */
export const listBuckets = async (request: ListBucketsRequest, context: Context) => {
  const { app, caller } = context;
  refuseAnonymous(context, "*");
  const { prefix = "", bucketRegion, maxBuckets = bucketsPerPageMax } = request;
  const binding = { caller: caller.accountId, operation: "ListBuckets", filters: [prefix, bucketRegion ?? ""] };
  const after = openContinuation(app, binding, request.continuationToken) ?? "";

  const page = await app.store.read(async (reader) => {
    const found = [];
    const isListed = bucketRegion === undefined || bucketRegion === app.region;
    const entries = isListed ? await listAccountBuckets(reader, caller.accountId, prefix, after, maxBuckets + 1) : [];
    for (const { key } of entries.slice(0, maxBuckets)) {
      const bucket = await findBucket(reader, key[1]);
      if (bucket !== undefined) found.push(bucket);
    }
    return { buckets: found, isTruncated: entries.length > maxBuckets };
  });

  return {
    buckets: page.buckets.map((bucket) => ({
      name: bucket.name,
      creationDate: instant(bucket.creationTimeMs),
      bucketRegion: bucket.region,
      bucketArn: bucketArn(app, bucket.name),
    })),
    owner: ownerOf(app, caller.accountId),
    continuationToken: page.isTruncated ? app.pageTokens.seal(binding, page.buckets.at(-1)?.name ?? "") : undefined,
    prefix: request.prefix,
  };
};

const bucketArn = (app: Application, name: string): string =>
  arn({ partition: app.partition, service: "s3", region: "", account: "", resource: name });
