import { ConnectError } from "@connectrpc/connect";

/** Metadata of a refusal by a server that did not begin to handle the call, so that it may be made again. */
export const unprocessedHeader = "x-call-unprocessed";

const unprocessed = new WeakSet<ConnectError>();

/** Notes that nobody has begun to handle the call that ends with this error. */
export const markUnprocessed = (error: ConnectError): ConnectError => {
  unprocessed.add(error);
  return error;
};

/** True for the end of a call that nobody has begun to handle. */
export const isUnprocessed = (error: unknown): boolean =>
  error instanceof ConnectError && (unprocessed.has(error) || error.metadata.get(unprocessedHeader) === "true");
