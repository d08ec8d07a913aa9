import { longBytesMax } from "./random-bytes.ts";
import type { FuzzTarget } from "./target.ts";

/** How much time of the processor an input may take: what else the machine does meanwhile must not count. */
const msMax = 40;
/** The same for one of 64 KiB, at which a parser whose time grows with the square of the length takes seconds. */
const longMsMax = 200;
const tries = 5;

/** The input took longer than it may. */
export class SlowInputError extends Error {
  override readonly name = "SlowInputError";
}

/** Runs one input. Throws if an invariant does not hold or if it takes too long. */
export const runWithin = async (target: FuzzTarget, input: Buffer): Promise<void> => {
  const limitMs = msMax + ((longMsMax - msMax) * input.length) / longBytesMax;
  const startedMs = performance.now();
  const running = target.run(input);
  // Most targets have ended already, and do not cost a turn of the event loop.
  if (running !== undefined) await running;
  // The time that has passed is quicker to measure than that of the processor, and never the shorter one.
  if (performance.now() - startedMs <= limitMs) return;
  // The least of a few tries counts, because some of them compile or collect garbage.
  let leastMs = Infinity;
  for (let left = tries; left > 0 && leastMs > limitMs; left -= 1) {
    const before = process.threadCpuUsage();
    await target.run(input);
    const { user, system } = process.threadCpuUsage(before);
    leastMs = Math.min(leastMs, (user + system) / 1_000);
  }
  if (leastMs > limitMs) throw new SlowInputError(`${input.length} bytes take ${Math.round(leastMs)} ms`);
};
