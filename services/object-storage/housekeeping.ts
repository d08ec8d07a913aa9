import type { Clock } from "../kit/clock/clock.ts";
import type { Logger } from "../kit/log/log.ts";

/** Work that is done from time to time, by name. */
export type Chores = Readonly<Record<string, () => Promise<unknown>>>;

/**
 * Does the chores at once and then at every interval, one after the other; one that fails is logged and done again the
 * next time. Answers what ends it, after the chore that runs.
 */
export const keepHouse = (chores: Chores, clock: Clock, log: Logger, intervalMs: number): (() => Promise<void>) => {
  const abort = new AbortController();
  let cancel: (() => void) | undefined;

  const round = async (): Promise<void> => {
    for (const [chore, run] of Object.entries(chores)) {
      if (abort.signal.aborted) return;
      try {
        await run();
      } catch (error) {
        log.error({ err: error, chore }, "a chore failed");
      }
    }
    if (abort.signal.aborted) return;
    cancel = clock.schedule(clock.now() + intervalMs, () => {
      running = round();
    });
  };
  let running = round();

  return async () => {
    abort.abort();
    cancel?.();
    await running;
  };
};
