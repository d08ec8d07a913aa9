import { Code, ConnectError } from "@connectrpc/connect";

import { ServiceError } from "../../services/kit/faults/service-error.ts";
import { MalformedBodyError } from "../codecs/malformed-body-error.ts";
import { MalformedUriError } from "../http/percent.ts";
import { SignatureRefusal } from "../signature/refusal.ts";
import type { FaultContext } from "./fault-context.ts";
import { gatewayFault, GatewayRefusal } from "./gateway-refusal.ts";
import type { HttpFault } from "./http-fault.ts";
import { declaredFault, serviceFault, undeclaredFault } from "./service-fault.ts";
import { signatureFault } from "./signature-fault.ts";

/** A refusal, and whether it is a defect that the operator must see. */
export interface FaultVerdict {
  readonly fault: HttpFault;
  readonly isDefect: boolean;
}

/** Words whatever ended a request. What nobody declared is told as the service's internal error. */
export const faultOf = (thrown: unknown, context: FaultContext): FaultVerdict => {
  const { table, protocol, spelling } = context;
  if (thrown instanceof SignatureRefusal) return declared(signatureFault(thrown, protocol, spelling.dialect));
  if (thrown instanceof GatewayRefusal) return declared(gatewayFault(thrown, protocol));
  if (thrown instanceof MalformedUriError) return declared(gatewayFault(new GatewayRefusal("malformed-uri"), protocol));
  if (thrown instanceof MalformedBodyError)
    return declared(gatewayFault(new GatewayRefusal("malformed-body", thrown.message), protocol));
  if (thrown instanceof ServiceError) return declared(declaredFault(thrown, protocol));
  if (thrown instanceof ConnectError) return declared(serviceFault(thrown, context));
  return { fault: undeclaredFault(Code.Internal, table, protocol), isDefect: true };
};

const declared = (fault: HttpFault): FaultVerdict => ({ fault, isDefect: false });
