/** Access control lists of buckets and objects. They are stored only where ACLs count. */
import type { AclRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type {
  GetObjectAclRequest,
  PutObjectAclRequest,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Reader } from "../../kit/store/store.ts";
import type { Application, BucketContext, Operation } from "../application.ts";
import type { AclGroup } from "../domain/acl.ts";
import { groupUris } from "../domain/acl.ts";
import type { AclMembers, RequestedAcl } from "../domain/acl-request.ts";
import { readAcl } from "../domain/acl-request.ts";
import { planAcl } from "../domain/object-acl.ts";
import { checkVersionId } from "../domain/object-version.ts";
import { ownerOf } from "../domain/owner.ts";
import { hasAcls, ownerNow } from "../domain/ownership.ts";
import { fault } from "../faults.ts";
import { revisionDigits } from "../limits.ts";
import type { Bucket } from "../store/bucket.ts";
import { changeRules } from "../store/bucket.ts";
import type { CurrentObject } from "../store/object.ts";
import { findCurrent, putAcl } from "../store/object.ts";

/** Returns the ACL of a bucket; where ACLs are off, the owner's full control. */
export const getBucketAcl: Operation<"getBucketAcl"> = async (_request, { app, access }) => {
  const bucket = await app.store.read((reader) => access.bucket.in(reader));
  return describeAcl(app, bucket.accountId, hasAcls(bucket) ? bucket.acl : undefined);
};

/**
 * Replaces the ACL of a bucket. Repeating it changes nothing. Checks, in order:
 *  1. the request has one ACL and it is valid, see `readAcl`;
 *  2. where ACLs are off, it is the owner's full control (ACCESS_CONTROL_LIST_NOT_SUPPORTED);
 *  3. where public ACLs are blocked, it is not public (ACCESS_DENIED).
 */
export const putBucketAcl: Operation<"putBucketAcl"> = async (request, { app, access }) => {
  const requested = requiredAcl(request, app);
  const revision = app.ids.hex(revisionDigits);
  await app.store.transact(async (transaction) => {
    const bucket = await access.bucket.in(transaction);
    const acl = planAcl(access.bucket.aclRules(bucket), bucket.accountId, requested);
    changeRules(transaction, bucket, revision, { acl });
  });
  return {};
};

/**
 * Returns the ACL of an object; where ACLs are off, the full control of the bucket's owner. Checks, in order:
 *  1. the version id is one that an object can have;
 *  2. the key exists.
 */
export const getObjectAcl: Operation<"getObjectAcl"> = async (request, context) => {
  checkVersionId(request.versionId);
  const { app } = context;
  const { bucket, current } = await app.store.read((reader) => getCurrent(reader, request, context));
  const { ownerAccountId, acl } = current.version;
  return describeAcl(app, ownerNow(bucket, ownerAccountId), hasAcls(bucket) ? acl : undefined);
};

/**
 * Replaces the ACL of an object. Repeating it changes nothing. Checks, in order:
 *  1. the version id is one that an object can have;
 *  2. the ACL, as `putBucketAcl` does first;
 *  3. the key exists;
 *  4. the bucket accepts the ACL, as `putBucketAcl` does.
 */
export const putObjectAcl: Operation<"putObjectAcl"> = async (request, context) => {
  checkVersionId(request.versionId);
  const { app, access } = context;
  const requested = requiredAcl(request, app);
  await app.store.transact(async (transaction) => {
    const { bucket, current } = await getCurrent(transaction, request, context);
    const { ownerAccountId, eTag } = current.version;
    const acl = planAcl(access.bucket.aclRules(bucket), ownerNow(bucket, ownerAccountId), requested);
    // Where ACLs are off, the one that counts again when they are turned on stays as it is.
    if (!hasAcls(bucket)) return;
    putAcl(transaction, bucket.bucketId, request.key, current, acl);
    await app.events.announce(transaction, context, bucket, {
      kind: "acl-changed",
      key: request.key,
      sequence: current.sequence,
      eTag,
      timeMs: app.clock.now(),
    });
  });
  return {};
};

const requiredAcl = (request: AclMembers, app: Application): RequestedAcl => {
  const requested = readAcl(request, app.accounts);
  if (requested === undefined) throw fault(ErrorReason.MISSING_SECURITY_HEADER, { missing_header_name: "x-svc-acl" });
  return requested;
};

const getCurrent = async (
  reader: Reader,
  { key }: GetObjectAclRequest | PutObjectAclRequest,
  { access }: BucketContext,
): Promise<{ readonly bucket: Bucket; readonly current: CurrentObject }> => {
  const bucket = await access.bucket.in(reader);
  const current = await findCurrent(reader, bucket.bucketId, key);
  if (current === undefined) throw access.bucket.noSuchKey(key);
  return { bucket, current };
};

const describeAcl = (app: Application, accountId: string, acl: AclRecord | undefined) => {
  const owner = ownerOf(app, accountId);
  if (acl === undefined)
    return { owner, grants: [{ grantee: { ...owner, type: "CanonicalUser" }, permission: "FULL_CONTROL" }] };
  const names = new Map(app.accounts.list().map(({ id, name, canonicalUserId }) => [canonicalUserId, name ?? id]));
  names.set(owner.id, owner.displayName);
  return {
    owner,
    grants: acl.grants.map(({ canonicalUserId: id, group, permission }) => ({
      grantee:
        group === ""
          ? { id, displayName: names.get(id), type: "CanonicalUser" }
          : { uri: groupUris[group as AclGroup], type: "Group" },
      permission,
    })),
  };
};
