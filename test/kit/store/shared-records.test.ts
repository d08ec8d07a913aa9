import { describe, expect, onTestFinished, test } from "vitest";

import type { Reader, Store } from "../../../services/kit/store/store.ts";
import { defaultLimits, openStore, storeOver } from "../../../services/kit/store/store.ts";
import { eventually } from "../../support/eventually.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { countingEngine } from "./counting-engine.ts";
import { memoryEngine } from "./memory-engine.ts";
import { put } from "./note-keeping.ts";
import { events, notes } from "./tables.ts";

const milk = ["alice", "milk"] as const;
const textOf = async (reader: Reader): Promise<string | undefined> => (await reader.getShared(notes, milk))?.value;
const read = (store: Store): Promise<string | undefined> => store.read(textOf);

const openMemory = () => {
  const engine = memoryEngine();
  const store = storeOver(engine, defaultLimits);
  onTestFinished(() => store.close());
  return { engine, store };
};

describe("a shared record", () => {
  test("is decoded once for all readers, until it changes", async () => {
    const { store } = openMemory();
    await put(store, ["alice", "milk", "two litres"], ["alice", "bread", "one"]);
    const get = () => store.read((reader) => reader.getShared(notes, milk));
    const first = await get();
    await put(store, ["alice", "bread", "two"]);
    expect(await get()).toBe(first);
    expect(await store.transact((tx) => tx.getShared(notes, milk))).toBe(first);
    await put(store, ["alice", "milk", "three litres"]);
    expect([first?.value, await read(store)]).toEqual(["two litres", "three litres"]);
  });

  test("cannot be changed", async () => {
    const { store } = openMemory();
    await put(store, ["alice", "milk", "two litres"]);
    const shared = (await store.read((reader) => reader.getShared(notes, milk))) as { value: string };
    expect(() => (shared.value = "none")).toThrow(TypeError);
  });

  test("with bytes is the record, too", async () => {
    const { store } = openMemory();
    await store.transact((tx) => tx.put(events, ["s", 1], { value: new Uint8Array([1, 2]) }));
    const shared = await store.read((reader) => reader.getShared(events, ["s", 1]));
    expect(shared?.value).toEqual(new Uint8Array([1, 2]));
  });

  test("is undefined before it is written and after it is deleted", async () => {
    const { store } = openMemory();
    expect(await read(store)).toBeUndefined();
    await put(store, ["alice", "milk", "two litres"]);
    expect(await read(store)).toBe("two litres");
    await store.transact((tx) => tx.delete(notes, milk));
    expect(await read(store)).toBeUndefined();
  });

  test("that does not exist is looked for once, until another one is written there", async () => {
    const { engine, lookedUp } = countingEngine();
    const store = storeOver(engine, defaultLimits);
    onTestFinished(() => store.close());
    const before = [await read(store), await read(store), store.findKept(notes, milk), lookedUp()];
    await put(store, ["alice", "milk", "two litres"]);
    expect([before, await read(store), lookedUp()]).toEqual([[undefined, undefined, undefined, 1], "two litres", 2]);
  });

  test("shows a transaction its own writes", async () => {
    const { store } = openMemory();
    await put(store, ["alice", "milk", "old"]);
    const seen = await store.transact(async (tx) => {
      tx.put(notes, milk, { value: "new" });
      const own = await textOf(tx);
      tx.delete(notes, milk);
      return [own, await textOf(tx)];
    });
    expect([...seen, await read(store)]).toEqual(["new", undefined, undefined]);
  });

  test("is found without a read once it was read, while it is as it was", async () => {
    const { engine, store } = openMemory();
    const find = () => store.findKept(notes, milk)?.value;
    await put(store, ["alice", "milk", "old"]);
    const before = find();
    await read(store);
    const kept = find();
    const release = engine.hold();
    const written = put(store, ["alice", "milk", "new"]);
    await eventually(() => find() === undefined, "it is being written");
    release();
    await written;
    const after = find();
    await read(store);
    expect([before, kept, after, find()]).toEqual([undefined, "old", undefined, "new"]);
  });

  test("is checked at the commit as others are", async () => {
    const { store } = openMemory();
    await put(store, ["alice", "milk", "1"]);
    await read(store);
    const add = () =>
      store.transact(async (tx) => tx.put(notes, milk, { value: `${Number((await textOf(tx)) ?? "") + 1}` }));
    await Promise.all(Array.from({ length: 20 }, add));
    expect([await read(store), store.stats().conflicts > 0]).toEqual(["21", true]);
  });

  test("is for a long reader as when it began, and for later ones as it is then", async () => {
    const { store } = openMemory();
    await put(store, ["alice", "milk", "old"], ["alice", "bread", "old"]);
    const seen = await store.read(async (reader) => {
      const bread = (await reader.get(notes, ["alice", "bread"]))?.value;
      await put(store, ["alice", "milk", "new"], ["alice", "bread", "new"]);
      const fresh = await read(store);
      return [bread, fresh, await textOf(reader)];
    });
    expect([...seen, await read(store)]).toEqual(["old", "new", "old", "new"]);
  });

  test("agrees with the other records while a group is being written, and after the write failed", async () => {
    const { engine, store } = openMemory();
    await put(store, ["alice", "milk", "old"], ["alice", "bread", "old"]);
    await read(store);
    const both = () =>
      store.read(async (reader) => [await textOf(reader), (await reader.get(notes, ["alice", "bread"]))?.value]);
    const release = engine.hold();
    const writing = put(store, ["alice", "milk", "new"], ["alice", "bread", "new"]);
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    expect([engine.writes, await both(), await both()]).toEqual([2, ["old", "old"], ["old", "old"]]);
    release();
    await writing;
    expect(await both()).toEqual(["new", "new"]);
    engine.failNext(new Error("no"));
    await expect(put(store, ["alice", "milk", "never"])).rejects.toThrow("the disk refused a write");
    expect(await both()).toEqual(["new", "new"]);
  });

  test("is the stored one over LevelDB, after a change and a new start", async () => {
    const directory = await temporaryDirectory();
    const first = await openStore({ directory });
    await put(first, ["alice", "milk", "one"]);
    await read(first);
    await put(first, ["alice", "milk", "two"]);
    expect(await read(first)).toBe("two");
    await first.close();
    const second = await openStore({ directory });
    onTestFinished(() => second.close());
    expect(await read(second)).toBe("two");
  });
});
