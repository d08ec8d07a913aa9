import { PerformanceObserver } from "node:perf_hooks";
import { setImmediate as nextTurn } from "node:timers/promises";

/** How long work held the event loop, in milliseconds. */
export interface Turns {
  /** The CPU of the thread in all turns. */
  readonly all: number;
  /** The CPU of the thread in the longest turn. */
  readonly longest: number;
  /** The same without collections of garbage, which come when the memory is full, in whichever turn that is. */
  readonly longestWork: number;
  /** The time of the longest turn, which on a busy machine includes that of other processes. */
  readonly pause: number;
}

/** Shorter turns are not looked at for collections. */
const shortMs = 5;

/** A part of the time, in milliseconds since the process began. */
interface Span {
  readonly beginMs: number;
  readonly endMs: number;
}

/** Measures turns of the event loop by the CPU of the thread, and by the clock. */
export const turnsOf = async (work: () => Promise<unknown>): Promise<Turns> => {
  const long: (Span & { readonly cpu: number })[] = [];
  const collected: (Span & { readonly ms: number })[] = [];
  const observer = new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries())
      collected.push({ beginMs: startTime, endMs: startTime + duration, ms: duration });
  });
  observer.observe({ entryTypes: ["gc"] });
  let longest = 0;
  let longestShort = 0;
  let all = 0;
  let pause = 0;
  let isWorking = true;
  let before = process.threadCpuUsage();
  let beforeMs = performance.now();
  const look = (): void => {
    const { user, system } = process.threadCpuUsage(before);
    const cpu = (user + system) / 1_000;
    const endMs = performance.now();
    longest = Math.max(longest, cpu);
    if (cpu < shortMs) longestShort = Math.max(longestShort, cpu);
    else long.push({ beginMs: beforeMs, endMs, cpu });
    all += cpu;
    pause = Math.max(pause, endMs - beforeMs);
    before = process.threadCpuUsage();
    beforeMs = performance.now();
    if (isWorking) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isWorking = false;
  look();
  // Collections are told after the turn in which they were.
  await nextTurn();
  await nextTurn();
  observer.disconnect();
  const workOf = ({ beginMs, endMs, cpu }: (typeof long)[number]): number =>
    collected.reduce((left, each) => (each.beginMs >= beginMs && each.endMs <= endMs ? left - each.ms : left), cpu);
  return { all, longest, longestWork: Math.max(longestShort, ...long.map(workOf)), pause };
};

/** For the message of an assertion. */
export const shownTurns = ({ all, longest, longestWork, pause }: Turns): string =>
  `longest turn ${longest.toFixed(1)} (${longestWork.toFixed(1)} without collections) of ${all.toFixed(0)} ms of CPU, longest pause ${pause.toFixed(1)} ms`;
