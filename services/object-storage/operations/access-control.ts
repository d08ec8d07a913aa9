/**
 * Access control lists. Every bucket and object has the same one, full control of the owner, because the bucket's owner
 * owns everything in a bucket; any other is refused.
 */
import type { AccessControlPolicy } from "../../../gen/quartet/objectstorage/v1/access_control_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { CurrentVersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type {
  GetObjectAclRequest,
  PutObjectAclRequest,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Application, BucketContext, Operation } from "../application.ts";
import { checkObjectAcl } from "../domain/access-control.ts";
import { checkVersionId } from "../domain/object-version.ts";
import { ownerOf } from "../domain/owner.ts";
import { fault } from "../faults.ts";
import { findCurrentRow } from "../store/object.ts";

/** Returns the ACL of a bucket. */
export const getBucketAcl: Operation<"getBucketAcl"> = async (_request, { app, access }) => {
  const { accountId } = await app.store.read((reader) => access.bucket.in(reader));
  return privateAcl(app, accountId);
};

/** Always fails: a bucket whose owner owns everything in it accepts no ACL. */
export const putBucketAcl: Operation<"putBucketAcl"> = async () => {
  throw fault(ErrorReason.ACCESS_CONTROL_LIST_NOT_SUPPORTED);
};

/**
 * Returns the ACL of an object. Checks, in order:
 *  1. the version id is one that an object can have;
 *  2. the key exists.
 */
export const getObjectAcl: Operation<"getObjectAcl"> = async (request, context) => {
  const row = await getObjectRow(request, context);
  return privateAcl(context.app, row.ownerAccountId);
};

/**
 * Accepts the one ACL that every object has, as a canned ACL or as a document, and changes nothing: clients that copy
 * an object put the source's ACL on the copy. Checks, in order:
 *  1. the version id is one that an object can have;
 *  2. the key exists;
 *  3. the ACL is that one.
 */
export const putObjectAcl: Operation<"putObjectAcl"> = async (request, context) => {
  await getObjectRow(request, context);
  const { acl, accessControlPolicy } = request;
  const isOwnersControl =
    accessControlPolicy === undefined
      ? acl === "bucket-owner-full-control"
      : acl === undefined && grantsOnlyTo(ownerOf(context.app, context.caller.accountId).id, accessControlPolicy);
  if (!isOwnersControl) throw fault(ErrorReason.ACCESS_CONTROL_LIST_NOT_SUPPORTED);
  checkObjectAcl(request);
  return {};
};

/** Whether the document grants the owner full control, and nobody else anything. */
const grantsOnlyTo = (ownerId: string, { grants }: AccessControlPolicy): boolean =>
  grants.length > 0 &&
  grants.every(({ grantee, permission }) => grantee?.id === ownerId && permission === "FULL_CONTROL");

const getObjectRow = async (
  { key, versionId }: GetObjectAclRequest | PutObjectAclRequest,
  { app, access }: BucketContext,
): Promise<CurrentVersionRecord> => {
  checkVersionId(versionId);
  const row = await app.store.read(async (reader) => {
    const { bucketId } = await access.bucket.in(reader);
    return findCurrentRow(reader, bucketId, key);
  });
  if (row === undefined) throw fault(ErrorReason.NO_SUCH_KEY, { key });
  return row;
};

const privateAcl = (app: Application, accountId: string) => {
  const owner = ownerOf(app, accountId);
  return { owner, grants: [{ grantee: { ...owner, type: "CanonicalUser" }, permission: "FULL_CONTROL" }] };
};
