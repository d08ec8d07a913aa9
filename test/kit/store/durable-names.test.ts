import { readlinkSync, statSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { open } from "node:fs/promises";
import { join } from "node:path";

import { expect, onTestFinished, test, vi } from "vitest";

import { openStore } from "../../../services/kit/store/store.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

/** Notes the directories that are synced from now on. */
const syncedDirectories = async (): Promise<string[]> => {
  const synced: string[] = [];
  const handle = await open("/", "r");
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const sync = vi.spyOn(prototype, "sync").mockImplementation(async function (this: FileHandle) {
    const path = readlinkSync(`/proc/self/fd/${this.fd}`);
    if (statSync(path).isDirectory()) synced.push(path);
  });
  onTestFinished(() => sync.mockRestore());
  return synced;
};

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
