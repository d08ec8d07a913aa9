import type { Clock } from "../../kit/clock/clock.ts";
import type { Store } from "../../kit/store/store.ts";
import { limits } from "../limits.ts";
import { sweepClientTokens } from "../store/client-token.ts";

/**
 * Deletes all client tokens that have expired by now, a limited number in each transaction. Ends early once the signal
 * is aborted.
 */
export const sweepExpiredTokens = async (store: Store, clock: Clock, signal: AbortSignal): Promise<void> => {
  const batch = limits.clientTokenSweepBatch;
  let swept: number = batch;
  while (swept === batch && !signal.aborted)
    swept = await store.transact((transaction) => sweepClientTokens(transaction, clock.now(), batch));
};
