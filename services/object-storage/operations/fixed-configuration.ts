/**
 * Configurations that every bucket and object has in one state, because nothing here can change them. Each tells that
 * state and refuses as every use of a bucket does; what would change it is not offered, or refused where clients know a
 * reason for it.
 */
import type { AccessControlPolicy } from "../../../gen/quartet/objectstorage/v1/access_control_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type {
  GetObjectAclRequest,
  PutObjectAclRequest,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { BucketRequest } from "../access/bucket-access.ts";
import { useBucket } from "../access/bucket-access.ts";
import type { Application, Context } from "../application.ts";
import { checkObjectAccess } from "../domain/access-control.ts";
import { checkVersionId } from "../domain/object-version.ts";
import { fault } from "../faults.ts";
import { ownerOf } from "../domain/owner.ts";
import type { Bucket } from "../store/bucket.ts";
import { findCurrentRow } from "../store/object.ts";

const telling =
  <Told>(tell: (bucket: Bucket, app: Application) => Told) =>
  async (request: BucketRequest, context: Context): Promise<Told> =>
    tell(await context.app.store.read((reader) => useBucket(reader, context, request)), context.app);

/** The owner's account pays. */
export const getBucketRequestPayment = telling(() => ({ payer: "BucketOwner" }));

/** Versioning was never set, which is told as an empty document. */
export const getBucketVersioning = telling(() => ({}));

/** Acceleration was never set. */
export const getBucketAccelerateConfiguration = telling(() => ({}));

/** No access logs are written. */
export const getBucketLogging = telling(() => ({}));

/** Access control lists give nobody anything: the bucket's owner owns everything in it. */
export const getBucketOwnershipControls = telling(() => ({
  ownershipControls: { rules: [{ objectOwnership: "BucketOwnerEnforced" }] },
}));

/** The owner may do everything, nobody else anything. */
export const getBucketAcl = telling(({ accountId }, app) => privateAcl(app, accountId));

/** As getBucketAcl; refuses a version id that no object here has first, and an unknown key last. */
export const getObjectAcl = async (request: GetObjectAclRequest, context: Context) => {
  const row = await readObjectRow(request, context);
  return privateAcl(context.app, row.ownerAccountId);
};

/** Refuses as every use of a bucket does, then always: a bucket whose owner owns everything takes no ACL. */
export const putBucketAcl = async (request: BucketRequest, context: Context): Promise<never> => {
  await context.app.store.read((reader) => useBucket(reader, context, request));
  throw fault(ErrorReason.ACCESS_CONTROL_LIST_NOT_SUPPORTED);
};

/**
 * Takes the one ACL that every object has, full control of the bucket's owner, by its name or as a document, and changes
 * nothing: clients that copy an object put the source's ACL back on the copy. Refuses as getObjectAcl does, then every
 * other ACL.
 */
export const putObjectAcl = async (request: PutObjectAclRequest, context: Context) => {
  await readObjectRow(request, context);
  const { acl, accessControlPolicy } = request;
  const isOwnersControl =
    accessControlPolicy === undefined
      ? acl === "bucket-owner-full-control"
      : acl === undefined && givesOnlyOwner(accessControlPolicy, ownerOf(context.app, context.caller.accountId).id);
  if (!isOwnersControl) throw fault(ErrorReason.ACCESS_CONTROL_LIST_NOT_SUPPORTED);
  checkObjectAccess(request);
  return {};
};

/** Whether the document grants the owner full control and nobody else anything. */
const givesOnlyOwner = ({ grants }: AccessControlPolicy, ownerId: string | undefined): boolean =>
  grants.length > 0 &&
  grants.every(({ grantee, permission }) => grantee?.id === ownerId && permission === "FULL_CONTROL");

const readObjectRow = async (request: GetObjectAclRequest | PutObjectAclRequest, context: Context) => {
  checkVersionId(request.versionId);
  const row = await context.app.store.read(async (reader) => {
    const bucket = await useBucket(reader, context, request);
    return findCurrentRow(reader, bucket.bucketId, request.key);
  });
  if (row === undefined) throw fault(ErrorReason.NO_SUCH_KEY, { key: request.key });
  return row;
};

const privateAcl = (app: Application, accountId: string) => {
  const owner = ownerOf(app, accountId);
  return { owner, grants: [{ grantee: { ...owner, type: "CanonicalUser" }, permission: "FULL_CONTROL" }] };
};
