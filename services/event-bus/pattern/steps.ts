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

/** Does the steps and lets everything else run after each few milliseconds. */
export const runInTurns = async <T>(steps: Steps<T>): Promise<T> => {
  const turn = new Turn();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (turn.isOver) await turn.next();
  }
};
