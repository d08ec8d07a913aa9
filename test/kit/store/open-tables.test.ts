import { randomBytes } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { openStore } from "../../../services/kit/store/store.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { events } from "./tables.ts";

const mebibyte = 1024 * 1024;

/** The tables of a database that this process has in its memory. */
const mappedTables = async (directory: string): Promise<string[]> => {
  const lines = (await readFile("/proc/self/maps", "utf8")).split("\n");
  return lines.filter((line) => line.includes(directory) && line.endsWith(".ldb"));
};

test("of a database with many tables, as many as its bounds allow are in memory, each of the size they name", async () => {
  const directory = await temporaryDirectory();
  const store = await openStore({ directory, sync: false, limits: { tableBytes: mebibyte, openTablesMax: 64 } });
  onTestFinished(() => store.close());
  for (let stream = 0; stream < 100; stream += 1)
    await store.transact((tx) => {
      for (let part = 0; part < 4; part += 1)
        tx.put(events, [`s-${stream}`, part], { value: randomBytes(mebibyte / 4) });
    });
  await store.compact(events, { prefix: [] });
  const names = (await readdir(directory)).filter((name) => name.endsWith(".ldb"));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(directory, name))).size));
  expect(sizes.length).toBeGreaterThan(70);
  expect(Math.max(...sizes)).toBeLessThan(1.5 * mebibyte);

  for (let stream = 0; stream < 100; stream += 1)
    await store.read(async (reader) => {
      for (let part = 0; part < 4; part += 1) await reader.get(events, [`s-${stream}`, part]);
    });
  const mapped = await mappedTables(directory);
  expect(mapped.length).toBeGreaterThan(32);
  expect(mapped.length).toBeLessThanOrEqual(64);
});
