import { Code, ConnectError } from "@connectrpc/connect";

import { ProtocolError } from "../wire/protocol-error.ts";

/** An error of the wire as callers see it. What a server sends and nobody can read is the server's fault. */
export const protocolFailure = (error: unknown): ConnectError => {
  if (!(error instanceof ProtocolError)) return ConnectError.from(error);
  const code = error.code === Code.InvalidArgument ? Code.Internal : error.code;
  return new ConnectError(error.message, code);
};
