import { Pool } from "undici";

/** Why a function gave no answer. */
export type FunctionFailure = "not-found" | "not-permitted" | "failed" | "not-invoked";

/** Calls functions. */
export interface FunctionClient {
  /**
   * Calls a function with an event and resolves when it has ended: undefined, or why it did not end well. Rejects with
   * the signal's reason only.
   */
  invoke(functionArn: string, event: string, signal: AbortSignal): Promise<FunctionFailure | undefined>;
  close(): Promise<void>;
}

/** Functions that run at the same time. */
const connectionsMax = 256;

/** Calls functions by the Invoke API at an address of the operator; an empty one: there are none. */
export const functionClient = (address: string): FunctionClient => {
  const base = address === "" ? undefined : new URL(address);
  const pool = base && new Pool(base.origin, { connections: connectionsMax, headersTimeout: 0, bodyTimeout: 0 });
  return {
    async invoke(functionArn, event, signal) {
      if (base === undefined || pool === undefined) return "not-invoked";
      try {
        const { statusCode, headers, body } = await pool.request({
          method: "POST",
          path: `${base.pathname.replace(/\/$/, "")}/2015-03-31/functions/${nameOf(functionArn)}/invocations`,
          headers: { "content-type": "application/json", "x-amz-invocation-type": "RequestResponse" },
          body: event,
          signal,
        });
        await body.dump({ limit: answerBytesMax, signal });
        if (statusCode === 404) return "not-found";
        if (statusCode === 401 || statusCode === 403) return "not-permitted";
        if (statusCode >= 300) return "not-invoked";
        return headers["x-amz-function-error"] === undefined ? undefined : "failed";
      } catch {
        signal.throwIfAborted();
        return "not-invoked";
      }
    },
    close: async () => pool?.destroy(),
  };
};

/** What a function returns is read up to here and dropped. */
const answerBytesMax = 64 * 1024;

/** Name and qualifier of an ARN as one text, as the Invoke API expects it: `resize`, `resize:live`. */
const nameOf = (functionArn: string): string => encodeURIComponent(functionArn.split(":").slice(6).join(":"));
