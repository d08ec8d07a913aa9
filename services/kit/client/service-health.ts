import { setTimeout as pause } from "node:timers/promises";

import type { Transport } from "@connectrpc/connect";
import { Code, ConnectError } from "@connectrpc/connect";

import { Health } from "../../../gen/grpc/health/v1/health_pb.ts";
import { PassingMap } from "../collections/passing-map.ts";

/** Whether a service answers at all, as its health checks show. */
export interface ServiceHealth {
  /** True from the missed checks on until a check is answered. */
  readonly isHanging: boolean;
  /** Aborted when the service is found hanging; a new one after it has answered again. */
  readonly signal: AbortSignal;
  /** Calls back once when the service is found hanging, at once if it is. Returns what prevents it. */
  onHanging(giveUp: () => void): () => void;
  /**
   * Calls back at once, and whenever it changes, whether the service answers: not while it hangs or cannot be reached.
   */
  onAnswering(changed: (isAnswering: boolean) => void): void;
  /** Ends the checks. */
  stop(): Promise<void>;
}

/** How a service is checked. */
export interface HealthCheckOptions {
  /** How soon after one check the next begins, in milliseconds. Unset: 1,000. */
  readonly intervalMs?: number;
  /** How long a check may take, in milliseconds. Unset: 1,000. */
  readonly timeoutMs?: number;
  /** As many missed checks in a row show that the service hangs. Unset: 3. */
  readonly missesMax?: number;
  /** Called when it changes whether the service hangs. */
  readonly onChange?: (isHanging: boolean) => void;
}

/**
 * Checks the health of a service again and again. Only a check without an answer is a miss: calls of a service that
 * refuses connections, or that is stopping, fail at once by themselves.
 */
export const watchHealth = (
  transport: Pick<Transport, "unary">,
  { intervalMs = 1_000, timeoutMs = 1_000, missesMax = 3, onChange }: HealthCheckOptions = {},
): ServiceHealth => {
  const ending = new AbortController();
  let hanging = new AbortController();
  let misses = 0;
  const waiting = new PassingMap<() => void, true>();

  const listeners = new Set<(isAnswering: boolean) => void>();
  let isAnswering = true;

  const check = async (): Promise<"answered" | "missed" | "unavailable"> => {
    try {
      await transport.unary(Health.method.check, ending.signal, timeoutMs, undefined, { service: "" });
      return "answered";
    } catch (error) {
      const { code } = ConnectError.from(error);
      if (code === Code.DeadlineExceeded) return "missed";
      return code === Code.Unavailable ? "unavailable" : "answered";
    }
  };
  const note = (isAnsweringNow: boolean): void => {
    if (isAnswering === isAnsweringNow) return;
    isAnswering = isAnsweringNow;
    for (const changed of listeners) changed(isAnswering);
  };
  const run = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const outcome = await check();
      misses = outcome === "missed" ? misses + 1 : 0;
      if (ending.signal.aborted) return;
      if (outcome !== "missed" || misses === missesMax) note(outcome === "answered");
      if (misses === missesMax) {
        hanging.abort(hangingError());
        for (const giveUp of waiting.keys()) {
          waiting.delete(giveUp);
          giveUp();
        }
        onChange?.(true);
      } else if (misses === 0 && hanging.signal.aborted) {
        hanging = new AbortController();
        onChange?.(false);
      }
      await pause(intervalMs, undefined, { signal: ending.signal, ref: false }).catch(() => {});
    }
  };
  const running = run();
  return {
    get isHanging() {
      return hanging.signal.aborted;
    },
    get signal() {
      return hanging.signal;
    },
    onHanging: (giveUp) => {
      if (hanging.signal.aborted) giveUp();
      else waiting.set(giveUp, true);
      return () => void waiting.delete(giveUp);
    },
    onAnswering: (changed) => {
      listeners.add(changed);
      changed(isAnswering);
    },
    stop: async () => {
      ending.abort();
      await running;
    },
  };
};

/** The error of a call to a service that hangs. */
export const hangingError = (): ConnectError => new ConnectError("the service does not answer", Code.Unavailable);
