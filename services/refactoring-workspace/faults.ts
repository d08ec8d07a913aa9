import { ErrorReasonSchema } from "../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import { faultsOf } from "../kit/faults/service-error.ts";

/** Makes a refusal of this service from its reason and what varies in its message. */
export const fault = faultsOf(ErrorReasonSchema);
