import { join } from "node:path";

import { expect, test } from "vitest";

import { openStore } from "../../../services/kit/store/store.ts";
import { syncedDirectories } from "../../support/synced-directories.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

test("the names of a new database are durable, up to the directory that was there", async () => {
  const base = await temporaryDirectory();
  const synced = await syncedDirectories();
  const directory = join(base, "data/service/leveldb");
  const store = await openStore({ directory });
  await store.close();
  expect(synced.slice(-4)).toEqual([directory, join(base, "data/service"), join(base, "data"), base]);
});

test("the names of a database that was there are durable in its own directory", async () => {
  const directory = join(await temporaryDirectory(), "leveldb");
  await (await openStore({ directory })).close();
  const synced = await syncedDirectories();
  await (await openStore({ directory })).close();
  expect(synced).toEqual([directory]);
});

test("a database whose commits may be lost syncs no names", async () => {
  const synced = await syncedDirectories();
  await (await openStore({ directory: join(await temporaryDirectory(), "leveldb"), sync: false })).close();
  expect(synced).toEqual([]);
});
