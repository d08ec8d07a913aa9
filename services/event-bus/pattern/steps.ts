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

/** For whom work is done. */
export interface Asker {
  /** Whoever shares its places, as an account. */
  readonly owner: string;
  /** Why nobody waits for the work any more; undefined while somebody does. Unset: somebody always does. */
  readonly givenUp?: (() => Error | undefined) | undefined;
}

/**
 * The same for steps that may remember much until their end: of those that have had many turns a few go on together,
 * one of each owner, and none once it was given up. Rejects then with the reason.
 */
export const runFewInTurns = async <T>(steps: Steps<T>, { owner, givenUp }: Asker): Promise<T> => {
  const turn = new Turn(turnMs);
  let turns = 0;
  try {
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      if (!turn.isOver) continue;
      turns += 1;
      if (turns === manyTurns) await takePlace(owner);
      await turn.next();
      const reason = givenUp?.();
      if (reason !== undefined) throw reason;
    }
  } finally {
    if (turns >= manyTurns) leavePlace(owner);
  }
};

const manyTurns = 50;
/** How many owners' work goes on together after so many turns. */
const togetherMax = 3;
const going = new Set<string>();
/** What waits for a place; as long as the calls that do it. */
const waiting: { readonly owner: string; readonly begin: () => void }[] = [];

const takePlace = async (owner: string): Promise<void> => {
  if (going.size < togetherMax && !going.has(owner)) going.add(owner);
  else await new Promise<void>((begin) => waiting.push({ owner, begin }));
};

/** The place goes to the one that has waited longest, of those whose owners have none. */
const leavePlace = (owner: string): void => {
  going.delete(owner);
  const next = waiting.findIndex((each) => !going.has(each.owner));
  const [begun] = next === -1 ? [] : waiting.splice(next, 1);
  if (begun === undefined) return;
  going.add(begun.owner);
  begun.begin();
};
