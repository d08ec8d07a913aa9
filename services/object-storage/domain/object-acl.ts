import type { AclRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault } from "../faults.ts";
import { isOwnersControl, isPublicAcl } from "./acl.ts";
import type { RequestedAcl } from "./acl-request.ts";
import { aclOf } from "./acl-request.ts";
import type { OwningBucket } from "./ownership.ts";
import { hasAcls, ownerOfNew } from "./ownership.ts";
import type { PublicAccessBlock } from "./public-access-block.ts";

/** What decides which ACLs a bucket accepts. */
export interface AclRules {
  readonly bucket: OwningBucket;
  readonly block: PublicAccessBlock;
  readonly canonicalUserId: (accountId: string) => string;
  /** The refusal of a document that names another owner, and of a public ACL where they are blocked. */
  readonly accessDenied: (rule: "acl-owner" | "public-access-block") => Error;
}

/** Who an object is written for, and its list; undefined: the owner's full control. */
export interface PlannedOwner {
  readonly ownerAccountId: string;
  readonly acl: AclRecord | undefined;
}

/**
 * The owner and the ACL of an object that is to be written. Throws ACCESS_CONTROL_LIST_NOT_SUPPORTED for an ACL other
 * than the owner's full control where ACLs are off, and the refusal of access for a public one where they are blocked.
 */
export const planNewObject = (
  rules: AclRules,
  writer: { readonly isAnonymous: boolean; readonly accountId: string },
  requested: RequestedAcl | undefined,
): PlannedOwner => {
  const ownerAccountId = ownerOfNew(rules.bucket, writer, requested?.kind === "canned" ? requested.name : undefined);
  return { ownerAccountId, acl: requested && planAcl(rules, ownerAccountId, requested) };
};

/**
 * The ACL of a bucket or object of an owner, as it is stored. Throws as `planNewObject` does, and the refusal of access
 * for a document that names another owner.
 */
export const planAcl = (
  { bucket, block, canonicalUserId, accessDenied }: AclRules,
  ownerAccountId: string,
  requested: RequestedAcl,
): AclRecord | undefined => {
  const owner = canonicalUserId(ownerAccountId);
  if (requested.kind === "grants" && requested.ownerId !== undefined && requested.ownerId !== owner)
    throw accessDenied("acl-owner");
  const acl = aclOf(requested, { owner, bucketOwner: canonicalUserId(bucket.accountId) });
  if (isOwnersControl(acl, owner)) return undefined;
  if (!hasAcls(bucket)) throw fault(ErrorReason.ACCESS_CONTROL_LIST_NOT_SUPPORTED);
  if (block.blockPublicAcls && isPublicAcl(acl)) throw accessDenied("public-access-block");
  return acl;
};
