import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { parseArn } from "../../kit/arn/arn.ts";
import { isAccountId } from "../../kit/identity/caller.ts";
import type { Reader } from "../../kit/store/store.ts";
import type { Application } from "../application.ts";
import type { AccessPoint } from "./access-points.ts";
import { fault, invalidRequest } from "../faults.ts";
import type { Bucket } from "../store/bucket.ts";
import { findBucket } from "../store/bucket.ts";
import type { RefusedCall } from "./refusals.ts";
import { refuse } from "./refusals.ts";

/** A bucket as a request names it. */
export interface NamedBucket {
  readonly name: string;
  /** The account that must own the bucket. Undefined: any. */
  readonly expectedOwner: string | undefined;
  /** As the request writes it, and what that means. Undefined: the name itself. */
  readonly reachedBy?: { readonly text: string; readonly point: AccessPoint } | undefined;
}

/** A bucket that a request names by its own name or by that of an access point. */
export const namedBy = (
  { accessPoints }: Pick<Application, "accessPoints">,
  text: string,
  expectedOwner: string | undefined,
): NamedBucket => {
  const point = accessPoints.find(text);
  if (point === undefined) return { name: text, expectedOwner };
  return { name: point.bucket, expectedOwner, reachedBy: { text, point } };
};

/**
 * The name of a bucket that is named by its ARN; a text that is no ARN is a name. Throws INVALID_REQUEST for the ARN of
 * anything else.
 */
export const nameInArn = (text: string): string => {
  const named = parseArn(text);
  if (named === undefined) return text;
  const { service, region, account, resource } = named;
  if ((service === "s3" || service === "object-storage") && region + account === "" && !resource.includes("/"))
    return resource;
  throw invalidRequest("The ARN is not that of a bucket. Only buckets have tags that are managed by ARN.");
};

/**
 * Finds a bucket. Checks, in order:
 *  1. the bucket exists (NO_SUCH_BUCKET);
 *  2. the expected owner, if given, is an account id (INVALID_EXPECTED_BUCKET_OWNER);
 *  3. the expected owner, if given, owns the bucket (ACCESS_DENIED).
 */
export const findNamedBucket = async (
  reader: Reader,
  call: RefusedCall,
  { name, expectedOwner }: NamedBucket,
): Promise<Bucket> => {
  const bucket = await findBucket(reader, name);
  if (bucket === undefined) throw fault(ErrorReason.NO_SUCH_BUCKET, { bucket_name: name });
  if (expectedOwner !== undefined && !isAccountId(expectedOwner))
    throw fault(ErrorReason.INVALID_EXPECTED_BUCKET_OWNER, { expected_bucket_owner: expectedOwner });
  if (expectedOwner !== undefined && expectedOwner !== bucket.accountId)
    throw refuse(call, call.method.name, name, "expected-owner");
  return bucket;
};
