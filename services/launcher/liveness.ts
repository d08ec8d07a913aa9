import type { Clock } from "../kit/clock/clock.ts";
import type { Logger } from "../kit/log/log.ts";

/** When a process counts as hanging. */
export interface LivenessLimits {
  /** Time in milliseconds between the end of a probe and the next one. */
  readonly probeIntervalMs: number;
  /** Longest time in milliseconds until a probe is answered; after it the probe is missed. */
  readonly probeLimitMs: number;
  /** Probes missed in a row after which the process counts as hanging. */
  readonly missesMax: number;
}

export const defaultLivenessLimits: LivenessLimits = { probeIntervalMs: 3_000, probeLimitMs: 5_000, missesMax: 3 };

/** A process that is probed. */
export interface LivenessOptions {
  readonly name: string;
  /** Resolves when the process answers. */
  readonly probe: (limitMs: number) => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits: LivenessLimits;
  /** Called once, with the last miss. */
  readonly onHanging: (reason: unknown) => void;
}

/** Probes a process until it hangs or the returned function is called. */
export const watchLiveness = (options: LivenessOptions): (() => void) => {
  const { name, clock, log, limits } = options;
  let misses = 0;
  let isOver = false;
  let cancel: () => void;
  const onMiss = (reason: unknown): void => {
    misses += 1;
    log.warn({ process: name, misses, err: reason }, "process missed a probe");
    if (misses < limits.missesMax) return;
    isOver = true;
    options.onHanging(reason);
  };
  const probe = async (): Promise<void> => {
    const startedMs = clock.now();
    try {
      await withinLimit(clock, limits.probeLimitMs, options.probe);
      misses = 0;
    } catch (error) {
      // A launcher that was itself not running does not know what the process did meanwhile.
      const wasAsleep = clock.now() - startedMs > limits.probeLimitMs + limits.probeIntervalMs;
      if (!isOver && !wasAsleep) onMiss(error);
    }
    if (!isOver) plan();
  };
  const plan = (): void => {
    cancel = clock.schedule(clock.now() + limits.probeIntervalMs, () => void probe());
  };
  plan();
  return () => {
    isOver = true;
    cancel();
  };
};

const withinLimit = async (clock: Clock, limitMs: number, work: (limitMs: number) => Promise<void>): Promise<void> => {
  const late = Promise.withResolvers<never>();
  const cancel = clock.schedule(clock.now() + limitMs, () => late.reject(new Error(`no answer within ${limitMs} ms`)));
  try {
    await Promise.race([work(limitMs), late.promise]);
  } finally {
    cancel();
  }
};
