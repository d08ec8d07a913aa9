import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { ServiceError } from "../../kit/faults/service-error.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import { fault, invalidRequest } from "../faults.ts";
import { lookupAgent } from "../regions/other-regions.ts";
import type { AccessApplication } from "./resources.ts";

/**
 * What a call ends with whose bucket was not found: TEMPORARY_REDIRECT with its address if another region has it;
 * INVALID_REQUEST if it is the source of a copy, because copies stay within a region. Else what was thrown.
 */
export const elsewhere = async (
  thrown: unknown,
  { app, caller, responseHeader }: Pick<CallContext<AccessApplication>, "app" | "caller" | "responseHeader">,
  ownBucket: string,
): Promise<unknown> => {
  if (!(thrown instanceof ServiceError) || thrown.facts.number !== ErrorReason.NO_SUCH_BUCKET) return thrown;
  if (caller.userAgent === lookupAgent) return thrown;
  const { bucket_name: bucket = "" } = thrown.metadata;
  const place = await app.regions.find(bucket);
  if (place === undefined) return thrown;
  if (bucket !== ownBucket)
    return invalidRequest(`The source of the copy is in the region ${place.region}. Copies stay within a region.`);
  responseHeader.set("location", place.endpoint);
  responseHeader.set("x-svc-bucket-region", place.region);
  return fault(ErrorReason.TEMPORARY_REDIRECT, { bucket, endpoint: new URL(place.endpoint).host });
};
