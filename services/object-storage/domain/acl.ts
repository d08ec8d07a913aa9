/**
 * Access control lists. A list grants permissions on one bucket or object to accounts, by their canonical ids, and to
 * groups. Who owns the bucket or object has full control of it where no list is stored.
 */
import { create } from "@bufbuild/protobuf";

import type { AclRecord, GrantRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { AclRecordSchema, GrantRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";

/** What a grant may allow. */
export type AclPermission = "READ" | "WRITE" | "READ_ACP" | "WRITE_ACP" | "FULL_CONTROL";

export const aclPermissions: readonly AclPermission[] = ["READ", "WRITE", "READ_ACP", "WRITE_ACP", "FULL_CONTROL"];

/** A predefined group: everybody, every caller with an account, the service that delivers logs. */
export type AclGroup = "AllUsers" | "AuthenticatedUsers" | "LogDelivery";

/** The URI of each group; the same in both dialects. */
export const groupUris: Readonly<Record<AclGroup, string>> = {
  AllUsers: "http://acs.amazonaws.com/groups/global/AllUsers",
  AuthenticatedUsers: "http://acs.amazonaws.com/groups/global/AuthenticatedUsers",
  LogDelivery: "http://acs.amazonaws.com/groups/s3/LogDelivery",
};

/** The names of the lists that need no grants to be named. */
export type CannedAcl =
  | "private"
  | "public-read"
  | "public-read-write"
  | "authenticated-read"
  | "aws-exec-read"
  | "bucket-owner-read"
  | "bucket-owner-full-control"
  | "log-delivery-write";

/** The accounts that a canned list grants something to, by their canonical ids. */
export interface AclOwners {
  /** Of the bucket or object that the list is for. */
  readonly owner: string;
  readonly bucketOwner: string;
}

/** The account that reads images of machines; public clouds name it by this id. */
const imageReader = "6aa5a366c34c1cbe25dc49211496e913e0351eb0e8c37aa3477e40942ec6b97c";

export const toUser = (canonicalUserId: string, permission: AclPermission): GrantRecord =>
  create(GrantRecordSchema, { canonicalUserId, permission });

export const toGroup = (group: AclGroup, permission: AclPermission): GrantRecord =>
  create(GrantRecordSchema, { group, permission });

/** The list that a canned name means. */
export const cannedAcl = (name: CannedAcl, { owner, bucketOwner }: AclOwners): AclRecord => {
  const further: Readonly<Record<CannedAcl, readonly GrantRecord[]>> = {
    private: [],
    "public-read": [toGroup("AllUsers", "READ")],
    "public-read-write": [toGroup("AllUsers", "READ"), toGroup("AllUsers", "WRITE")],
    "authenticated-read": [toGroup("AuthenticatedUsers", "READ")],
    "aws-exec-read": [toUser(imageReader, "READ")],
    "bucket-owner-read": bucketOwner === owner ? [] : [toUser(bucketOwner, "READ")],
    "bucket-owner-full-control": bucketOwner === owner ? [] : [toUser(bucketOwner, "FULL_CONTROL")],
    "log-delivery-write": [toGroup("LogDelivery", "WRITE"), toGroup("LogDelivery", "READ_ACP")],
  };
  return create(AclRecordSchema, { grants: [toUser(owner, "FULL_CONTROL"), ...further[name]] });
};

/** Whether a list grants the owner full control, and nobody else anything. Unset is that list. */
export const isOwnersControl = (acl: AclRecord | undefined, owner: string): boolean =>
  acl === undefined ||
  (acl.grants.length > 0 &&
    acl.grants.every(({ canonicalUserId, permission }) => canonicalUserId === owner && permission === "FULL_CONTROL"));

/** Whether a list grants everybody, or every caller with an account, anything. */
export const isPublicAcl = (acl: AclRecord | undefined): boolean =>
  acl?.grants.some(({ group }) => group === "AllUsers" || group === "AuthenticatedUsers") === true;

/** Who asks for what a list may grant. */
export interface AclRequester {
  readonly isAnonymous: boolean;
  /** Unset: grants to accounts do not count, as for users of the owner's account, who need policies of their own. */
  readonly canonicalUserId?: (() => string) | undefined;
  /** Grants to groups do not count. */
  readonly ignoresPublic: boolean;
}

/** Whether a list grants a permission. Without a stored list nobody but the owner has any. */
export const isGrantedBy = (
  acl: AclRecord | undefined,
  wanted: AclPermission,
  { isAnonymous, canonicalUserId, ignoresPublic }: AclRequester,
): boolean =>
  acl !== undefined &&
  acl.grants.some(({ canonicalUserId: named, group, permission }) => {
    if (permission !== wanted && permission !== "FULL_CONTROL") return false;
    if (named !== "") return !isAnonymous && named === canonicalUserId?.();
    if (ignoresPublic) return false;
    return group === "AllUsers" || (group === "AuthenticatedUsers" && !isAnonymous);
  });
