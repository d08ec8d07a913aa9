import { ConnectError } from "@connectrpc/connect";

import { ProtocolError } from "../wire/protocol-error.ts";

/** An error of the wire as callers see it. */
export const protocolFailure = (error: unknown): ConnectError =>
  error instanceof ProtocolError ? new ConnectError(error.message, error.code) : ConnectError.from(error);
