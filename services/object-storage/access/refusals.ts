import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { RecordedCall } from "../../kit/access/decision-recorder.ts";
import { recordDecision } from "../../kit/access/decision-recorder.ts";
import type { ServiceError } from "../../kit/faults/service-error.ts";
import type { Application } from "../application.ts";
import { fault } from "../faults.ts";
import { rules } from "./rules.ts";
import { resourceArn } from "../domain/resource-arn.ts";

/** The parts of a call that the record of its refusal names. */
export type RefusedCall = RecordedCall & { readonly app: Pick<Application, "partition"> };

/** Why a call is refused that no policy decides on. */
type RefusalRule =
  | "acl-owner"
  | "blocked-encryption"
  | "customer-key"
  | "expected-owner"
  | "no-listing"
  | "owner-account"
  | "public-access-block"
  | "rename-source"
  | "requester-pays"
  | "second-factor"
  | "unsigned-copy";

/** The refusal of an action, less its prefix, on a resource: a bucket's name or `bucket/key`. */
export const accessDenied = (action: string, resource: string): ServiceError =>
  fault(ErrorReason.ACCESS_DENIED, { action: `${rules.refusalPrefix}:${action}`, resource });

/** The refusal of an action by a rule that is no policy, which is recorded as a decision. */
export const refuse = (call: RefusedCall, action: string, resource: string, rule: RefusalRule): ServiceError => {
  recordRefusal(call, action, resource, rule);
  return accessDenied(action, resource);
};

/** Records the refusal of an action by a rule that is no policy. */
export const recordRefusal = (call: RefusedCall, action: string, resource: string, rule: RefusalRule): void => {
  const name = resourceArn(call.app, resource);
  recordDecision(call, { action: `${rules.names.public}:${action}`, resource: name, isAllowed: false, reason: rule });
};
