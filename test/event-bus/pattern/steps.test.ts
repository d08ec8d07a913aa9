import { expect, onTestFinished, test, vi } from "vitest";

import type { Steps } from "../../../services/event-bus/pattern/steps.ts";
import { runAtOnce, runFewInTurns, runInTurns } from "../../../services/event-bus/pattern/steps.ts";

/** Each look at the clock takes a turn. */
const passTime = (): void => {
  let nowMs = 0;
  const now = vi.spyOn(performance, "now").mockImplementation(() => (nowMs += 10));
  onTestFinished(() => now.mockRestore());
};

/** Runs so many pieces of work of 200 steps together; returns how many had begun and not ended at once, at most. */
const mostAtOnce = async (
  run: (steps: Steps<number>, piece: number) => Promise<number>,
  count: number,
  after: number,
): Promise<number> => {
  let [going, most] = [0, 0];
  const work = function* (piece: number): Steps<number> {
    for (let step = 0; step < 200; step += 1) {
      if (step === after) most = Math.max(most, (going += 1));
      yield;
    }
    going -= 1;
    return piece;
  };
  const results = await Promise.all(Array.from({ length: count }, (_none, piece) => run(work(piece), piece)));
  expect(results).toEqual(Array.from({ length: count }, (_none, piece) => piece));
  return most;
};

test("work has its turns together with all other", async () => {
  passTime();
  expect(await mostAtOnce(runInTurns, 6, 60)).toBe(6);
});

const ofOne = (steps: Steps<number>) => runFewInTurns(steps, { owner: "a" });
const ofMany = (steps: Steps<number>, piece: number) => runFewInTurns(steps, { owner: `${piece % 4}` });

test("of work that may remember much, pieces of three owners go on together after fifty turns", async () => {
  passTime();
  expect(await mostAtOnce(ofMany, 8, 40)).toBe(8);
  expect(await mostAtOnce(ofMany, 8, 60)).toBe(3);
});

test("of one owner, one piece goes on after fifty turns, and another owner's has its place at once", async () => {
  passTime();
  expect(await mostAtOnce(ofOne, 6, 40)).toBe(6);
  expect(await mostAtOnce(ofOne, 6, 60)).toBe(1);
  const ends: string[] = [];
  const work = function* (): Steps<void> {
    for (let step = 0; step < 200; step += 1) yield;
  };
  const run = async (owner: string): Promise<void> => {
    await runFewInTurns(work(), { owner });
    ends.push(owner);
  };
  await Promise.all(["a", "a", "a", "a", "a", "b"].map(run));
  // It goes on beside the first one.
  expect(ends.indexOf("b")).toBeLessThan(2);
});

test("work that throws leaves its place", async () => {
  passTime();
  const failing = function* (): Steps<number> {
    for (let step = 0; step < 100; step += 1) yield;
    throw new Error("broken");
  };
  for (let count = 0; count < 3; count += 1) await expect(ofOne(failing())).rejects.toThrow("broken");
  expect(await mostAtOnce(ofOne, 3, 60)).toBe(1);
});

test("work of a call that was given up ends with its reason, and leaves its place", async () => {
  passTime();
  const gone = new Error("gone");
  let [steps, isGone] = [0, false];
  const endless = function* (): Steps<number> {
    for (;;) {
      steps += 1;
      isGone = steps > 300;
      yield;
    }
  };
  const givenUp = () => (isGone ? gone : undefined);
  const works = Array.from({ length: 4 }, () => runFewInTurns(endless(), { owner: "a", givenUp }));
  const ends = await Promise.allSettled(works);
  expect(ends).toEqual(Array.from(works, () => ({ status: "rejected", reason: gone })));
  expect(steps).toBeLessThan(310);
  expect(await mostAtOnce(ofOne, 3, 60)).toBe(1);
});

test("all steps may be done at once", () => {
  const work = function* (): Steps<string> {
    yield;
    yield;
    return "done";
  };
  expect(runAtOnce(work())).toBe("done");
});
