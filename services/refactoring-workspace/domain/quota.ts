import { ErrorReason } from "../../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import { fault } from "../faults.ts";

/** How many resources of a kind one parent may hold. */
export interface Quota {
  /** The quota's documented name. */
  readonly code: string;
  /** The kind of the parent. */
  readonly resourceType: "ACCOUNT" | "ENVIRONMENT" | "APPLICATION";
  readonly max: number;
}

/** Throws QUOTA_EXCEEDED if a parent that already holds this many may not hold one more. */
export const refuseOverQuota = (count: number, quota: Quota, parentId: string): void => {
  if (count < quota.max) return;
  throw fault(ErrorReason.QUOTA_EXCEEDED, {
    quota_code: quota.code,
    service_code: "refactor-spaces",
    resource_type: quota.resourceType,
    resource_id: parentId,
    limit: String(quota.max),
  });
};
