/** The source of time. Instants are milliseconds since 1970-01-01T00:00:00Z. */
export interface Clock {
  now(): number;
  /**
   * Runs once, at or soon after the instant; returns its cancellation. A pending run does not keep the process alive.
   */
  schedule(atMs: number, run: () => void): () => void;
}

/**
 * Whether an instant that was set at most `delayMsMax` ahead has not come. One that is further ahead was set before the
 * clock was set back, and counts as one that has come: nothing waits for years because a clock was wrong for a minute.
 */
export const isStillAhead = (atMs: number, delayMsMax: number, nowMs: number): boolean =>
  nowMs < atMs && atMs - nowMs <= delayMsMax;

/** How long a timer runs before the machine's time is read again, which may have been set meanwhile. */
const timerDelayMsMax = 60_000;

/**
 * The machine's clock. It may be set while the process runs: what is scheduled runs at its instant, at most a minute
 * late when the clock is set forward, and after the delay that it had when the clock is set back.
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  schedule: (atMs, run) => {
    const endMs = performance.now() + (atMs - Date.now());
    const leftMs = (): number => Math.max(0, Math.min(atMs - Date.now(), endMs - performance.now()));
    let timer: NodeJS.Timeout;
    const wait = (delayMs: number): void => {
      timer = delayMs > timerDelayMsMax ? setTimeout(look, timerDelayMsMax) : setTimeout(run, delayMs);
      timer.unref();
    };
    const look = (): void => {
      const delayMs = leftMs();
      if (delayMs === 0) run();
      else wait(delayMs);
    };
    wait(leftMs());
    return () => clearTimeout(timer);
  },
};
