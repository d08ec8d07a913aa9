import { Code } from "@connectrpc/connect";

import { FaultRole } from "../../../gen/quartet/traits/v1/fault_pb.ts";
import type { FaultMetadata } from "../faults/service-error.ts";

/**
 * A refusal made by the kit itself and not by a handler. Where the service declares a reason for the role, callers see
 * that reason with its code; else this code and message.
 */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
  readonly code: Code;
  readonly role: FaultRole | undefined;
  readonly metadata: FaultMetadata;

  constructor(code: Code, message: string, role?: FaultRole, metadata: FaultMetadata = {}) {
    super(message);
    this.code = code;
    this.role = role;
    this.metadata = metadata;
  }
}

/** Refuses what cannot even be read, in the words of a violated constraint that no member has. */
export const malformed = (message: string): ProtocolError =>
  new ProtocolError(Code.InvalidArgument, message, FaultRole.INVALID_INPUT, {
    violations: message,
    violation_count: "1",
    plural: "",
    member: "",
  });
