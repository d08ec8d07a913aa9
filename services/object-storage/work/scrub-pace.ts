import type { Clock } from "../../kit/clock/clock.ts";

/** Keeps reading in the background below a rate. */
export interface ScrubPace {
  /** Resolves when this many bytes have had their time, or the signal is aborted. */
  spend(bytes: number): Promise<void>;
}

/** A pace of so many bytes a second. */
export const scrubPace = (clock: Clock, bytesPerSecond: number, signal: AbortSignal): ScrubPace => {
  let freeMs = clock.now();
  return {
    async spend(bytes) {
      freeMs = Math.max(freeMs, clock.now()) + (bytes / bytesPerSecond) * 1_000;
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
