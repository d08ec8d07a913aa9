import { ErrorReason, ErrorReasonSchema } from "../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { ServiceError } from "../kit/faults/service-error.ts";
import { faultsOf } from "../kit/faults/service-error.ts";

/** Creates the error of a declared reason of this service. */
export const fault = faultsOf(ErrorReasonSchema);

/** A member has an invalid value; `explanation` is shown to the caller. */
export const invalidArgument = (name: string, value: string, explanation: string): ServiceError =>
  fault(ErrorReason.INVALID_ARGUMENT, { argument_name: name, argument_value: value, explanation });

/** Members contradict each other or cannot be used together; `explanation` is shown to the caller. */
export const invalidRequest = (explanation: string): ServiceError =>
  fault(ErrorReason.INVALID_REQUEST, { explanation });

/** A header or member asks for something that is not offered. */
export const memberNotOffered = (header: string): ServiceError => fault(ErrorReason.MEMBER_NOT_IMPLEMENTED, { header });
