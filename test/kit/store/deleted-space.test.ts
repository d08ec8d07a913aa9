import { randomBytes } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

import { Level } from "level";
import { expect, onTestFinished, test } from "vitest";

import type { ByteString } from "../../../services/kit/store/byte-string.ts";
import { byteStringOf } from "../../../services/kit/store/byte-string.ts";
import type { CompactedDatabase } from "../../../services/kit/store/deleted-space.ts";
import { DeletedSpace } from "../../../services/kit/store/deleted-space.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { notes } from "./tables.ts";

const mebibyte = 1024 * 1024;
const bounds = { low: "a", high: "b", hasTextKeys: true };

const keyOf = (number: number) => ["alice", number.toString().padStart(6, "0")] as const;
const value = randomBytes(mebibyte / 2).toString("hex");
/** More than waits in memory: what is deleted there already is never in a file. */
const kept = 48;
/** More than any run needs. */
const recordsMax = 3_000;

/** Adds records as long as a condition holds, which is given how many there are. Returns that. */
const addWhile = async (
  holds: (count: number) => Promise<boolean>,
  add: (number: number) => Promise<void>,
  from = 0,
): Promise<number> => {
  let count = from;
  while (await holds(count)) {
    expect(count).toBeLessThan(recordsMax);
    await add(count);
    count += 1;
  }
  return count;
};

test("the disk space of records that were deleted in their order is given back", async () => {
  const level = new Level(await temporaryDirectory(), { compression: false });
  await level.open();
  onTestFinished(() => level.close());
  const database = level as unknown as CompactedDatabase;
  const name = (number: number) => keyOf(number).join("/");
  const range = (count: number) => [Buffer.from(name(0)), Buffer.from(name(count - kept))] as const;
  let merged = 0;
  const space = new DeletedSpace({
    approximateSize: (low, high) => database.approximateSize(low, high),
    async compactRange(low, high) {
      merged += 1;
      await database.compactRange(low, high);
    },
  });
  const add = async (number: number): Promise<void> => {
    await level.put(name(number), value);
    if (number >= kept) await level.del(name(number - kept));
  };
  const isLittle = async (count: number) =>
    count <= kept || (await database.approximateSize(...range(count))) < 80 * mebibyte;
  let count = 0;
  // LevelDB may just then merge by itself what is looked at.
  while (merged === 0) {
    count = await addWhile(isLittle, add, count);
    const [low, high] = range(count).map(byteStringOf) as [ByteString, ByteString];
    await space.reclaim({ low, high, hasTextKeys: true });
  }
  expect(await database.approximateSize(...range(count))).toBeLessThan(16 * mebibyte);
});

test("a store whose records are deleted in their order stays small and loses none that is there", async () => {
  const directory = await temporaryDirectory();
  const store = await openStore({ directory, sync: false });
  onTestFinished(() => store.close());
  const diskBytes = async (): Promise<number> => {
    const names = (await readdir(directory)).filter((name) => name.endsWith(".ldb"));
    // LevelDB may delete one meanwhile.
    const sizes = await Promise.all(names.map((name) => stat(join(directory, name)).catch(() => ({ size: 0 }))));
    return sizes.reduce((sum, { size }) => sum + size, 0);
  };
  const count = await addWhile(
    async () => (await diskBytes()) < 160 * mebibyte,
    (number) =>
      store.transact((tx) => {
        tx.put(notes, keyOf(number), { value });
        if (number >= kept) tx.delete(notes, keyOf(number - kept));
      }),
  );
  await store.reclaim(notes, { prefix: ["alice"], to: keyOf(count - kept) });
  // What is kept, what may be deleted without being merged, and a table at each end.
  expect(await diskBytes()).toBeLessThan((kept + 64 + 2 * 8) * mebibyte);
  const left = await store.read((reader) => reader.list(notes, { prefix: ["alice"], limit: 100 }));
  const names = Array.from({ length: kept }, (_none, index) => keyOf(count - kept + index));
  expect(left.map(({ key }) => key)).toEqual(names);
});

/** A database whose range has these sizes, one after the other, each time that it is asked for. */
const databaseOf = (...mebibytes: number[]) => {
  const merged: string[] = [];
  return {
    merged,
    approximateSize: async () => (mebibytes.shift() ?? 0) * mebibyte,
    compactRange: async (low: Buffer, high: Buffer) => void merged.push(`${low.toString()}-${high.toString()}`),
  };
};

test.each([
  // sizes that the database answers, merges of four looks at the range
  ["has little", [63, 63, 63, 63], 0],
  ["has much", [64, 0], 1],
  ["has much that is still needed", [100, 90, 243, 243, 243], 1],
  ["has three times what is needed", [100, 90, 244, 90], 2],
] as const)("a range that %s is merged as often as that pays", async (_what, sizes, count) => {
  const database = databaseOf(...sizes);
  const space = new DeletedSpace(database);
  for (let look = 0; look < 4; look += 1) await space.reclaim(bounds);
  expect(database.merged).toEqual(Array.from({ length: count }, () => "a-b"));
});

test("a range without keys is not looked at", async () => {
  const database = databaseOf(100);
  await new DeletedSpace(database).reclaim({ low: "b", high: "b", hasTextKeys: true });
  expect(database.merged).toEqual([]);
});
