/** How long work held the event loop, in milliseconds. */
export interface Turns {
  /** The CPU of the thread in all turns. */
  readonly all: number;
  /** The CPU of the thread in the longest turn. */
  readonly longest: number;
  /** The time of the longest turn, which on a busy machine includes that of other processes. */
  readonly pause: number;
}

/** Measures turns of the event loop by the CPU of the thread, and by the clock. */
export const turnsOf = async (work: () => Promise<unknown>): Promise<Turns> => {
  let longest = 0;
  let all = 0;
  let pause = 0;
  let isWorking = true;
  let before = process.threadCpuUsage();
  let beforeMs = performance.now();
  const look = (): void => {
    const { user, system } = process.threadCpuUsage(before);
    const turn = (user + system) / 1_000;
    longest = Math.max(longest, turn);
    all += turn;
    pause = Math.max(pause, performance.now() - beforeMs);
    before = process.threadCpuUsage();
    beforeMs = performance.now();
    if (isWorking) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isWorking = false;
  look();
  return { all, longest, pause };
};

/** For the message of an assertion. */
export const shownTurns = ({ all, longest, pause }: Turns): string =>
  `longest turn ${longest.toFixed(1)} of ${all.toFixed(0)} ms of CPU, longest pause ${pause.toFixed(1)} ms`;
