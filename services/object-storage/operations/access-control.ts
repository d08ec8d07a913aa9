/** Access control lists of buckets and objects. They are stored only where ACLs count. */
import type { AclRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { Application, Operation } from "../application.ts";
import { openVersion } from "../content/version-lookup.ts";
import type { AclGroup } from "../domain/acl.ts";
import { groupUris } from "../domain/acl.ts";
import type { AclMembers, RequestedAcl } from "../domain/acl-request.ts";
import { readAcl } from "../domain/acl-request.ts";
import { planAcl } from "../domain/object-acl.ts";
import { ownerOf } from "../domain/owner.ts";
import { hasAcls, ownerNow } from "../domain/ownership.ts";
import { checkVersionId, shownVersionId } from "../domain/versioning.ts";
import { fault } from "../faults.ts";
import { revisionDigits } from "../limits.ts";
import { changeRules } from "../store/bucket.ts";
import { putAcl } from "../store/version-change.ts";

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
 *  1. the version exists, see `openVersion`.
 */
export const getObjectAcl: Operation<"getObjectAcl"> = async (request, context) => {
  const { app } = context;
  const { bucket, found } = await app.store.read((reader) => openVersion(reader, context, request));
  const { ownerAccountId, acl } = found.version;
  return describeAcl(app, ownerNow(bucket, ownerAccountId), hasAcls(bucket) ? acl : undefined);
};

/**
 * Replaces the ACL of an object. Repeating it changes nothing. Checks, in order:
 *  1. the version id is one that the bucket can have;
 *  2. the ACL, as `putBucketAcl` does first;
 *  3. the version exists, see `openVersion`;
 *  4. the bucket accepts the ACL, as `putBucketAcl` does.
 */
export const putObjectAcl: Operation<"putObjectAcl"> = async (request, context) => {
  const { app, access } = context;
  checkVersionId(access.bucket.known.versioning, request.versionId);
  const requested = requiredAcl(request, app);
  await app.store.transact(async (transaction) => {
    const { bucket, found } = await openVersion(transaction, context, request);
    const { ownerAccountId, eTag } = found.version;
    const acl = planAcl(access.bucket.aclRules(bucket), ownerNow(bucket, ownerAccountId), requested);
    // Where ACLs are off, the one that counts again when they are turned on stays as it is.
    if (!hasAcls(bucket)) return;
    putAcl(transaction, bucket.bucketId, request.key, found, acl);
    await app.events.announce(transaction, context, bucket, {
      kind: "acl-changed",
      key: request.key,
      versionId: shownVersionId(bucket.versioning, found.version),
      sequence: found.sequence,
      eTag,
      timeMs: app.clock.now(),
    });
  });
  return {};
};

const requiredAcl = (request: AclMembers, app: Application): RequestedAcl => {
  const requested = readAcl(request, app);
  if (requested === undefined) throw fault(ErrorReason.MISSING_SECURITY_HEADER, { missing_header_name: "x-svc-acl" });
  return requested;
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
