import { describe, expect, onTestFinished, test } from "vitest";

import { DurationSchema } from "@bufbuild/protobuf/wkt";

import { countsTable, readCount } from "../../../services/kit/store/counts.ts";
import type { Store } from "../../../services/kit/store/store.ts";
import { defaultLimits, openStore, storeOver } from "../../../services/kit/store/store.ts";
import { StoreCorruptionError } from "../../../services/kit/store/errors.ts";
import { defineTable, encodeKey, text } from "../../../services/kit/store/table.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { memoryEngine } from "./memory-engine.ts";
import { notes } from "./tables.ts";

const counts = countsTable(20);

/** Writes a note and counts it. */
const write = (store: Store, title: string, by = 1): Promise<void> =>
  store.transact((tx) => {
    tx.put(notes, ["alice", title], { value: title });
    tx.add(counts, ["notes"], { value: by });
  });

const countOf = (store: Store, name = "notes"): Promise<number> =>
  store.read((reader) => readCount(reader, counts, name));

const openMemory = (): Store => {
  const store = storeOver(memoryEngine(), defaultLimits);
  onTestFinished(() => store.close());
  return store;
};

describe("a count", () => {
  test("is what all transactions have added, and makes none of them run again", async () => {
    const store = openMemory();
    expect(await countOf(store)).toBe(0);
    await Promise.all(Array.from({ length: 200 }, (_, index) => write(store, `${index}`)));
    await write(store, "200", -50);
    expect([await countOf(store), store.stats().conflicts]).toEqual([150, 0]);
  });

  test("leaves nothing open that a compaction would wait for", async () => {
    const store = await openStore({ directory: await temporaryDirectory(), sync: false });
    onTestFinished(() => store.close());
    await write(store, "a");
    await store.transact((tx) => tx.delete(notes, ["alice", "a"]));
    await store.compact(notes, { prefix: ["alice"] });
    expect(await countOf(store)).toBe(1);
  });

  test("grows once for a transaction that ran several times, and not for one that failed", async () => {
    const store = openMemory();
    const grow = (): Promise<void> =>
      store.transact(async (tx) => {
        const before = (await tx.get(notes, ["alice", "all"]))?.value ?? "";
        tx.put(notes, ["alice", "all"], { value: `${before}a` });
        tx.add(counts, ["notes"], { value: 1 });
      });
    await Promise.all(Array.from({ length: 20 }, grow));
    const failed = store.transact((tx) => {
      tx.add(counts, ["notes"], { value: 1 });
      tx.put(notes, ["alice", "never"], { value: "" });
      throw new Error("no");
    });
    await expect(failed).rejects.toThrow("no");
    expect([await countOf(store), store.stats().conflicts > 0]).toEqual([20, true]);
  });

  test("continues from what the same group writes as its beginning", async () => {
    const store = openMemory();
    const begin = store.transact((tx) => {
      tx.put(counts, ["notes"], { value: 1_000n });
    });
    await Promise.all([begin, write(store, "a")]);
    expect(await countOf(store)).toBe(1_001);
  });

  test("is gone when a later transaction of the same group deletes it, and begins again after that", async () => {
    const store = openMemory();
    await write(store, "a", 5);
    const remove = () => store.transact((tx) => tx.delete(counts, ["notes"]));
    await Promise.all([write(store, "b"), remove()]);
    expect(await store.read((reader) => reader.get(counts, ["notes"]))).toBeUndefined();
    await Promise.all([write(store, "c"), remove(), write(store, "d", 2)]);
    expect(await countOf(store)).toBe(2);
  });

  test("has as many members as its record has whole numbers", async () => {
    const amounts = defineTable({ number: 21, name: "amounts", key: [text("name")], value: DurationSchema });
    const store = openMemory();
    const add = (seconds: number): Promise<void> =>
      store.transact((tx) => {
        tx.put(notes, ["alice", `${seconds}`], {});
        tx.add(amounts, ["all"], { seconds });
        tx.add(amounts, ["all"], {});
      });
    await store.transact((tx) => tx.put(amounts, ["all"], { seconds: 10n, nanos: 7 }));
    await Promise.all([add(1), add(-3)]);
    expect(await store.read((reader) => reader.get(amounts, ["all"]))).toMatchObject({ seconds: 8n, nanos: 7 });
  });

  test("that is damaged stays so, and holds up nothing", async () => {
    const engine = memoryEngine();
    await engine.write(new Map([[encodeKey(counts, ["notes"]), Uint8Array.of(0xff)]]));
    const { log, lines } = capturingLogger();
    const store = storeOver(engine, defaultLimits, { log });
    onTestFinished(() => store.close());
    const countOther = store.transact((tx) => {
      tx.put(notes, ["alice", "c"], {});
      tx.add(counts, ["others"], { value: 1 });
    });
    await Promise.all([write(store, "a"), write(store, "b"), countOther]);
    await write(store, "d");
    const found = await store.read((reader) => reader.list(notes, { limit: 10 }));
    expect(found.map(({ key: [, title] }) => title)).toEqual(["a", "b", "c", "d"]);
    expect(await countOf(store, "others")).toBe(1);
    await expect(countOf(store)).rejects.toThrow(StoreCorruptionError);
    expect(lines.map(({ msg }) => msg)).toEqual(["nothing is added to a damaged record"]);
  });

  test("grows also in a transaction that writes nothing else", async () => {
    const store = openMemory();
    await store.transact((tx) => tx.add(counts, ["notes"], { value: 2 }));
    expect(await countOf(store)).toBe(2);
  });

  test("is durable together with what it counts", async () => {
    const directory = await temporaryDirectory();
    const first = await openStore({ directory });
    await Promise.all([write(first, "a"), write(first, "b")]);
    await first.close();
    const second = await openStore({ directory });
    onTestFinished(() => second.close());
    await write(second, "c");
    expect(await countOf(second)).toBe(3);
  });
});
