import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { OwnershipControls } from "../../../gen/quartet/objectstorage/v1/ownership_controls_pb.ts";
import { fault } from "../faults.ts";

/**
 * Who owns the objects of a bucket, and whether ACLs count:
 *  - `BucketOwnerEnforced`: the bucket's owner owns all, and ACLs do not count;
 *  - `BucketOwnerPreferred`: the writer, unless the ACL is `bucket-owner-full-control`;
 *  - `ObjectWriter`: the writer.
 */
export type ObjectOwnership = "BucketOwnerEnforced" | "BucketOwnerPreferred" | "ObjectWriter";

/** The same, or `None` after the controls were deleted, which counts as `ObjectWriter`. */
export type OwnershipState = ObjectOwnership | "None";

const ownershipModes: readonly ObjectOwnership[] = ["BucketOwnerEnforced", "BucketOwnerPreferred", "ObjectWriter"];

/** The mode of a request that has been validated; undefined: none is named. */
export const findOwnership = (text: string | undefined): ObjectOwnership | undefined =>
  ownershipModes.find((mode) => mode === text);

/** The one mode that controls name. Throws MALFORMED_XML for no rule, several, or a rule without a mode. */
export const readOwnershipControls = (controls: OwnershipControls | undefined): ObjectOwnership => {
  const [rule, ...others] = controls?.rules ?? [];
  const mode = findOwnership(rule?.objectOwnership);
  if (mode === undefined || others.length > 0) throw fault(ErrorReason.MALFORMED_XML);
  return mode;
};

/** The parts of a bucket that decide who owns its objects. */
export interface OwningBucket {
  readonly accountId: string;
  readonly ownership: OwnershipState;
}

/** Whether ACLs count in a bucket. */
export const hasAcls = ({ ownership }: OwningBucket): boolean => ownership !== "BucketOwnerEnforced";

/** The account that owns an object as the bucket is now; `storedOwner` is the one that it was written for. */
export const ownerNow = (bucket: OwningBucket, storedOwner: string): string =>
  hasAcls(bucket) ? storedOwner : bucket.accountId;

/** The account that a new object is written for. What nobody in particular writes belongs to the bucket's owner. */
export const ownerOfNew = (
  { accountId, ownership }: OwningBucket,
  writer: { readonly isAnonymous: boolean; readonly accountId: string },
  cannedAcl: string | undefined,
): string => {
  if (ownership === "BucketOwnerEnforced" || writer.isAnonymous) return accountId;
  if (ownership === "BucketOwnerPreferred" && cannedAcl === "bucket-owner-full-control") return accountId;
  return writer.accountId;
};
