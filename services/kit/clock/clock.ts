/** The source of time. Instants are milliseconds since 1970-01-01T00:00:00Z. */
export interface Clock {
  now(): number;
  /**
   * Runs once, at or soon after the instant; returns its cancellation. A pending run does not keep the process alive.
   */
  schedule(atMs: number, run: () => void): () => void;
}

/** The longest delay of a platform timer. */
const timerDelayMsMax = 2_147_483_647;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  schedule: (atMs, run) => {
    let timer: NodeJS.Timeout;
    const arm = () => {
      const delayMs = Math.max(0, atMs - Date.now());
      timer = delayMs > timerDelayMsMax ? setTimeout(arm, timerDelayMsMax) : setTimeout(run, delayMs);
      timer.unref();
    };
    arm();
    return () => clearTimeout(timer);
  },
};
