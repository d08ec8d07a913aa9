import { Code, ConnectError } from "@connectrpc/connect";

import { ProtocolError } from "../wire/protocol-error.ts";

/** A watch on the deadline and the signal of a call. */
export interface CallEnd {
  /** Must be called when the call has ended otherwise. */
  release(): void;
}

/** Calls `onEnd` once when the deadline passes or the signal is aborted, immediately if it already is. */
export const watchCallEnd = (
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
  onEnd: (error: ConnectError) => void,
): CallEnd => {
  if (signal?.aborted === true) {
    onEnd(abortError(signal));
    return { release: () => {} };
  }
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => onEnd(new ConnectError("the deadline passed", Code.DeadlineExceeded)), Math.max(0, timeoutMs));
  const aborted = (): void => onEnd(abortError(signal as AbortSignal));
  signal?.addEventListener("abort", aborted);
  return {
    release: () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", aborted);
    },
  };
};

/** A call that ends because another one ended has the same error. */
const abortError = (signal: AbortSignal): ConnectError => {
  const reason: unknown = signal.reason;
  if (reason instanceof ConnectError || reason instanceof ProtocolError)
    return new ConnectError(reason.message, reason.code);
  if (reason instanceof Error && reason.name === "TimeoutError")
    return new ConnectError("the deadline passed", Code.DeadlineExceeded);
  return new ConnectError("the call was cancelled", Code.Canceled);
};
