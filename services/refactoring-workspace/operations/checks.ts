import { ErrorReason } from "../../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import type { Tags } from "../domain/tags.ts";
import { findReservedPrefix } from "../domain/tags.ts";
import { fault } from "../faults.ts";

/** The kinds of resource as refusals name them. */
export type ResourceType = "ENVIRONMENT" | "APPLICATION" | "SERVICE" | "ROUTE" | "RESOURCE_POLICY";

/** Throws NAME_RESERVED for a name that looks like an id of its kind. */
export const refuseReservedName = (name: string, prefix: "env-" | "app-" | "svc-"): void => {
  if (name.startsWith(prefix)) throw fault(ErrorReason.NAME_RESERVED, { name, prefix });
};

/** Throws TAG_KEY_RESERVED when a tag has a key that is kept for the system. */
export const refuseReservedTagKeys = (tags: Tags): void => {
  const prefix = findReservedPrefix(tags);
  if (prefix !== undefined) throw fault(ErrorReason.TAG_KEY_RESERVED, { prefix });
};

/** Throws RESOURCE_NOT_FOUND for a record that is not there. */
export const existing = <T>(record: T | undefined, resourceType: ResourceType, resourceId: string): T => {
  if (record === undefined)
    throw fault(ErrorReason.RESOURCE_NOT_FOUND, { resource_type: resourceType, resource_id: resourceId });
  return record;
};

/** A quota: what is counted, where, and how many there may be. */
export interface Quota {
  readonly code: string;
  readonly resourceType: string;
  readonly resourceId: string;
  readonly max: number;
}

/** Throws QUOTA_EXCEEDED when one more would be one too many. */
export const refuseOverQuota = (count: number, quota: Quota): void => {
  if (count < quota.max) return;
  throw fault(ErrorReason.QUOTA_EXCEEDED, {
    quota_code: quota.code,
    service_code: "refactor-spaces",
    resource_type: quota.resourceType,
    resource_id: quota.resourceId,
    limit: String(quota.max),
  });
};
