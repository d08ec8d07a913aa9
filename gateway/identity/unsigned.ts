import type { RecordedCall } from "../../services/kit/access/decision-recorder.ts";
import { recordDecision } from "../../services/kit/access/decision-recorder.ts";
import { ErrorReason, fault } from "./faults.ts";

/** The refusal of a caller without a signature, which is recorded; `prefix` is that of the service's actions. */
export const unsigned = (call: RecordedCall, prefix: "iam" | "sts"): Error => {
  const action = `${prefix}:${call.method.name}`;
  recordDecision(call, { action, resource: "*", isAllowed: false, reason: "unauthenticated" });
  return fault(ErrorReason.UNAUTHENTICATED);
};
