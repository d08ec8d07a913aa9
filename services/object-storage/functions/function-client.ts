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

/** Functions that run at the same time, and those of one account, so that the others find places. */
const connectionsMax = 256;
const connectionsPerAccountMax = 64;

/** Calls functions by the Invoke API at an address of the operator; an empty one: there are none. */
export const functionClient = (address: string): FunctionClient => {
  const base = address === "" ? undefined : new URL(address);
  const pool = base && new Pool(base.origin, { connections: connectionsMax, headersTimeout: 0, bodyTimeout: 0 });
  /** Functions that run, by account. */
  const running = new Map<string, number>();
  return {
    async invoke(functionArn, event, signal) {
      if (base === undefined || pool === undefined) return "not-invoked";
      const account = functionArn.split(":")[4] ?? "";
      const before = running.get(account) ?? 0;
      if (before >= connectionsPerAccountMax) return "not-invoked";
      running.set(account, before + 1);
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
      } finally {
        const left = (running.get(account) ?? 1) - 1;
        if (left > 0) running.set(account, left);
        else running.delete(account);
      }
    },
    close: async () => pool?.destroy(),
  };
};

/** What a function returns is read up to here and dropped. */
const answerBytesMax = 64 * 1024;

/** Name and qualifier of an ARN as one text, as the Invoke API expects it: `resize`, `resize:live`. */
const nameOf = (functionArn: string): string => encodeURIComponent(functionArn.split(":").slice(6).join(":"));
