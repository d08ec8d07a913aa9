import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault } from "../faults.ts";

/** The ACL members of a request. Undefined ones were not given. */
export interface AclMembers {
  readonly acl?: string;
  readonly grantFullControl?: string;
  readonly grantRead?: string;
  readonly grantReadAcp?: string;
  readonly grantWrite?: string;
  readonly grantWriteAcp?: string;
}

/** Canned ACLs that grant something to the bucket's owner only, which is always so. */
const ownerOnly: readonly (string | undefined)[] = [undefined, "private", "bucket-owner-full-control"];

/** Throws ACCESS_CONTROL_LIST_NOT_SUPPORTED for an object ACL that grants something to others. */
export const checkObjectAcl = (request: AclMembers): void => {
  if (grantsToOthers(request)) throw fault(ErrorReason.ACCESS_CONTROL_LIST_NOT_SUPPORTED);
};

/** Throws INVALID_BUCKET_ACL_WITH_OBJECT_OWNERSHIP for a bucket ACL that grants something to others. */
export const checkBucketAcl = (request: AclMembers): void => {
  if (grantsToOthers(request)) throw fault(ErrorReason.INVALID_BUCKET_ACL_WITH_OBJECT_OWNERSHIP);
};

/** Grant headers always count, also one that names only the owner. */
const grantsToOthers = (request: AclMembers): boolean =>
  !ownerOnly.includes(request.acl) ||
  request.grantFullControl !== undefined ||
  request.grantRead !== undefined ||
  request.grantReadAcp !== undefined ||
  request.grantWrite !== undefined ||
  request.grantWriteAcp !== undefined;
