import { Turn } from "../../kit/clock/turn.ts";

/** Work in small steps, after each of which it may pause. */
export type Steps<T> = Generator<void, T>;

/** Does all steps at once. */
export const runAtOnce = <T>(steps: Steps<T>): T => {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
};

/** Shorter than other turns, because a step may enlarge a large table, and what is allocated leads to collections. */
const turnMs = 3;

/** Does the steps and lets everything else run after each few milliseconds. */
export const runInTurns = <T>(steps: Steps<T>): Promise<T> => runWith(steps, Infinity, undefined);

/** Tells why nobody waits for some work any more; undefined while somebody does. */
export type GivenUp = () => Error | undefined;

/**
 * The same for steps that may remember much until their end: only a few that have had many turns go on together, and
 * none once it was given up. Rejects then with the reason.
 */
export const runFewInTurns = <T>(steps: Steps<T>, givenUp?: GivenUp): Promise<T> => runWith(steps, manyTurns, givenUp);

const manyTurns = 50;
/** How many of them go on together. */
const togetherMax = 2;
let together = 0;
/** What waits for a place; as long as the calls that do it. */
const waiting: (() => void)[] = [];

const runWith = async <T>(steps: Steps<T>, turnsBefore: number, givenUp: GivenUp | undefined): Promise<T> => {
  const turn = new Turn(turnMs);
  let turns = 0;
  try {
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      if (!turn.isOver) continue;
      turns += 1;
      if (turns === turnsBefore) await takePlace();
      await turn.next();
      const reason = givenUp?.();
      if (reason !== undefined) throw reason;
    }
  } finally {
    if (turns >= turnsBefore) leavePlace();
  }
};

const takePlace = async (): Promise<void> => {
  if (together < togetherMax) together += 1;
  else await new Promise<void>((resolve) => waiting.push(resolve));
};

/** The place goes to the one that has waited longest. */
const leavePlace = (): void => {
  const next = waiting.shift();
  if (next === undefined) together -= 1;
  else next();
};
