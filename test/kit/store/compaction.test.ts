import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { Level } from "level";
import { describe, expect, it, onTestFinished } from "vitest";

import { boundaryRecord } from "../../../services/kit/store/record.ts";
import type { Store } from "../../../services/kit/store/store.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { titles, put } from "./note-keeping.ts";
import { counters, events, notes } from "./tables.ts";

const secret = Buffer.from("b7f4c1d09e5a4c3f8d2e6a1b0c9f7e35", "hex");

const openFor = async (directory: string): Promise<Store> => {
  const store = await openStore({ directory, sync: false });
  onTestFinished(() => store.close());
  return store;
};

/** The files of a database in which the secret can be found; the database may drop one while they are read. */
const filesWithSecret = async (directory: string): Promise<string[]> => {
  const names = await readdir(directory);
  const contents = await Promise.all(names.map((name) => readFile(join(directory, name)).catch(whenDropped)));
  return names.filter((_name, index) => contents[index]?.includes(secret));
};

const whenDropped = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== "ENOENT") throw error;
};

const keep = (store: Store, stream: string, value: Uint8Array): Promise<void> =>
  store.transact((tx) => tx.put(events, [stream, 1], { value }));

const erase = (store: Store, stream: string): Promise<void> =>
  store.transact((tx) => tx.deleteRange(events, { prefix: [stream] }));

describe("compacting", () => {
  it.each([
    ["a record that was never moved out of the log", 0, false],
    ["a record that was moved into a file when the store was opened again", 0, true],
    ["a record that other writes moved into a file", 6, false],
  ])("leaves nothing of %s on the disk once it is deleted", async (_where, megabytesWritten, isReopened) => {
    const directory = await temporaryDirectory();
    const first = await openStore({ directory, sync: false });
    await keep(first, "erased", secret);
    for (let each = 0; each < megabytesWritten; each += 1) await keep(first, `other-${each}`, randomBytes(1024 * 1024));
    if (isReopened) await first.close();
    const store = isReopened ? await openFor(directory) : first;
    onTestFinished(() => store.close());
    await erase(store, "erased");
    expect((await filesWithSecret(directory)).length).toBeGreaterThan(0);
    await store.compact(events, { prefix: ["erased"] });
    expect(await filesWithSecret(directory)).toEqual([]);
    expect(await store.read((reader) => reader.list(events, { limit: 10 }))).toHaveLength(megabytesWritten);
  });

  it.each([
    ["the whole table", {}],
    ["one whole key", { prefix: ["erased", 1] as const }],
  ])("may be asked for %s", async (_what, range) => {
    const directory = await temporaryDirectory();
    const store = await openFor(directory);
    await keep(store, "erased", secret);
    await keep(store, "kept", new Uint8Array([1]));
    await erase(store, "erased");
    await store.compact(events, range);
    expect(await filesWithSecret(directory)).toEqual([]);
    const left = await store.read((reader) => reader.list(events, { limit: 10 }));
    expect(left.map(({ key, value }) => [key, value.value])).toEqual([[["kept", 1], new Uint8Array([1])]]);
  });

  it("waits for those who can still see what was deleted", async () => {
    const directory = await temporaryDirectory();
    const store = await openFor(directory);
    await keep(store, "erased", secret);
    const gate = Promise.withResolvers<void>();
    const reading = store.read(async (reader) => {
      await reader.get(events, ["erased", 1]);
      await gate.promise;
      return (await reader.get(events, ["erased", 1]))?.value;
    });
    await erase(store, "erased");
    let isCompacted = false;
    const compacting = store.compact(events, { prefix: ["erased"] }).then(() => (isCompacted = true));
    for (let written = 0; written < 20; written += 1) await keep(store, "kept", new Uint8Array());
    expect(isCompacted).toBe(false);
    // What somebody can see stays in the tables however often they are merged, so that is not begun either.
    expect((await readdir(directory)).filter((name) => name.endsWith(".ldb"))).toEqual([]);
    gate.resolve();
    expect(Buffer.from((await reading) ?? [])).toEqual(secret);
    await compacting;
    expect(await filesWithSecret(directory)).toEqual([]);
  });

  it("leaves nothing on the disk while others read without a pause", async () => {
    const directory = await temporaryDirectory();
    const store = await openFor(directory);
    await keep(store, "kept", randomBytes(1024));
    const ending = new AbortController();
    const readAllTheWhile = async () => {
      while (!ending.signal.aborted) await store.read((reader) => reader.list(events, { limit: 10 }));
    };
    const reading = Array.from({ length: 8 }, readAllTheWhile);
    const left: string[] = [];
    for (let round = 0; round < 20; round += 1) {
      await keep(store, "erased", secret);
      await erase(store, "erased");
      await store.compact(events, { prefix: ["erased"] });
      left.push(...(await filesWithSecret(directory)));
    }
    ending.abort();
    await Promise.all(reading);
    expect(left).toEqual([]);
  });

  it("leaves nothing of its own for readers, whatever neighbours there are", async () => {
    const store = await openFor(await temporaryDirectory());
    await put(store, ["a", "1", ""], ["b", "1", ""]);
    await store.transact((tx) => tx.put(counters, ["a"], { value: 1n }));
    await store.compact(notes, { prefix: ["a"] });
    await store.compact(notes, {});
    await store.compact(counters, { prefix: ["a"] });
    expect(await store.read((reader) => titles(reader, {}))).toEqual(["a/1", "b/1"]);
    expect(await store.read((reader) => reader.list(counters, { limit: 10 }))).toHaveLength(1);
    expect(await store.read((reader) => reader.list(events, { limit: 10 }))).toEqual([]);
  });

  it("leaves nothing for readers either when it was cut off by a crash", async () => {
    const directory = await temporaryDirectory();
    const first = await openStore({ directory, sync: false });
    await put(first, ["a", "1", ""]);
    await first.close();
    const database = new Level<Buffer, Buffer>(directory, { keyEncoding: "buffer", valueEncoding: "buffer" });
    await database.put(Buffer.from("000a", "hex"), boundaryRecord);
    await database.put(Buffer.from(`000a${"ff".repeat(65)}`, "hex"), boundaryRecord);
    await database.close();
    const store = await openFor(directory);
    expect(await store.read((reader) => titles(reader, {}))).toEqual(["a/1"]);
    expect(await store.read((reader) => titles(reader, { reverse: true }))).toEqual(["a/1"]);
    await store.transact((tx) => tx.deleteRange(notes, {}));
    expect(await store.read((reader) => titles(reader, {}))).toEqual([]);
  });
});
