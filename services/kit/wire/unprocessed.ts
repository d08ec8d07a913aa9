import { ConnectError } from "@connectrpc/connect";

/** Metadata of a refusal by a server that did not begin to handle the call, so that it may be repeated. */
export const unprocessedHeader = "x-call-unprocessed";

const unprocessed = new WeakSet<ConnectError>();

/** Marks the error of a call that no handler has begun to handle. */
export const markUnprocessed = (error: ConnectError): ConnectError => {
  unprocessed.add(error);
  return error;
};

/** True for the error of a call that no handler has begun to handle. */
export const isUnprocessed = (error: unknown): boolean =>
  error instanceof ConnectError && (unprocessed.has(error) || error.metadata.get(unprocessedHeader) === "true");
