import { describe, expect, it } from "vitest";

import { StoreWriteError } from "../../../services/kit/store/errors.ts";
import type { Store } from "../../../services/kit/store/store.ts";
import { defaultLimits, storeOver } from "../../../services/kit/store/store.ts";
import { eventually } from "../../support/eventually.ts";
import { isolationContract } from "./isolation-contract.ts";
import type { MemoryEngine } from "./memory-engine.ts";
import { memoryEngine } from "./memory-engine.ts";
import { increment, put } from "./note-keeping.ts";
import { storeContract } from "./store-contract.ts";
import { counters, notes } from "./tables.ts";
import { unhurriedMs } from "./unhurried.ts";

storeContract("memory", async (limits) => storeOver(memoryEngine(), { ...defaultLimits, ...limits }));
isolationContract("memory", async (limits) => storeOver(memoryEngine(), { ...defaultLimits, ...limits }));

const start = (): { engine: MemoryEngine; store: Store } => {
  const engine = memoryEngine();
  return { engine, store: storeOver(engine, { ...defaultLimits, rerunMsMax: unhurriedMs }) };
};

/** The outcomes that are known by now. */
const watched = (promises: readonly Promise<unknown>[]): string[] => {
  const outcomes = promises.map(() => "waiting");
  for (const [index, promise] of promises.entries())
    promise.then(
      () => (outcomes[index] = "answered"),
      (error: unknown) => (outcomes[index] = String(error)),
    );
  return outcomes;
};

describe("a group", () => {
  it("gathers what comes while the one before it is written", async () => {
    const { engine, store } = start();
    const release = engine.hold();
    const first = put(store, ["a", "1", ""]);
    await eventually(() => engine.writes === 1, "the first group is being written");
    const others = Array.from({ length: 30 }, (_, index) => put(store, ["b", `${index}`, ""]));
    await eventually(() => store.stats().waiting === 30, "thirty wait");
    release();
    await Promise.all([first, ...others]);
    expect(engine.writes).toBe(2);
  });

  it("is answered only when it is written, those who ran again inside it included", async () => {
    const { engine, store } = start();
    const release = engine.hold();
    const answers = Array.from({ length: 3 }, () => store.transact((tx) => increment(tx, "hot")));
    const outcomes = watched(answers);
    await eventually(() => engine.writes === 1, "the group is being written");
    expect(outcomes).toEqual(["waiting", "waiting", "waiting"]);
    expect(await store.read((reader) => reader.get(counters, ["hot"]))).toBeUndefined();
    release();
    await Promise.all(answers);
    expect(engine.writes).toBe(1);
    expect((await store.read((reader) => reader.get(counters, ["hot"])))?.value).toBe(3n);
  });

  it("holds back a refusal that rests on what is not written yet", async () => {
    const { engine, store } = start();
    const create = (): Promise<void> =>
      store.transact(async (tx) => {
        if ((await tx.get(notes, ["a", "1"])) !== undefined) throw new Error("exists already");
        tx.put(notes, ["a", "1"], { value: "" });
      });
    const release = engine.hold();
    const answers = [create(), create()];
    const outcomes = watched(answers);
    await eventually(() => engine.writes === 1, "the group is being written");
    expect(outcomes).toEqual(["waiting", "waiting"]);
    release();
    await Promise.allSettled(answers);
    expect(outcomes).toEqual(["answered", "Error: exists already"]);
  });

  it("in which nothing is left to write is not written", async () => {
    const { engine, store } = start();
    const release = engine.hold();
    const first = put(store, ["a", "1", ""]);
    await eventually(() => engine.writes === 1, "the first group is being written");
    const late = store.transact(async (tx) => {
      if ((await tx.get(notes, ["a", "1"])) !== undefined) throw new Error("exists already");
      tx.put(notes, ["a", "1"], { value: "" });
    });
    await eventually(() => store.stats().waiting === 1, "the second waits");
    release();
    await first;
    await expect(late).rejects.toThrow("exists already");
    expect(engine.writes).toBe(1);
  });

  it("commits the transactions in the order in which they began when they want the same", async () => {
    const { store } = start();
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        store.transact(async (tx) => {
          await increment(tx, "hot");
          tx.afterCommit(() => order.push(index));
        }),
      ),
    );
    expect(order).toEqual(Array.from({ length: 20 }, (_, index) => index));
  });
});

describe("a failed write", () => {
  it("rejects all of its group, and everyone after it, because the end of the log is unknown", async () => {
    const { engine, store } = start();
    await put(store, ["a", "1", "before"]);
    engine.failNext(new Error("no space left on device"));
    const outcomes = await Promise.allSettled([
      put(store, ["a", "2", ""]),
      store.transact((tx) => increment(tx, "hot")),
      store.transact((tx) => increment(tx, "hot")),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect((outcomes[2] as PromiseRejectedResult).reason).toBeInstanceOf(StoreWriteError);
    await expect(put(store, ["a", "3", ""])).rejects.toThrow(StoreWriteError);
    expect(engine.writes).toBe(2);
  });

  it("leaves what was written before readable", async () => {
    const { engine, store } = start();
    await put(store, ["a", "1", "before"]);
    engine.failNext(new Error("no space left on device"));
    await expect(put(store, ["a", "1", "after"])).rejects.toThrow(StoreWriteError);
    expect((await store.read((reader) => reader.get(notes, ["a", "1"])))?.value).toBe("before");
    await store.close();
  });

  it("lets no transaction begin after it, not even one that writes nothing", async () => {
    const { engine, store } = start();
    engine.failNext(new Error("no space left on device"));
    await expect(put(store, ["a", "1", ""])).rejects.toThrow(StoreWriteError);
    let begun = 0;
    const later = store.transact(() => {
      begun += 1;
    });
    await expect(later).rejects.toThrow(StoreWriteError);
    expect(begun).toBe(0);
  });

  it("reaches those who wait for the next group", async () => {
    const { engine, store } = start();
    const release = engine.hold();
    const first = put(store, ["a", "1", ""]);
    await eventually(() => engine.writes === 1, "the first group is being written");
    const second = put(store, ["a", "2", ""]);
    await eventually(() => store.stats().waiting === 1, "the second waits");
    engine.failNext(new Error("no space left on device"));
    release();
    const outcomes = await Promise.allSettled([first, second]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  });
});
