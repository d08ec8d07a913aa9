import { Code, ConnectError } from "@connectrpc/connect";

import { Protocol } from "../../gen/quartet/traits/v1/api_pb.ts";
import type { FaultTable } from "../../services/kit/faults/service-error.ts";
import { ServiceError } from "../../services/kit/faults/service-error.ts";
import { MalformedBodyError } from "../codecs/malformed-body-error.ts";
import type { Dialect } from "../dialects/dialect.ts";
import { MalformedUriError } from "../percent.ts";
import { SignatureRefusal } from "../signature/refusal.ts";
import { gatewayFault, GatewayRefusal } from "./gateway-refusal.ts";
import type { OutsideFault } from "./outside-fault.ts";
import { declaredFault, serviceFault, undeclaredFault } from "./service-fault.ts";
import { signatureFault } from "./signature-fault.ts";

/** How a service's refusals are told: its reasons, its protocol and the request's dialect. */
export interface FaultVoice {
  readonly table: FaultTable;
  readonly protocol: Protocol;
  readonly dialect: Dialect;
}

/** A refusal, and whether it is a defect that the operator must see. */
export interface FaultVerdict {
  readonly fault: OutsideFault;
  readonly isDefect: boolean;
}

/** Words whatever ended a request. What nobody declared is told as the service's internal error. */
export const faultOf = (thrown: unknown, voice: FaultVoice): FaultVerdict => {
  const { table, protocol, dialect } = voice;
  if (thrown instanceof SignatureRefusal) return declared(signatureFault(thrown, protocol, dialect));
  if (thrown instanceof GatewayRefusal) return declared(gatewayFault(thrown, protocol));
  if (thrown instanceof MalformedUriError) return declared(gatewayFault(new GatewayRefusal("malformed-uri"), protocol));
  if (thrown instanceof MalformedBodyError)
    return declared(gatewayFault(new GatewayRefusal("malformed-body", thrown.message), protocol));
  if (thrown instanceof ServiceError) return declared(declaredFault(thrown, protocol));
  if (thrown instanceof ConnectError) return declared(serviceFault(thrown, table, protocol));
  return { fault: undeclaredFault(Code.Internal, table, protocol), isDefect: true };
};

const declared = (fault: OutsideFault): FaultVerdict => ({ fault, isDefect: false });
