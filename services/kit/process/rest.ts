import { getHeapStatistics } from "node:v8";

import type { Clock } from "../clock/clock.ts";
import { systemClock } from "../clock/clock.ts";
import type { Logger } from "../log/log.ts";
import { trimAllocator } from "./allocator.ts";
import { collector } from "./collector.ts";

/** What shows whether a process rests, and what it does then. */
export interface RestOptions {
  readonly clock: Clock;
  /** The processor time that the process has used, in milliseconds. */
  readonly usedMs: () => number;
  /** What its heap has reserved, in use or not. */
  readonly heapBytes: () => number;
  /** Gives memory back. */
  readonly collect: () => void;
}

/** How often it is looked at, in milliseconds. */
const intervalMs = 2_000;
/** Of an interval: from this much processor time on the process works, below the other it rests. */
const workingMs = 100;
const restingMs = 40;
/** So many intervals in a row are a rest after the start, which works for so many intervals at most. */
const intervalsAfterStart = 4;
const intervalsOfStartMax = 5;
/** And so many after work: a collection ends optimised code, so it is not for pauses between bursts of requests. */
const intervalsAfterWork = 30;

/** A heap that grows by so much at rest has garbage of small works, such as the launcher's probes. */
const grownBytes = 4 * 1024 * 1024;

/**
 * Gives memory back whenever a process comes to rest after its start or after work, once each time: 8 s after its
 * start, a minute after work, and when its heap has grown by 4 MiB while it rested. V8 itself keeps what it reserved,
 * up to 100 MiB for new objects alone, until much more is allocated. Returns the function that ends this.
 */
export const collectAtRest = ({ clock, usedMs, heapBytes, collect }: RestOptions): (() => void) => {
  let hasWorked = true;
  let worked = 0;
  let restingIntervals = intervalsAfterStart;
  let rested = 0;
  let knownMs = usedMs();
  /** What the heap had reserved after the last time; undefined: it is seen at the next look. */
  let leftBytes: number | undefined;
  let cancel: () => void;
  const plan = (): void => {
    cancel = clock.schedule(clock.now() + intervalMs, look);
  };
  const look = (): void => {
    const sinceMs = usedMs() - knownMs;
    if (sinceMs >= workingMs) {
      hasWorked = true;
      worked += 1;
      if (worked > intervalsOfStartMax) restingIntervals = intervalsAfterWork;
    }
    rested = sinceMs < restingMs ? rested + 1 : 0;
    leftBytes ??= heapBytes();
    if (rested >= restingIntervals && (hasWorked || heapBytes() >= leftBytes + grownBytes)) {
      collect();
      hasWorked = false;
      rested = 0;
      leftBytes = undefined;
      restingIntervals = intervalsAfterWork;
    }
    knownMs = usedMs();
    plan();
  };
  plan();
  return () => cancel();
};

/**
 * A full collection of this process's garbage that returns the memory to the system. It takes up to 0.1 s. It also ends
 * optimised code that nothing uses at rest, so the next 1,000 requests cost two to three times as much. No collection
 * returns the memory and keeps the code (services/decisions/0063).
 */
export const collectGarbage = (): void => collector()({ type: "major", execution: "sync", flavor: "last-resort" });

/**
 * From now on, whenever this process comes to rest, collects its garbage, has written what it gathers in memory, and
 * then returns what the allocator holds. `flush` writes that; unset: nothing is gathered.
 */
export const giveMemoryBackAtRest = (log: Logger, flush?: () => Promise<void>): void => {
  const giveBack = async (): Promise<void> => {
    collectGarbage();
    await flush?.();
    await trimAllocator();
  };
  collectAtRest({
    clock: systemClock,
    usedMs: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1_000;
    },
    heapBytes: () => getHeapStatistics().total_heap_size,
    collect: () =>
      void giveBack().catch((error: unknown) =>
        log.error({ err: error }, "what is gathered in memory could not be written"),
      ),
  });
};
