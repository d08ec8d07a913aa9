import type { Clock } from "../../services/kit/clock/clock.ts";
import type { AccountChanges, Identities } from "./identities.ts";

/** The changes of identities from the call on. */
export interface WatchedChanges {
  /**
   * The changes in their order, in batches; an empty one where there was none for a second. Ends when the signal is
   * aborted, and when more changes wait than are kept: then whoever follows has to begin again.
   */
  batches(): AsyncGenerator<readonly AccountChanges[]>;
  stop(): void;
}

const heartbeatMs = 1_000;
const waitingMax = 10_000;

/** Watches the changes for a stream to somebody who follows. */
export const watchChanges = (identities: Identities, clock: Clock, signal: AbortSignal): WatchedChanges => {
  const waiting: AccountChanges[] = [];
  let wake = (): void => undefined;
  const stop = identities.watch((changed) => {
    if (waiting.length <= waitingMax) waiting.push(changed);
    wake();
  });
  signal.addEventListener("abort", () => wake(), { once: true });
  return {
    stop,
    batches: async function* () {
      while (!signal.aborted && waiting.length <= waitingMax) {
        if (waiting.length === 0)
          await new Promise<void>((resolve) => {
            const cancel = clock.schedule(clock.now() + heartbeatMs, resolve);
            wake = () => {
              cancel();
              resolve();
            };
          });
        yield waiting.splice(0);
      }
    },
  };
};
