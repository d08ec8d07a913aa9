import { setImmediate } from "node:timers/promises";

import { expect, test } from "vitest";

import { ReadingTurns } from "../../../gateway/http/reading-turns.ts";

const kibibyte = 1_024;

/** Bodies that each read pieces whenever they may, until all have read so many; notes who read in which turn. */
const readAll = async (bodies: readonly string[], pieces: number, pieceBytes: number): Promise<string[]> => {
  const turns = new ReadingTurns();
  const read: string[] = [];
  let now: string[] = [];
  const left = new Map(bodies.map((body) => [body, pieces]));
  const readOn = (body: string): void => {
    for (let open = left.get(body)!; open > 0; open -= 1) {
      now.push(body);
      left.set(body, open - 1);
      if (turns.take(pieceBytes, () => readOn(body))) return;
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

test("a body alone reads 64 KiB in a turn of the event loop, and then goes on", async () => {
  expect(await readAll(["a"], 3, 64 * kibibyte)).toEqual(["a", "a", "a"]);
  expect(await readAll(["a"], 10, 16 * kibibyte)).toEqual(["aaaa", "aaaa", "aa"]);
  expect(await readAll(["a"], 3, 64 * kibibyte - 1)).toEqual(["aa", "a"]);
});

test("bodies that had to wait go on in their order, each in a turn of its own", async () => {
  // What arrives first is read, however many they are.
  expect(await readAll(["a", "b", "c"], 3, 64 * kibibyte)).toEqual(["abc", "a", "b", "c", "a", "b", "c"]);
  expect(await readAll(["a", "b", "c"], 3, 32 * kibibyte)).toEqual(["aabc", "a", "bb", "cc"]);
});
