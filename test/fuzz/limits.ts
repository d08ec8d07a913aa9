import { longBytesMax } from "./random-bytes.ts";
import type { FuzzTarget } from "./target.ts";

/** How long an input may take, whatever the machine does meanwhile: the least of a few tries counts. */
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
  let leastMs = await timeOf(target, input);
  for (let left = tries; left > 0 && leastMs > limitMs; left -= 1)
    leastMs = Math.min(leastMs, await timeOf(target, input));
  if (leastMs > limitMs) throw new SlowInputError(`${input.length} bytes take ${Math.round(leastMs)} ms`);
};

const timeOf = async (target: FuzzTarget, input: Buffer): Promise<number> => {
  const started = performance.now();
  const running = target.run(input);
  if (running !== undefined) await running;
  return performance.now() - started;
};
