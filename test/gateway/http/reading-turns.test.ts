import { setImmediate } from "node:timers/promises";

import { expect, test } from "vitest";

import { ReadingTurns } from "../../../gateway/http/reading-turns.ts";

const kibibyte = 1_024;

/** Bodies that each read 64 KiB whenever they may, until all have read so many pieces; notes who read in which turn. */
const readAll = async (turns: ReadingTurns, bodies: readonly string[], pieces: number): Promise<string[]> => {
  const read: string[] = [];
  let now: string[] = [];
  const left = new Map(bodies.map((body) => [body, pieces]));
  const readOn = (body: string): void => {
    for (let open = left.get(body)!; open > 0; open -= 1) {
      now.push(body);
      left.set(body, open - 1);
      if (turns.take(64 * kibibyte, () => readOn(body))) return;
    }
  };
  for (const body of bodies) readOn(body);
  while (now.length > 0) {
    read.push(now.join(""));
    now = [];
    await setImmediate();
  }
  return read;
};

test("a body alone reads 512 KiB in a turn of the event loop, and then goes on", async () => {
  expect(await readAll(new ReadingTurns(), ["a"], 20)).toEqual(["aaaaaaaa", "aaaaaaaa", "aaaa"]);
});

test("bodies that had to wait go on in their order, each with a piece at first", async () => {
  const turns = new ReadingTurns();
  expect(await readAll(turns, "abcdefghijkl".split(""), 2)).toEqual([
    // What arrives first is read, however many they are.
    "aabbccddefghijkl",
    // The body d waited as well, and had its turn.
    "efghijk",
    "l",
  ]);
});

test("while connections arrive, all bodies together read 64 KiB in a turn", async () => {
  const turns = new ReadingTurns();
  turns.arrive();
  expect(await readAll(turns, ["a", "b"], 2)).toEqual(["ab", "a", "b"]);
});

test("the turn after one in which a connection arrived is short, and then bodies read as much as before", async () => {
  const turns = new ReadingTurns();
  turns.arrive();
  await setImmediate();
  expect(await readAll(turns, ["a"], 8)).toEqual(["a", "aaaaaaa"]);
});
