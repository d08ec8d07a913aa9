import { Code, ConnectError } from "@connectrpc/connect";

import { ServiceError } from "../../services/kit/faults/service-error.ts";
import { gatewayFaults } from "../refusal.ts";
import type { FaultContext } from "./fault-context.ts";
import { gatewayFault } from "./gateway-fault.ts";
import type { HttpFault } from "./http-fault.ts";
import { declaredFault, serviceFault, undeclaredFault } from "./service-fault.ts";

/** The answer to a failed request, and whether the operator must see its cause. */
export interface FailureAnswer {
  readonly fault: HttpFault;
  /** True for whatever nobody declared, and for whatever is answered as an internal error. */
  readonly isDefect: boolean;
}

/** The answer to whatever ended a request. A failure that nobody declared becomes the service's internal error. */
export const faultOf = (thrown: unknown, context: FaultContext): FailureAnswer => {
  const { table, protocol, spelling } = context;
  if (thrown instanceof ServiceError)
    return declared(
      thrown.facts.domain === gatewayFaults.domain
        ? gatewayFault(thrown, protocol, spelling.dialect)
        : declaredFault(thrown, protocol),
    );
  if (thrown instanceof ConnectError) return declared(serviceFault(thrown, context));
  return { fault: undeclaredFault(Code.Internal, table, protocol), isDefect: true };
};

const declared = (fault: HttpFault): FailureAnswer => ({ fault, isDefect: fault.status === 500 });
