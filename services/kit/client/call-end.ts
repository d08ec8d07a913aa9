import { Code, ConnectError } from "@connectrpc/connect";

import { ProtocolError } from "../wire/protocol-error.ts";

/** Watches what can end a call from the caller's side: its deadline and its signal. */
export interface CallEnd {
  /** Must be called when the call has ended by itself. */
  release(): void;
}

/** Calls `give` once when the deadline passes or the signal is aborted, at once when it already is. */
export const watchCallEnd = (
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
  give: (error: ConnectError) => void,
): CallEnd => {
  if (signal?.aborted === true) {
    give(abortError(signal));
    return { release: () => {} };
  }
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => give(new ConnectError("the deadline passed", Code.DeadlineExceeded)), Math.max(0, timeoutMs));
  const aborted = (): void => give(abortError(signal as AbortSignal));
  signal?.addEventListener("abort", aborted);
  return {
    release: () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", aborted);
    },
  };
};

/** A call that is given up because another one is, is given up for the same reason. */
const abortError = (signal: AbortSignal): ConnectError => {
  const reason: unknown = signal.reason;
  if (reason instanceof ConnectError || reason instanceof ProtocolError)
    return new ConnectError(reason.message, reason.code);
  if (reason instanceof Error && reason.name === "TimeoutError")
    return new ConnectError("the deadline passed", Code.DeadlineExceeded);
  return new ConnectError("the call was cancelled", Code.Canceled);
};
