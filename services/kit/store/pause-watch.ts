/** Notices that the process did not run for a while: it was stopped, or something blocked it. */
export interface PauseWatch {
  /** True in a pause that has not been noticed yet, and for a moment after one. */
  readonly isJustOver: boolean;
  stop(): void;
}

const beatMs = 500;
/** So long a gap between two beats is a pause. Callers give up after several seconds. */
const pauseMsMin = 2_000;
/** How long after a pause connections may still have to be read. */
const aftermathMs = 500;

/** Watches the process until it is stopped. It does not keep the process alive. */
export const watchPauses = (now: () => number = () => performance.now()): PauseWatch => {
  let beatAtMs = now();
  let overAtMs = -Infinity;
  const note = (): void => {
    const nowMs = now();
    if (nowMs - beatAtMs >= pauseMsMin) overAtMs = nowMs;
    beatAtMs = nowMs;
  };
  const timer = setInterval(note, beatMs);
  timer.unref();
  return {
    get isJustOver() {
      const nowMs = now();
      return nowMs - beatAtMs >= pauseMsMin || nowMs - overAtMs < aftermathMs;
    },
    stop: () => clearInterval(timer),
  };
};

/** Turns of the event loop in which data, its end and the closing of a connection are read one after another. */
const turns = 8;

/**
 * Resolves when connections that ended during a pause are known to have ended. Requests that arrived before their end
 * are read first, and would otherwise be carried out for callers who have left.
 */
export const untilConnectionsAreRead = async (): Promise<void> => {
  for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
};
