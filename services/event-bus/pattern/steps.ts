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
export const runInTurns = async <T>(steps: Steps<T>): Promise<T> => {
  const turn = new Turn(turnMs);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (turn.isOver) await turn.next();
  }
};
