import type { Clock } from "../../kit/clock/clock.ts";

/** Keeps reading in the background below a rate. */
export interface ScrubPace {
  /** Resolves when this many bytes have had their time, or the signal is aborted. */
  spend(bytes: number): Promise<void>;
}

/** A pace of so many bytes a second. */
export const scrubPace = (clock: Clock, bytesPerSecond: number, signal: AbortSignal): ScrubPace => {
  let freeMs = clock.now();
  let askedMs = freeMs;
  return {
    async spend(bytes) {
      const nowMs = clock.now();
      // What is owed stays the same when the clock is set back.
      if (nowMs < askedMs) freeMs += nowMs - askedMs;
      askedMs = nowMs;
      freeMs = Math.max(freeMs, nowMs) + (bytes / bytesPerSecond) * 1_000;
      if (freeMs - clock.now() < waitMsMin || signal.aborted) return;
      await new Promise<void>((resolve) => {
        const end = (): void => {
          cancel();
          signal.removeEventListener("abort", end);
          resolve();
        };
        const cancel = clock.schedule(freeMs, end);
        signal.addEventListener("abort", end);
      });
    },
  };
};

/** Shorter waits are put together. */
const waitMsMin = 20;
