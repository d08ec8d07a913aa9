import type { Clock } from "../../kit/clock/clock.ts";
import type { Logger } from "../../kit/log/log.ts";
import type { Store } from "../../kit/store/store.ts";
import { limits } from "../limits.ts";
import { sweepClientTokens } from "../store/client-token.ts";

/** Forgets old client tokens from time to time, a bounded number in each transaction. Answers what ends that. */
export const startTokenSweep = (store: Store, clock: Clock, log: Logger): (() => void) => {
  const state: { isStopped: boolean; cancel: () => void } = { isStopped: false, cancel: () => {} };

  const sweep = async (): Promise<void> => {
    let swept: number = limits.clientTokenSweepBatch;
    while (!state.isStopped && swept === limits.clientTokenSweepBatch)
      swept = await store.transact((to) => sweepClientTokens(to, clock.now(), limits.clientTokenSweepBatch));
  };
  const arm = (): void => {
    if (state.isStopped) return;
    state.cancel = clock.schedule(clock.now() + limits.clientTokenSweepMs, () => {
      sweep()
        .catch((error: unknown) => log.warn({ err: error }, "old client tokens could not be forgotten"))
        .finally(arm);
    });
  };
  arm();

  return () => {
    state.isStopped = true;
    state.cancel();
  };
};
