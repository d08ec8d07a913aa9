import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { ServiceError } from "../../kit/faults/service-error.ts";
import { isAccountId } from "../../kit/identity/caller.ts";
import { isOwner } from "../../kit/identity/owner.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import type { Reader } from "../../kit/store/store.ts";
import { isBucketArn } from "../domain/bucket-name.ts";
import { fault, memberNotOffered } from "../faults.ts";
import type { Bucket } from "../store/bucket.ts";
import { findBucket } from "../store/bucket.ts";
import type { AuthorizedBucket } from "./access.ts";

/** The part of a call that its access depends on. */
export type AccessCall = Pick<CallContext<unknown>, "caller" | "method">;

/** A bucket as a request names it. */
export interface NamedBucket {
  readonly name: string;
  /** The account that must own the bucket. Undefined: any. */
  readonly expectedOwner: string | undefined;
}

/** Checks that the call may use a bucket, and returns the access to it. Fails as `authorizeBucket` does. */
export const openBucket = async (reader: Reader, call: AccessCall, named: NamedBucket): Promise<AuthorizedBucket> => {
  await authorizeBucket(reader, call, named);
  return { name: named.name, in: (again) => authorizeBucket(again, call, named) };
};

/**
 * Finds a bucket. Checks, in order:
 *  1. the name is not an ARN (MEMBER_NOT_IMPLEMENTED);
 *  2. the bucket exists (NO_SUCH_BUCKET);
 *  3. the expected owner, if given, is an account id (INVALID_EXPECTED_BUCKET_OWNER);
 *  4. the expected owner, if given, owns the bucket (ACCESS_DENIED);
 *  5. the caller may use the bucket (ACCESS_DENIED).
 */
const authorizeBucket = async (
  reader: Reader,
  call: AccessCall,
  { name, expectedOwner }: NamedBucket,
): Promise<Bucket> => {
  if (isBucketArn(name)) throw memberNotOffered("Bucket");
  const bucket = await findBucket(reader, name);
  if (bucket === undefined) throw fault(ErrorReason.NO_SUCH_BUCKET, { bucket_name: name });
  if (expectedOwner !== undefined && !isAccountId(expectedOwner))
    throw fault(ErrorReason.INVALID_EXPECTED_BUCKET_OWNER, { expected_bucket_owner: expectedOwner });
  if (expectedOwner !== undefined && expectedOwner !== bucket.accountId) throw accessDenied(call, name);
  if (!mayUse(call, bucket)) throw accessDenied(call, name);
  return bucket;
};

/** Only the owning account may use a bucket; the gateway may also read its CORS rules. */
const mayUse = (call: AccessCall, bucket: Bucket): boolean =>
  isOwner(call.caller, bucket.accountId) || isPreflight(call);

/** The gateway may read CORS rules without a caller, because a preflight request is unsigned. */
const isPreflight = ({ caller, method }: AccessCall): boolean =>
  method.name === ObjectStorageService.method.getBucketCors.name &&
  caller.isAnonymous &&
  caller.isPreauthorized === true;

/** The refusal of a call on a resource: a bucket's name, or `*`. */
export const accessDenied = ({ method }: AccessCall, resource: string): ServiceError =>
  fault(ErrorReason.ACCESS_DENIED, { action: method.name, resource });
