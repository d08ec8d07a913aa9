import { create, equals } from "@bufbuild/protobuf";

import type { AclRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { AclRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { CreateBucketRequest } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { TaggingSchema } from "../../../gen/quartet/objectstorage/v1/tagging_pb.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import { refuse } from "../access/refusals.ts";
import type { Application, Operation } from "../application.ts";
import { isOwnersControl, isPublicAcl } from "../domain/acl.ts";
import type { RequestedAcl } from "../domain/acl-request.ts";
import { aclOf, readAcl } from "../domain/acl-request.ts";
import { isBucketName } from "../domain/bucket-name.ts";
import { instant } from "../domain/instant.ts";
import { lockWithoutDefault } from "../domain/object-lock.ts";
import { chooseRegion, firstRegion, locationConstraintOf } from "../domain/location.ts";
import { checkOffered } from "../domain/offer.ts";
import type { ObjectOwnership } from "../domain/ownership.ts";
import { findOwnership } from "../domain/ownership.ts";
import { effectiveBlock } from "../domain/public-access-block.ts";
import { ownerOf } from "../domain/owner.ts";
import { planTagging } from "../domain/tags.ts";
import { fault, memberNotOffered } from "../faults.ts";
import { limits } from "../limits.ts";
import type { Bucket } from "../store/bucket.ts";
import {
  countBuckets,
  createBucketRecord,
  deleteBucketRecord,
  findBucket,
  isBucketEmpty,
  listAccountBuckets,
  rulesOfNew,
} from "../store/bucket.ts";
import { findOpenFork } from "../store/forks.ts";
import { putDocument } from "../store/configuration.ts";
import { endUploads } from "../store/upload.ts";
import { resourceArn } from "../domain/resource-arn.ts";

/**
 * Creates an empty bucket of the caller's account. Repeating it changes nothing: in the first region it succeeds if
 * nothing that differs from the bucket is asked for, otherwise it is refused. Checks, in order:
 *  1. the name follows the rules of bucket names;
 *  2. the request asks for nothing that is not offered;
 *  3. its ACL is valid, grants something to others only where ACLs count, and to everybody only where it may;
 *  4. the region is the service's;
 *  5. the tags are valid;
 *  6. the name is free: not a bucket or a fork in progress of the caller's account, nor of another, also in the regions
 *     that can be asked;
 *  7. the account has fewer buckets than it may have.
 */
export const createBucket: Operation<"createBucket"> = async (request, context) => {
  const { app, caller } = context;
  const { bucket: name, createBucketConfiguration: configuration } = request;
  if (!isBucketName(name)) throw fault(ErrorReason.INVALID_BUCKET_NAME, { bucket_name: name });
  checkOffered(request);
  if (configuration?.location !== undefined) throw memberNotOffered("Location");
  if (configuration?.bucket !== undefined) throw memberNotOffered("Bucket");
  const ownership = findOwnership(request.objectOwnership) ?? app.newBucketOwnership;
  const requestedAcl = readAcl(request, app);
  const acl = aclOfNew(request.bucket, requestedAcl, ownership, context);
  const region = chooseRegion(configuration?.locationConstraint, app.region);
  const isLockable = request.objectLockEnabledForBucket === true;
  const tagging = planTagging(create(TaggingSchema, { tagSet: configuration?.tags ?? [] }), limits.tagsPerBucketMax);

  const bucket = {
    name,
    bucketId: app.ids.hex(16),
    accountId: caller.accountId,
    region,
    createdMs: app.clock.now(),
    ...rulesOfNew(ownership),
    acl,
    accessRevision: "",
    versioning: isLockable ? ("Enabled" as const) : ("" as const),
    objectLock: isLockable ? lockWithoutDefault : undefined,
    mfaDelete: "" as const,
    hasLifecycle: false,
    hasReplication: false,
    replicationWalkId: "",
    hasLogging: false,
    defaultEncryption: undefined,
    searchIndex: undefined,
  };
  const otherPlace = await app.regions.find(name);
  await app.store.transact(async (transaction) => {
    const existing = await findBucket(transaction, name);
    const fork = await findOpenFork(transaction, name);
    if (fork?.accountId === caller.accountId)
      throw fault(ErrorReason.BUCKET_ALREADY_OWNED_BY_YOU, { bucket_name: name });
    if (fork !== undefined) throw fault(ErrorReason.BUCKET_ALREADY_EXISTS, { bucket_name: name });
    if (existing === undefined && otherPlace !== undefined)
      throw fault(ErrorReason.BUCKET_ALREADY_EXISTS, { bucket_name: name });
    if (existing?.accountId === caller.accountId) {
      if (region === firstRegion && isAsAskedFor(existing, request, requestedAcl && { acl })) return;
      throw fault(ErrorReason.BUCKET_ALREADY_OWNED_BY_YOU, { bucket_name: name });
    }
    if (existing !== undefined) throw fault(ErrorReason.BUCKET_ALREADY_EXISTS, { bucket_name: name });
    const { bucketsPerAccountMax } = app.limits;
    if ((await countBuckets(transaction, caller.accountId, bucketsPerAccountMax)) >= bucketsPerAccountMax)
      throw fault(ErrorReason.TOO_MANY_BUCKETS, { buckets_max: String(bucketsPerAccountMax) });
    createBucketRecord(transaction, bucket);
    if (tagging.tagSet.length > 0) putDocument(transaction, bucket.bucketId, "tagging", tagging);
  });

  return { location: `/${name}`, bucketArn: resourceArn(app, name) };
};

/** Whether a bucket is what a request to create it asks for. Tags may have changed since, so any are a difference. */
const isAsAskedFor = (
  existing: Bucket,
  { objectOwnership, createBucketConfiguration, objectLockEnabledForBucket }: CreateBucketRequest,
  asked: { readonly acl: AclRecord | undefined } | undefined,
): boolean =>
  (createBucketConfiguration?.tags ?? []).length === 0 &&
  (objectOwnership === undefined || objectOwnership === existing.ownership) &&
  (objectLockEnabledForBucket !== true || existing.objectLock !== undefined) &&
  (asked === undefined || areEqualAcls(existing.acl, asked.acl));

const areEqualAcls = (one: AclRecord | undefined, other: AclRecord | undefined): boolean =>
  one === undefined || other === undefined ? one === other : equals(AclRecordSchema, one, other);

/** The ACL of a new bucket; undefined: the owner's full control. */
const aclOfNew = (
  name: string,
  requested: RequestedAcl | undefined,
  ownership: ObjectOwnership,
  context: Pick<CallContext<Application>, "app" | "method" | "caller" | "audit" | "requestId">,
): AclRecord | undefined => {
  const { app, caller } = context;
  const owner = app.canonicalUserId(caller.accountId);
  const acl = aclOf(requested, { owner, bucketOwner: owner });
  if (isOwnersControl(acl, owner)) return undefined;
  if (ownership === "BucketOwnerEnforced") throw fault(ErrorReason.INVALID_BUCKET_ACL_WITH_OBJECT_OWNERSHIP);
  const { blockPublicAcls } = effectiveBlock(
    undefined,
    app.accountBlocks.find(caller.accountId),
    app.allowsPublicBuckets,
  );
  if (blockPublicAcls && isPublicAcl(acl)) throw refuse(context, "PutBucketAcl", name, "public-access-block");
  return acl;
};

/** Returns the region and ARN of a bucket. The guard refuses if it does not exist or the caller may not use it. */
export const headBucket: Operation<"headBucket"> = async (_request, { app, access }) => {
  const bucket = await app.store.read((reader) => access.bucket.in(reader));
  return { bucketArn: resourceArn(app, bucket.name), bucketRegion: bucket.region, accessPointAlias: false };
};

/** Returns the region of a bucket; nothing for the first region. */
export const getBucketLocation: Operation<"getBucketLocation"> = async (_request, { app, access }) => {
  const bucket = await app.store.read((reader) => access.bucket.in(reader));
  return { locationConstraint: locationConstraintOf(bucket.region) };
};

/**
 * Deletes a bucket and ends its open uploads, many of them in several transactions. Fails if an object, a version or a
 * delete marker is in it; then no upload is ended that was open when the bucket was found not to be empty.
 */
export const deleteBucket: Operation<"deleteBucket"> = async (_request, { app, access, signal }) => {
  const nowMs = app.clock.now();
  let isDeleted = false;
  while (!isDeleted)
    isDeleted = await app.store.transact(
      async (transaction) => {
        const bucket = await access.bucket.in(transaction);
        if (!(await isBucketEmpty(transaction, bucket)))
          throw fault(ErrorReason.BUCKET_NOT_EMPTY, { bucket_name: bucket.name });
        const hasMore = await endUploads(transaction, bucket.bucketId, app.limits.partsEndedPerTransaction, nowMs);
        if (!hasMore) await deleteBucketRecord(transaction, bucket);
        return !hasMore;
      },
      { signal },
    );
  return {};
};

/** Lists the buckets of the caller's account by name. Fails for a token of another listing. */
export const listBuckets: Operation<"listBuckets"> = async (request, context) => {
  const { app, caller } = context;
  const { prefix = "", bucketRegion } = request;
  const page = app.pages.open(context, request, [prefix, bucketRegion]);

  const { items, nextToken } = await app.store.read(async (reader) => {
    const isListed = bucketRegion === undefined || bucketRegion === app.region;
    const found = isListed
      ? await listAccountBuckets(reader, caller.accountId, prefix, page.after ?? "", page.lookFor)
      : [];
    const cut = page.cut(found, ({ key: [, name] }) => name);
    const listed: Bucket[] = [];
    for (const { key } of cut.items) {
      const bucket = await findBucket(reader, key[1]);
      if (bucket !== undefined) listed.push(bucket);
    }
    return { ...cut, items: listed };
  });

  return {
    buckets: items.map((bucket) => ({
      name: bucket.name,
      creationDate: instant(bucket.createdMs),
      bucketRegion: bucket.region,
      bucketArn: resourceArn(app, bucket.name),
    })),
    owner: ownerOf(app, caller.accountId),
    continuationToken: nextToken,
    prefix: request.prefix,
  };
};
