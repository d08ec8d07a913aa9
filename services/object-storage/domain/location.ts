import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault } from "../faults.ts";

/** The region whose buckets have no location constraint. */
export const firstRegion = "us-east-1";

/** An older name of eu-west-1 that clients still send. */
const olderName = "EU";

/**
 * The region of a new bucket, given what the request asks for and where the service stands. Throws
 * INVALID_LOCATION_CONSTRAINT for what is no region or for the first region by name, ILLEGAL_LOCATION_CONSTRAINT for
 * another region than the service's, also for none at all where the service is not in the first region.
 */
export const chooseRegion = (constraint: string | undefined, own: string): string => {
  if (constraint === undefined) {
    if (own === firstRegion) return own;
    throw illegal("unspecified");
  }
  if (constraint === firstRegion && own === firstRegion) throw invalid(constraint);
  if (constraint !== olderName && !/^[a-z]{2,}(?:-[a-z0-9]+)+$/.test(constraint)) throw invalid(constraint);
  const region = constraint === olderName ? "eu-west-1" : constraint;
  if (region !== own) throw illegal(constraint);
  return region;
};

/** How a bucket's region is told: not at all in the first region. */
export const locationConstraintOf = (region: string): string | undefined =>
  region === firstRegion ? undefined : region;

const invalid = (constraint: string) =>
  fault(ErrorReason.INVALID_LOCATION_CONSTRAINT, { location_constraint: constraint });
const illegal = (constraint: string) =>
  fault(ErrorReason.ILLEGAL_LOCATION_CONSTRAINT, { location_constraint: constraint });
