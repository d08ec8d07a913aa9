import { ErrorReason, ErrorReasonSchema } from "../../gen/quartet/identity/v1/error_reason_pb.ts";
import { faultsOf } from "../../services/kit/faults/service-error.ts";

export { ErrorReason };

/** Creates a refusal of the services of identities and sessions: `throw fault(ErrorReason.NO_SUCH_ENTITY, { … })`. */
export const fault = faultsOf(ErrorReasonSchema);
