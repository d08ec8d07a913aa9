import { ErrorReason, ErrorReasonSchema } from "../../gen/quartet/eventbus/v1/error_reason_pb.ts";
import { faultsOf } from "../kit/faults/service-error.ts";

/** Creates the refusals of this service. */
export const fault = faultsOf(ErrorReasonSchema);

export { ErrorReason };
