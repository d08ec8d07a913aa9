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
const mostAtOnce = async (run: (steps: Steps<number>) => Promise<number>, count: number, after: number) => {
  let [going, most] = [0, 0];
  const work = function* (piece: number): Steps<number> {
    for (let step = 0; step < 200; step += 1) {
      if (step === after) most = Math.max(most, (going += 1));
      yield;
    }
    going -= 1;
    return piece;
  };
  const results = await Promise.all(Array.from({ length: count }, (_none, piece) => run(work(piece))));
  expect(results).toEqual(Array.from({ length: count }, (_none, piece) => piece));
  return most;
};

test("work has its turns together with all other", async () => {
  passTime();
  expect(await mostAtOnce(runInTurns, 6, 60)).toBe(6);
});

test("of work that may remember much, two pieces go on together that have had fifty turns", async () => {
  passTime();
  expect(await mostAtOnce(runFewInTurns, 6, 40)).toBe(6);
  expect(await mostAtOnce(runFewInTurns, 6, 60)).toBe(2);
});

test("work that throws leaves its place", async () => {
  passTime();
  const failing = function* (): Steps<number> {
    for (let step = 0; step < 100; step += 1) yield;
    throw new Error("broken");
  };
  for (let count = 0; count < 3; count += 1) await expect(runFewInTurns(failing())).rejects.toThrow("broken");
  expect(await mostAtOnce(runFewInTurns, 3, 60)).toBe(2);
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
  const works = Array.from({ length: 4 }, () => runFewInTurns(endless(), givenUp));
  const ends = await Promise.allSettled(works);
  expect(ends).toEqual(Array.from(works, () => ({ status: "rejected", reason: gone })));
  expect(steps).toBeLessThan(310);
  expect(await mostAtOnce(runFewInTurns, 3, 60)).toBe(2);
});

test("all steps may be done at once", () => {
  const work = function* (): Steps<string> {
    yield;
    yield;
    return "done";
  };
  expect(runAtOnce(work())).toBe("done");
});
