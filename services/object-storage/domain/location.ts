import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault } from "../faults.ts";

/** The region whose buckets have no location constraint. */
export const firstRegion = "us-east-1";

/** An older name of eu-west-1 that clients still send. */
const olderName = "EU";

/** The region that clients without a configured one name. It means any. */
const noRegion = "aws-global";

/**
 * The region of a new bucket: the service's own, which the request must name unless it is the first region. Throws
 * INVALID_LOCATION_CONSTRAINT for a text that is not a region; ILLEGAL_LOCATION_CONSTRAINT for another region than the
 * service's, or for none outside the first region.
 */
export const chooseRegion = (constraint: string | undefined, own: string): string => {
  if (constraint === undefined && own !== firstRegion) throw illegal("unspecified");
  if (constraint === undefined || constraint === noRegion) return own;
  if (constraint !== olderName && !/^[a-z]{2,}(?:-[a-z0-9]+)+$/.test(constraint)) throw invalid(constraint);
  const region = constraint === olderName ? "eu-west-1" : constraint;
  if (region !== own) throw illegal(constraint);
  return region;
};

/** The location constraint of a bucket's region; undefined for the first region. */
export const locationConstraintOf = (region: string): string | undefined =>
  region === firstRegion ? undefined : region;

const invalid = (constraint: string) =>
  fault(ErrorReason.INVALID_LOCATION_CONSTRAINT, { location_constraint: constraint });
const illegal = (constraint: string) =>
  fault(ErrorReason.ILLEGAL_LOCATION_CONSTRAINT, { location_constraint: constraint });
