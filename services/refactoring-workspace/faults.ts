import { ErrorReasonSchema } from "../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import { faultsOf } from "../kit/faults/service-error.ts";

/** Creates a refusal of this service from its reason and the values in its message. */
export const fault = faultsOf(ErrorReasonSchema);
