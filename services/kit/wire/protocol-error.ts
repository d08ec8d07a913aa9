import { Code } from "@connectrpc/connect";

import { FaultRole } from "../../../gen/quartet/traits/v1/fault_pb.ts";
import type { FaultMetadata } from "../faults/service-error.ts";

/**
 * A refusal by the kit itself and not by a handler. If the service declares a reason for the role, callers see that
 * reason with its code; otherwise this code and message.
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

/** The refusal of an unreadable message, in the form of a violated constraint without a member. */
export const malformed = (message: string): ProtocolError =>
  new ProtocolError(Code.InvalidArgument, message, FaultRole.INVALID_INPUT, {
    violations: message,
    violation_count: "1",
    plural: "",
    member: "",
  });
