import { ErrorReason } from "../../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import type { ResourceType } from "../domain/resource-name.ts";
import { fault } from "../faults.ts";

/** The record if there is one. Throws RESOURCE_NOT_FOUND if there is none. */
export const orNotFound = <T>(record: T | undefined, resourceType: ResourceType, resourceId: string): T => {
  if (record === undefined)
    throw fault(ErrorReason.RESOURCE_NOT_FOUND, { resource_type: resourceType, resource_id: resourceId });
  return record;
};
