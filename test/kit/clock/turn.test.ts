import { expect, test } from "vitest";

import { nextTurn, Turn } from "../../../services/kit/clock/turn.ts";

const occupy = (ms: number): void => {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
};

/** Counts the rounds of the event loop until it is stopped. */
const countRounds = () => {
  let rounds = 0;
  let isCounting = true;
  const next = (): void => {
    rounds += 1;
    if (isCounting) setImmediate(next);
  };
  setImmediate(next);
  return { read: () => rounds, stop: () => (isCounting = false) };
};

test("of those that need whole turns, one goes on in each round of the event loop", async () => {
  const rounds = countRounds();
  const wentOn: [piece: number, round: number][] = [];
  await Promise.all(
    Array.from({ length: 4 }, async (_none, piece) => {
      for (let turn = 0; turn < 2; turn += 1) {
        await nextTurn();
        wentOn.push([piece, rounds.read()]);
        occupy(6);
      }
    }),
  );
  rounds.stop();
  expect(wentOn.map(([piece]) => piece)).toEqual([0, 1, 2, 3, 0, 1, 2, 3]);
  expect(new Set(wentOn.map(([, round]) => round)).size).toBe(8);
});

test("those that need little go on in the same round", async () => {
  const rounds = countRounds();
  const wentOn = await Promise.all(
    Array.from({ length: 100 }, async () => {
      await nextTurn();
      return rounds.read();
    }),
  );
  rounds.stop();
  // A machine that pauses in between lets the rest go on in the next rounds.
  expect(new Set(wentOn).size).toBeLessThan(10);
});

test("a turn is over after its time, and begins again with the next one", async () => {
  const turn = new Turn(2);
  expect(turn.isOver).toBe(false);
  occupy(3);
  expect(turn.isOver).toBe(true);
  await turn.next();
  expect(turn.isOver).toBe(false);
});
