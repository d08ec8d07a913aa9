import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";

import { Level } from "level";
import { describe, expect, it, onTestFinished } from "vitest";

import { readDurable } from "../../../services/kit/store/durable-file.ts";
import { StoreCorruptionError } from "../../../services/kit/store/errors.ts";
import type { Store } from "../../../services/kit/store/store.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { keyBytes } from "../../../services/kit/store/table.ts";
import { openFilesBelow } from "../../support/open-files.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { isolationContract } from "./isolation-contract.ts";
import type { OpenEmptyStore } from "./store-contract.ts";
import { storeContract } from "./store-contract.ts";
import { counters, events, newest, notes } from "./tables.ts";

// Whether the disk is waited for changes nothing that the contract suite looks at; the tests below wait for it.
const openEmpty: OpenEmptyStore = async (limits) =>
  openStore({ directory: await temporaryDirectory(), sync: false, limits });
storeContract("LevelDB", openEmpty);
isolationContract("LevelDB", openEmpty);
storeContract("LevelDB whose keys are known", async (limits) => {
  const store = await openEmpty(limits);
  for (const table of [notes, counters, events, newest]) await store.knowKeys(table);
  return store;
});

const openFor = async (directory: string): Promise<Store> => {
  const store = await openStore({ directory });
  onTestFinished(() => store.close());
  return store;
};

/** Changes the bytes of one stored record behind the store's back. */
const damage = async (directory: string, key: Uint8Array, change: (record: Buffer) => Buffer): Promise<void> => {
  const database = new Level<Buffer, Buffer>(directory, { keyEncoding: "buffer", valueEncoding: "buffer" });
  const record = await database.get(Buffer.from(key));
  await database.put(Buffer.from(key), change(record));
  await database.close();
};

describe("a store on disk", () => {
  it("has nothing open after it was closed, and the number of its last commit in its durable file", async () => {
    const directory = await temporaryDirectory();
    const store = await openStore({ directory });
    for (const text of ["eggs", "milk"]) await store.transact((tx) => tx.put(notes, ["alice", text], { value: text }));
    await store.close();
    expect(openFilesBelow(directory)).toEqual([]);
    expect(await readDurable(directory)).toMatchObject({ number: 2 });
  });

  it("is free for the next start when one failed after its database was opened", async () => {
    const directory = await temporaryDirectory();
    await mkdir(join(directory, "durable.new"));
    await expect(openStore({ directory })).rejects.toMatchObject({ code: "ERR_FS_EISDIR" });
    expect(openFilesBelow(directory)).toEqual([]);
    await rm(join(directory, "durable.new"), { recursive: true });
    const store = await openFor(directory);
    expect(await store.read((reader) => reader.list(notes, { limit: 1 }))).toEqual([]);
  });

  it("has all that was answered when it is opened again", async () => {
    const directory = await temporaryDirectory();
    const first = await openStore({ directory });
    await Promise.all(
      Array.from({ length: 100 }, (_, sequence) =>
        first.transact((tx) => tx.put(events, ["s", sequence], { value: new Uint8Array(sequence) })),
      ),
    );
    await first.transact((tx) => tx.deleteRange(events, { prefix: ["s"], from: ["s", 90] }));
    await first.close();
    const second = await openFor(directory);
    const found = await second.read((reader) => reader.list(events, { limit: 1000 }));
    expect(found.map(({ key, value }) => [key[1], value.value.byteLength])).toEqual(
      Array.from({ length: 90 }, (_, sequence) => [sequence, sequence]),
    );
  });

  it("is opened by one at a time", async () => {
    const directory = await temporaryDirectory();
    await openFor(directory);
    await expect(openStore({ directory })).rejects.toThrow("Database failed to open");
  });

  it("writes once for all who wait at the same time", async () => {
    const store = await openFor(await temporaryDirectory());
    await Promise.all(
      Array.from({ length: 64 }, (_, sequence) => store.transact((tx) => tx.put(events, ["s", sequence], {}))),
    );
    expect(store.stats()).toMatchObject({ groups: 1, commits: 64, conflicts: 0, waiting: 0, transactions: 0 });
  });

  it("writes nothing for transactions that changed nothing", async () => {
    const store = await openFor(await temporaryDirectory());
    await store.transact((tx) => tx.get(notes, ["a", "1"]));
    expect(store.stats()).toMatchObject({ groups: 0, commits: 0 });
  });
});

/** A store with one whole record and one that was changed. */
const damaged = async (change: (record: Buffer) => Buffer): Promise<Store> => {
  const directory = await temporaryDirectory();
  const store = await openStore({ directory });
  await store.transact((tx) => {
    tx.put(notes, ["a", "1"], { value: "whole" });
    tx.put(notes, ["a", "2"], { value: "to be damaged" });
  });
  await store.close();
  await damage(directory, keyBytes(notes, ["a", "2"]), change);
  return openFor(directory);
};

describe("a damaged record", () => {
  it.each([
    ["its version", 0],
    ["its checksum", 3],
    ["its payload", 9],
  ])("is an error, never wrong data, when %s is changed", async (_what, at) => {
    const store = await damaged((record) => {
      record[at] = (record[at] as number) ^ 0x10;
      return record;
    });
    await expect(store.read((reader) => reader.get(notes, ["a", "2"]))).rejects.toThrow(StoreCorruptionError);
    await expect(store.read((reader) => reader.list(notes, { limit: 10 }))).rejects.toThrow(StoreCorruptionError);
    const bytes = store.read((reader) => reader.listStored(notes, { limit: 10 }, (_key, record) => record.bytes));
    await expect(bytes).rejects.toThrow(StoreCorruptionError);
    await expect(store.transact((tx) => tx.get(notes, ["a", "2"]))).rejects.toThrow(StoreCorruptionError);
    await expect(store.knowKeys(notes)).rejects.toThrow(StoreCorruptionError);
    await expect(store.read((reader) => reader.get(notes, ["a", "2"]))).rejects.toThrow(StoreCorruptionError);
    expect((await store.read((reader) => reader.get(notes, ["a", "1"])))?.value).toBe("whole");
  });

  it("names its key", async () => {
    const store = await damaged((record) => record.subarray(0, 7));
    await expect(store.read((reader) => reader.get(notes, ["a", "2"]))).rejects.toThrow(
      "the record at key 000a61003200 is damaged: its checksum does not hold",
    );
  });

  it("can be replaced without being read", async () => {
    const store = await damaged((record) => record.subarray(0, 3));
    await store.transact((tx) => tx.put(notes, ["a", "2"], { value: "whole again" }));
    expect((await store.read((reader) => reader.get(notes, ["a", "2"])))?.value).toBe("whole again");
  });

  it("is told apart from a record of another kind", async () => {
    const store = await openFor(await temporaryDirectory());
    await store.transact((tx) => tx.put(counters, ["a"], { value: 300n }));
    const misread = { ...notes, number: counters.number, parts: counters.parts };
    await expect(store.read((reader) => reader.list(misread, { limit: 1 }))).rejects.toThrow(
      "the record at key 000b6100 is damaged: it is not a google.protobuf.StringValue",
    );
    const listed = await store.read((reader) => reader.listStored(misread, { limit: 1 }, (_key, record) => record));
    const got = await store.read((reader) => reader.getStored(misread, ["a"] as never));
    for (const record of [...listed, got])
      expect(() => record?.decode()).toThrow("the record at key 000b6100 is damaged: it is not a google");
  });
});
