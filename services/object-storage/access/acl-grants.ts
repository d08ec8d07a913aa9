import type { AclRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Caller } from "../../kit/identity/caller.ts";
import type { AclPermission } from "../domain/acl.ts";
import { isGrantedBy } from "../domain/acl.ts";

/** The actions that the ACL of a bucket allows, by the permission that a grant must have. */
const bucketGrants: Readonly<Record<string, AclPermission>> = {
  ListBucket: "READ",
  ListBucketVersions: "READ",
  ListBucketMultipartUploads: "READ",
  PutObject: "WRITE",
  DeleteObject: "WRITE",
  GetBucketAcl: "READ_ACP",
  PutBucketAcl: "WRITE_ACP",
};

/** The actions that the ACL of an object allows. */
const objectGrants: Readonly<Record<string, AclPermission>> = {
  GetObject: "READ",
  GetObjectVersion: "READ",
  GetObjectTorrent: "READ",
  GetObjectAcl: "READ_ACP",
  GetObjectVersionAcl: "READ_ACP",
  PutObjectAcl: "WRITE_ACP",
  PutObjectVersionAcl: "WRITE_ACP",
};

/** The actions on keys that the owner of the bucket decides on; the others belong to the owner of the object. */
const bucketOwnersActions: ReadonlySet<string> = new Set([
  "PutObject",
  "DeleteObject",
  "DeleteObjectVersion",
  "AbortMultipartUpload",
  "ListMultipartUploadParts",
  "PutObjectRetention",
  "PutObjectLegalHold",
  "BypassGovernanceRetention",
]);

/** Whether an action on a key is decided on by the object's owner, its ACL, and what the bucket's policy denies. */
export const belongsToObject = (action: string): boolean => !bucketOwnersActions.has(action);

/** Who asks, and what decides whose grants count. */
export interface GrantQuestion {
  readonly caller: Caller;
  /** The owner of what the list is for. Grants to accounts count for callers of other accounts only. */
  readonly ownerAccountId: string;
  readonly ignoresPublic: boolean;
  readonly canonicalUserId: (accountId: string) => string;
}

/** Whether the ACL of a bucket grants an action. */
export const isGrantedByBucket = (acl: AclRecord | undefined, action: string, question: GrantQuestion): boolean =>
  isGranted(acl, bucketGrants[action], question);

/** Whether the ACL of an object grants an action. */
export const isGrantedByObject = (acl: AclRecord | undefined, action: string, question: GrantQuestion): boolean =>
  isGranted(acl, objectGrants[action], question);

const isGranted = (
  acl: AclRecord | undefined,
  permission: AclPermission | undefined,
  { caller, ownerAccountId, ignoresPublic, canonicalUserId }: GrantQuestion,
): boolean => {
  if (acl === undefined || permission === undefined) return false;
  const isForeign = !caller.isAnonymous && caller.accountId !== ownerAccountId;
  return isGrantedBy(acl, permission, {
    isAnonymous: caller.isAnonymous,
    canonicalUserId: isForeign ? () => canonicalUserId(caller.accountId) : undefined,
    ignoresPublic,
  });
};
