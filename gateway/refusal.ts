import { ErrorReason, ErrorReasonSchema } from "../gen/quartet/gateway/v1/error_reason_pb.ts";
import type { ServiceError } from "../services/kit/faults/service-error.ts";
import { faultsOf, faultTable } from "../services/kit/faults/service-error.ts";

export { ErrorReason };

/** Creates a refusal of the gateway itself: `throw refusal(ErrorReason.MALFORMED_BODY, { problem })`. */
export const refusal = faultsOf(ErrorReasonSchema);

/** The declared reasons of the gateway's own refusals. */
export const gatewayFaults = faultTable(ErrorReasonSchema);

/** The refusal of a body that is not a document of its operation; the problem is a sentence for the caller. */
export const malformedBody = (problem: string): ServiceError => refusal(ErrorReason.MALFORMED_BODY, { problem });
