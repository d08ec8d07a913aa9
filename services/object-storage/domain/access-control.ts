import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault } from "../faults.ts";

/** The members with which a request says who may use what it makes. What a request lacks is undefined. */
export interface AccessControlMembers {
  readonly acl?: string;
  readonly grantFullControl?: string;
  readonly grantRead?: string;
  readonly grantReadAcp?: string;
  readonly grantWrite?: string;
  readonly grantWriteAcp?: string;
}

/** Canned ACLs that give nobody but the bucket's owner anything, which is how it is anyway. */
const ownerOnly: readonly (string | undefined)[] = [undefined, "private", "bucket-owner-full-control"];

/** Throws ACCESS_CONTROL_LIST_NOT_SUPPORTED for an object that somebody other than the bucket's owner could use. */
export const checkObjectAccess = (request: AccessControlMembers): void => {
  if (sharesAccess(request)) throw fault(ErrorReason.ACCESS_CONTROL_LIST_NOT_SUPPORTED);
};

/** Throws INVALID_BUCKET_ACL_WITH_OBJECT_OWNERSHIP for a bucket that somebody other than its owner could use. */
export const checkBucketAccess = (request: AccessControlMembers): void => {
  if (sharesAccess(request)) throw fault(ErrorReason.INVALID_BUCKET_ACL_WITH_OBJECT_OWNERSHIP);
};

/** Grants always count: a header of grants that names the owner alone is an ACL as well. */
const sharesAccess = (request: AccessControlMembers): boolean =>
  !ownerOnly.includes(request.acl) ||
  request.grantFullControl !== undefined ||
  request.grantRead !== undefined ||
  request.grantReadAcp !== undefined ||
  request.grantWrite !== undefined ||
  request.grantWriteAcp !== undefined;
