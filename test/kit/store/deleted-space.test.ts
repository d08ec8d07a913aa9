import { randomBytes } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { DeletedSpace } from "../../../services/kit/store/deleted-space.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { notes } from "./tables.ts";

const mebibyte = 1024 * 1024;
const bounds = { low: "a", high: "b", hasTextKeys: true };

const keyOf = (number: number) => ["alice", number.toString().padStart(6, "0")] as const;

test("the disk space of records that were deleted in their order is given back, and none that is there is lost", async () => {
  const directory = await temporaryDirectory();
  const store = await openStore({ directory, sync: false });
  onTestFinished(() => store.close());
  const diskBytes = async (): Promise<number> => {
    const names = (await readdir(directory)).filter((name) => name.endsWith(".ldb"));
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(directory, name))).size));
    return sizes.reduce((sum, size) => sum + size, 0);
  };
  const kept = 48;
  const value = randomBytes(mebibyte / 2).toString("hex");
  for (let number = 0; number < 240; number += 1)
    await store.transact((tx) => {
      tx.put(notes, keyOf(number), { value });
      // More than waits in memory: what is deleted there already is never in a file.
      if (number >= kept) tx.delete(notes, keyOf(number - kept));
    });
  const before = await diskBytes();
  await store.reclaim(notes, { prefix: ["alice"], to: keyOf(240 - kept) });
  expect(before).toBeGreaterThan(80 * mebibyte);
  expect(await diskBytes()).toBeLessThan(60 * mebibyte);
  const left = await store.read((reader) => reader.list(notes, { prefix: ["alice"], limit: 100 }));
  expect(left.map(({ key }) => key)).toEqual(Array.from({ length: kept }, (_none, index) => keyOf(240 - kept + index)));
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
