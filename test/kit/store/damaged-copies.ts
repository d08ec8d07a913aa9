import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { openStore } from "../../../services/kit/store/store.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { seededRandom } from "./seeded-random.ts";
import { events } from "./tables.ts";

/*
 * A database with a file of every kind, and copies of it with one flipped bit. Three sessions write it: LevelDB moves
 * what the first two wrote into tables, merges some of them, and leaves what the third wrote in its log.
 */

/** The records that a database holds, by `stream/sequence`. */
export type Expected = ReadonlyMap<string, Buffer>;

const streams = ["a", "b", "c", "d"] as const;
const sequencesMax = 60;

/** Writes the database and closes it; returns what it holds. */
export const writeSample = async (directory: string): Promise<Expected> => {
  const random = seededRandom(17);
  const expected = new Map<string, Buffer>();
  for (let session = 0; session < 3; session += 1) {
    const store = await openStore({ directory });
    for (let each = 0; each < 60; each += 1) {
      const stream = streams[random.below(streams.length)] as string;
      const sequence = random.below(sequencesMax);
      const isDeletion = random.chance(0.15);
      const value = sampleValue(random, each);
      await store.transact((tx) => {
        if (isDeletion) tx.delete(events, [stream, sequence]);
        else tx.put(events, [stream, sequence], { value });
        tx.put(events, [`${stream}-copy`, sequence], { value });
      });
      if (isDeletion) expected.delete(`${stream}/${sequence}`);
      else expected.set(`${stream}/${sequence}`, value);
      expected.set(`${stream}-copy/${sequence}`, value);
    }
    if (session === 1) await store.compact(events, { prefix: ["b"] });
    await store.close();
  }
  return expected;
};

/** Most are small; a few are larger than a block of the log, and half of them can be compressed. */
const sampleValue = (random: SeededRandom, each: number): Buffer => {
  const value = Buffer.alloc(each % 20 === 19 ? 40_000 : 20 + random.below(400));
  if (each % 2 === 0) return value.fill(each);
  for (let at = 0; at < value.byteLength; at += 1) value[at] = random.below(256);
  return value;
};

/** The kinds of files of a database, and the names that such files have. */
export const fileKinds = {
  log: /^\d+\.log$/,
  table: /^\d+\.ldb$/,
  manifest: /^MANIFEST-\d+$/,
  current: /^CURRENT$/,
  durable: /^durable$/,
} as const;

/** Copies a database with one bit flipped in a file of a kind; returns what was flipped. */
export const copyWithFlip = async (
  from: string,
  to: string,
  kind: keyof typeof fileKinds,
  random: SeededRandom,
): Promise<string> => {
  await rm(to, { recursive: true, force: true });
  await cp(from, to, { recursive: true });
  const names = (await readdir(to)).filter((name) => fileKinds[kind].test(name)).toSorted();
  const files = await Promise.all(names.map((name) => readFile(join(to, name))));
  let at = random.below(files.reduce((sum, file) => sum + file.byteLength, 0));
  const index = files.findIndex((file) => {
    if (at < file.byteLength) return true;
    at -= file.byteLength;
    return false;
  });
  const file = files[index] as Buffer;
  const bit = random.below(8);
  file[at] = (file[at] as number) ^ (1 << bit);
  await writeFile(join(to, names[index] as string), file);
  return `${names[index]} byte ${at} bit ${bit}`;
};

/** How a database that may be damaged behaves: whole, refused when it is opened or read, or wrong without a word. */
export type Behaviour = "whole" | "refused" | "fails to read" | "SILENT";

/** Opens the database and reads it in both ways: every key that may be there, and everything there is. */
export const behaviourOf = async (directory: string, expected: Expected): Promise<Behaviour> => {
  const store = await openStore({ directory, sync: false }).catch(() => undefined);
  if (store === undefined) return "refused";
  try {
    return await store.read(async (reader) => {
      const scanned = new Map<string, Buffer>();
      for await (const { key, value } of reader.range(events, {})) scanned.set(key.join("/"), Buffer.from(value.value));
      let isWhole = isEqual(scanned, expected);
      for (const stream of streams.flatMap((name) => [name, `${name}-copy`]))
        for (let sequence = 0; sequence < sequencesMax; sequence += 1) {
          const found = (await reader.get(events, [stream, sequence]))?.value;
          const wanted = expected.get(`${stream}/${sequence}`);
          isWhole &&= found === undefined ? wanted === undefined : wanted?.equals(found) === true;
        }
      return isWhole ? "whole" : "SILENT";
    });
  } catch {
    return "fails to read";
  } finally {
    await store.close();
  }
};

const isEqual = (found: Expected, expected: Expected): boolean =>
  found.size === expected.size && [...found].every(([key, value]) => expected.get(key)?.equals(value) === true);
