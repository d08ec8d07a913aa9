import type { RecordedCall } from "../../services/kit/access/decision-recorder.ts";
import { recordDecision } from "../../services/kit/access/decision-recorder.ts";
import { ServiceError } from "../../services/kit/faults/service-error.ts";
import { ErrorReason, fault } from "../identity/faults.ts";
import type { WebIdentity } from "./web-identity.ts";

/** Records that credentials were issued; the reason says what allowed it. */
export const recordIssued = (call: RecordedCall, action: string, resource: string, reason: string): void =>
  recordDecision(call, { action, resource, isAllowed: true, reason });

/** The refusal of a session, which is recorded with more than the caller learns. */
export const denied = (call: RecordedCall, action: string, resource: string, reason: string): Error => {
  recordDecision(call, { action, resource, isAllowed: false, reason });
  return fault(ErrorReason.ACCESS_DENIED, { action, resource });
};

/** A token's refusal, recorded by its reason. */
export const refusedToken = (call: RecordedCall, action: string, resource: string, error: unknown): unknown => {
  if (error instanceof ServiceError) {
    const reason = error.facts.reason.toLowerCase().replaceAll("_", "-");
    recordDecision(call, { action, resource, isAllowed: false, reason });
  }
  return error;
};

/** A call whose record names the provider's subject as its principal. */
export const withIdentity = (
  { method, caller, audit, requestId = "" }: RecordedCall,
  { provider, subject }: WebIdentity,
): RecordedCall => ({
  method,
  caller: { ...caller, isAnonymous: false, principalArn: `${provider.arn}/${subject}` },
  audit,
  requestId,
});
