import type { Clock } from "../clock/clock.ts";
import type { Logger } from "../log/log.ts";

/** A piece of periodic work. The signal is aborted when the work is to end; one run may then end early. */
export type PeriodicTask = (signal: AbortSignal) => Promise<unknown>;

/** What runs periodically, and how often. */
export interface PeriodicOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Time between the end of a round and the beginning of the next, in milliseconds. */
  readonly intervalMs: number;
  /** Time until the first round begins, in milliseconds, so that a start need not wait for it. Unset: none. */
  readonly firstAfterMs?: number;
  /** The tasks of a round by the name that the log shows, in the order in which they run. */
  readonly tasks: Readonly<Record<string, PeriodicTask>>;
}

/**
 * Runs the tasks one after the other, and again after every interval. A task that fails is logged and runs again in the
 * next round. Returns the function that ends this; it resolves after the task that runs has ended.
 */
export const runPeriodically = ({
  clock,
  log,
  intervalMs,
  firstAfterMs,
  tasks,
}: PeriodicOptions): (() => Promise<void>) => {
  const ending = new AbortController();
  let cancel: (() => void) | undefined;
  const runRound = async (): Promise<void> => {
    for (const [task, run] of Object.entries(tasks)) {
      if (ending.signal.aborted) return;
      try {
        await run(ending.signal);
      } catch (error) {
        log.error({ err: error, task, intervalMs }, "a periodic task failed; it runs again after the interval");
      }
    }
    if (!ending.signal.aborted) runAfter(intervalMs);
  };
  const runAfter = (delayMs: number): void => {
    cancel = clock.schedule(clock.now() + delayMs, () => {
      running = runRound();
    });
  };
  let running = Promise.resolve();
  if (firstAfterMs === undefined) running = runRound();
  else runAfter(firstAfterMs);
  return async () => {
    ending.abort();
    cancel?.();
    await running;
  };
};
