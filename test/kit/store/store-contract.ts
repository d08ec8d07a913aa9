import { describe, expect, it, onTestFinished } from "vitest";

import {
  StoreClosedError,
  StoreOverloadedError,
  StoreTransactionTooLargeError,
} from "../../../services/kit/store/errors.ts";
import type { Reader, Store, StoreLimits } from "../../../services/kit/store/store.ts";
import type { RangeOptions } from "../../../services/kit/store/range.ts";
import { runTraced } from "../../../services/kit/trace/current-trace.ts";
import { startTrace } from "../../../services/kit/trace/trace-context.ts";
import { untraced } from "../../../services/kit/trace/traced-call.ts";
import { increment, put, titles } from "./note-keeping.ts";
import type { NoteKey } from "./note-keeping.ts";
import { counters, events, newest, notes } from "./tables.ts";

/** Opens an empty store with these limits. */
export type OpenEmptyStore = (limits?: Partial<StoreLimits>) => Promise<Store>;

/** What every store promises, whatever engine is under it. */
export const storeContract = (engine: string, openEmpty: OpenEmptyStore): void => {
  const open: OpenEmptyStore = async (limits) => {
    const store = await openEmpty(limits);
    onTestFinished(() => store.close());
    return store;
  };

  describe(`a store over ${engine}`, () => {
    describe("transact", () => {
      it("writes all that the function wrote and answers what it returned", async () => {
        const store = await open();
        const answer = await store.transact((tx) => {
          tx.put(notes, ["alice", "milk"], { value: "two litres" });
          tx.put(counters, ["notes"], { value: 1n });
          return "written";
        });
        expect(answer).toBe("written");
        expect((await store.read((reader) => reader.get(notes, ["alice", "milk"])))?.value).toBe("two litres");
        expect((await store.read((reader) => reader.get(counters, ["notes"])))?.value).toBe(1n);
      });

      it("writes nothing when the function throws, and throws the same", async () => {
        const store = await open();
        const refusal = new Error("no such owner");
        const attempt = store.transact((tx) => {
          tx.put(notes, ["alice", "milk"], { value: "two litres" });
          throw refusal;
        });
        await expect(attempt).rejects.toBe(refusal);
        expect(await store.read((reader) => reader.get(notes, ["alice", "milk"]))).toBeUndefined();
      });

      it("sees its own writes", async () => {
        const store = await open();
        await put(store, ["alice", "milk", "old"], ["alice", "bread", "old"]);
        await store.transact(async (tx) => {
          tx.put(notes, ["alice", "milk"], { value: "new" });
          tx.delete(notes, ["alice", "bread"]);
          expect((await tx.get(notes, ["alice", "milk"]))?.value).toBe("new");
          expect((await tx.getStored(notes, ["alice", "milk"]))?.decode().value).toBe("new");
          const listed = await tx.listStored(notes, { limit: 10 }, (key, { bytes }) => [
            ...key,
            Buffer.from(bytes).toString(),
          ]);
          expect(listed).toEqual([["alice", "milk", "\n\u0003new"]]);
          expect(await tx.get(notes, ["alice", "bread"])).toBeUndefined();
        });
      });

      it("sees its own writes in ranges, forward and in reverse", async () => {
        const store = await open();
        await put(store, ["a", "2", "old"], ["a", "4", "old"], ["a", "6", "old"]);
        await store.transact(async (tx) => {
          tx.put(notes, ["a", "1"], { value: "new" });
          tx.put(notes, ["a", "4"], { value: "new" });
          tx.put(notes, ["a", "5"], { value: "new" });
          tx.put(notes, ["a", "7"], { value: "new" });
          tx.put(notes, ["b", "1"], { value: "new" });
          tx.delete(notes, ["a", "2"]);
          tx.delete(notes, ["a", "3"]);
          const forward = await tx.list(notes, { prefix: ["a"], limit: 10 });
          expect(forward.map(({ key, value }) => `${key[1]} ${value.value}`)).toEqual([
            "1 new",
            "4 new",
            "5 new",
            "6 old",
            "7 new",
          ]);
          const reverse = await tx.list(notes, { prefix: ["a"], reverse: true, limit: 3 });
          expect(reverse.map(({ key, value }) => `${key[1]} ${value.value}`)).toEqual(["7 new", "6 old", "5 new"]);
        });
      });

      it("shows a range as it was when it began, so that a loop may write into it", async () => {
        const store = await open();
        await put(store, ["a", "1", ""], ["a", "2", ""]);
        await store.transact(async (tx) => {
          for await (const { key } of tx.range(notes, { prefix: ["a"] }))
            tx.put(notes, ["a", `${key[1]}+`], { value: "" });
          expect(await titles(tx, { prefix: ["a"] })).toEqual(["a/1", "a/1+", "a/2", "a/2+"]);
        });
      });

      it("stores a value as it was when it was put", async () => {
        const store = await open();
        const value = new Uint8Array([1, 2, 3]);
        await store.transact((tx) => {
          tx.put(events, ["s", 1], { value });
          value[0] = 9;
        });
        expect((await store.read((reader) => reader.get(events, ["s", 1])))?.value).toEqual(new Uint8Array([1, 2, 3]));
      });

      it("keeps values of all sizes apart that are written together", async () => {
        const store = await open();
        const values = [3, 4_096, 81_910, 81_920, 100_000, 5, 4_096].map((size, index) => `${index}`.repeat(size));
        await store.transact((tx) => {
          for (const [index, value] of values.entries()) tx.put(notes, ["alice", `${index}`], { value });
        });
        const stored = await store.read((reader) => reader.list(notes, { prefix: ["alice"], limit: 9 }));
        expect(stored.map(({ value }) => value.value)).toEqual(values);
      });

      it("deletes a range, its own writes in it included, and nothing else", async () => {
        const store = await open();
        await put(store, ["a", "1", ""], ["a", "2", ""], ["aa", "1", ""], ["b", "1", ""]);
        await store.transact(async (tx) => {
          tx.put(notes, ["a", "3"], { value: "" });
          await tx.deleteRange(notes, { prefix: ["a"] });
          expect(await titles(tx, {})).toEqual(["aa/1", "b/1"]);
          tx.put(notes, ["a", "4"], { value: "" });
        });
        expect(await store.read((reader) => titles(reader, {}))).toEqual(["a/4", "aa/1", "b/1"]);
      });

      it("cannot be changed through a value it has read", async () => {
        const store = await open();
        await store.transact(async (tx) => {
          tx.put(events, ["s", 1], { value: new Uint8Array([1, 2, 3]) });
          (await tx.get(events, ["s", 1]))?.value.fill(9);
          for await (const { value } of tx.range(events, {})) value.value.fill(9);
        });
        expect((await store.read((reader) => reader.get(events, ["s", 1])))?.value).toEqual(new Uint8Array([1, 2, 3]));
      });

      it("refuses writes after it has ended", async () => {
        const store = await open();
        const kept = await store.transact((tx) => tx);
        expect(() => kept.put(notes, ["a", "1"], { value: "" })).toThrow(StoreClosedError);
        await expect(kept.get(notes, ["a", "1"])).rejects.toThrow(StoreClosedError);
      });

      it("refuses more than one transaction may write", async () => {
        const store = await open({ transactionBytesMax: 1000 });
        const attempt = store.transact((tx) => {
          for (let sequence = 0; sequence < 20; sequence += 1)
            tx.put(events, ["s", sequence], { value: new Uint8Array(100) });
        });
        await expect(attempt).rejects.toThrow(new StoreTransactionTooLargeError(1000));
        expect(await store.read((reader) => reader.list(events, { limit: 1 }))).toEqual([]);
      });
    });

    describe("ranges", () => {
      it.each([
        // range, keys
        [{}, ["a/photos/1", "a/photos/2", "a/photosx", "a/texts/1", "ab/photos/3", "b/", "b/z"]],
        [{ prefix: ["a"] }, ["a/photos/1", "a/photos/2", "a/photosx", "a/texts/1"]],
        [{ prefix: ["a"], textPrefix: true }, ["a/photos/1", "a/photos/2", "a/photosx", "a/texts/1", "ab/photos/3"]],
        [{ prefix: ["a", "photos/"], textPrefix: true }, ["a/photos/1", "a/photos/2"]],
        [{ prefix: ["a", "photos/1"] }, ["a/photos/1"]],
        [{ prefix: ["a", "photos/"] }, []],
        [{ prefix: ["a"], from: ["a", "photos/2"] }, ["a/photos/2", "a/photosx", "a/texts/1"]],
        [{ prefix: ["a"], after: ["a", "photos/2"] }, ["a/photosx", "a/texts/1"]],
        [{ prefix: ["a"], past: ["a", "photos/"] }, ["a/photosx", "a/texts/1"]],
        [{ prefix: ["a"], to: ["a", "photosx"] }, ["a/photos/1", "a/photos/2"]],
        [{ prefix: ["a"], through: ["a", "photosx"] }, ["a/photos/1", "a/photos/2", "a/photosx"]],
        [{ from: ["ab"] }, ["ab/photos/3", "b/", "b/z"]],
        [{ after: ["a"] }, ["ab/photos/3", "b/", "b/z"]],
        [{ after: ["a"], to: ["b"] }, ["ab/photos/3"]],
        [{ after: ["a"], through: ["b"] }, ["ab/photos/3", "b/", "b/z"]],
        [{ past: ["a"] }, ["b/", "b/z"]],
        [{ prefix: ["a"], from: ["b"] }, []],
        [{ from: ["b", "a"], to: ["a", "z"] }, []],
        [{ limit: 0 }, []],
        [{ limit: 2 }, ["a/photos/1", "a/photos/2"]],
        [{ reverse: true, limit: 2 }, ["b/z", "b/"]],
        [{ reverse: true, prefix: ["a"], to: ["a", "photosx"] }, ["a/photos/2", "a/photos/1"]],
      ] as [RangeOptions<NoteKey>, string[]][])("%j", async (range, expected) => {
        const store = await open();
        await put(store, ["a", "photos/1", ""], ["a", "photos/2", ""], ["a", "photosx", ""], ["a", "texts/1", ""]);
        await put(store, ["ab", "photos/3", ""], ["b", "", ""], ["b", "z", ""]);
        expect(await store.read((reader) => titles(reader, range))).toEqual(expected);
        expect(await store.transact((tx) => titles(tx, range))).toEqual(expected);
      });

      it("come in the order of the keys: the greatest first for a reversed part", async () => {
        const store = await open();
        await store.transact((tx) => {
          for (const sequence of [1, 300, 2]) tx.put(newest, ["s", sequence], { value: "" });
        });
        const found = await store.read((reader) => reader.list(newest, { prefix: ["s"], limit: 10 }));
        expect(found.map(({ key }) => key[1])).toEqual([300, 2, 1]);
      });

      it("of many pages come whole, in order, in both directions", async () => {
        const store = await open();
        await store.transact((tx) => {
          for (let sequence = 0; sequence < 3_500; sequence += 1)
            tx.put(events, ["s", sequence], { value: new Uint8Array(200) });
        });
        const sequences = await store.read(async (reader) => {
          const seen: number[] = [];
          for await (const { key } of reader.range(events, { prefix: ["s"] })) seen.push(key[1]);
          return seen;
        });
        expect(sequences).toEqual(Array.from({ length: 3_500 }, (_, sequence) => sequence));
        const reverse = await store.read((reader) =>
          reader.list(events, { prefix: ["s"], reverse: true, limit: 2_500 }),
        );
        expect(reverse.map(({ key }) => key[1])).toEqual(Array.from({ length: 2_500 }, (_, index) => 3_499 - index));
      });

      it("stay the same while others commit", async () => {
        const store = await open();
        await put(store, ["a", "1", "old"], ["a", "2", "old"], ["a", "3", "old"]);
        const seen = await store.read(async (reader) => {
          const found: string[] = [];
          for await (const { key, value } of reader.range(notes, {})) {
            await put(store, ["a", "2", "new"], ["a", "4", "new"]);
            found.push(`${key[1]} ${value.value}`);
          }
          return found;
        });
        expect(seen).toEqual(["1 old", "2 old", "3 old"]);
      });

      it("end with their transaction", async () => {
        const store = await open();
        await put(store, ["a", "1", ""], ["a", "2", ""]);
        const kept = await store.read((reader) => reader.range(notes, {}));
        await expect(titles({ range: () => kept } as unknown as Reader, {})).rejects.toThrow(StoreClosedError);
      });
    });

    describe("afterCommit", () => {
      it("runs once, after the commit and before the answer", async () => {
        const store = await open();
        const happened: string[] = [];
        let runs = 0;
        await store.transact(async (tx) => {
          runs += 1;
          await increment(tx, "hot");
          if (runs === 1) await store.transact((other) => increment(other, "hot"));
          tx.afterCommit(() => happened.push(`committed in run ${runs}`));
        });
        happened.push("answered");
        expect(happened).toEqual(["committed in run 2", "answered"]);
      });

      it("does not run when the transaction is refused", async () => {
        const store = await open();
        let ran = false;
        const attempt = store.transact((tx) => {
          tx.afterCommit(() => (ran = true));
          throw new Error("refused");
        });
        await expect(attempt).rejects.toThrow("refused");
        expect(ran).toBe(false);
      });

      it("cannot undo the answer by throwing", async () => {
        const store = await open();
        const answer = await store.transact((tx) => {
          tx.put(counters, ["a"], { value: 1n });
          tx.afterCommit(() => {
            throw new Error("too late");
          });
          return "written";
        });
        expect(answer).toBe("written");
      });
    });

    describe("bounds", () => {
      it("refuses more transactions at once than allowed, and takes new ones later", async () => {
        const store = await open({ transactionsMax: 2 });
        const gate = Promise.withResolvers<void>();
        const slow = [1, 2].map(() => store.transact(() => gate.promise));
        await expect(store.transact((tx) => increment(tx, "a"))).rejects.toThrow(StoreOverloadedError);
        gate.resolve();
        await Promise.all(slow);
        await store.transact((tx) => increment(tx, "a"));
        expect((await store.read((reader) => reader.get(counters, ["a"])))?.value).toBe(1n);
      });

      it("refuses changes when too many bytes wait", async () => {
        const store = await open({ waitingBytesMax: 1000 });
        const write = (sequence: number): Promise<void> =>
          store.transact((tx) => tx.put(events, ["s", sequence], { value: new Uint8Array(400) }));
        const outcomes = await Promise.allSettled([0, 1, 2, 3, 4, 5].map(write));
        expect(outcomes.map(({ status }) => status)).toEqual([
          "fulfilled",
          "fulfilled",
          "rejected",
          "rejected",
          "rejected",
          "rejected",
        ]);
        expect((outcomes[2] as PromiseRejectedResult).reason).toBeInstanceOf(StoreOverloadedError);
        expect(await store.read((reader) => reader.list(events, { limit: 10 }))).toHaveLength(2);
      });
    });

    it("accepts a large change only when none waits", async () => {
      const store = await open({ waitingBytesMax: 1000 });
      const write = (sequence: number, bytes: number): Promise<void> =>
        store.transact((tx) => tx.put(events, ["s", sequence], { value: new Uint8Array(bytes) }));
      const outcomes = await Promise.allSettled([write(0, 2000), write(1, 10)]);
      expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    });

    describe("giving up", () => {
      it("does not run a function whose signal is already aborted", async () => {
        const store = await open();
        let ran = false;
        const attempt = store.transact(() => void (ran = true), { signal: AbortSignal.abort(new Error("gone")) });
        await expect(attempt).rejects.toThrow("gone");
        expect(ran).toBe(false);
      });

      it("writes nothing when the signal is aborted before the group is made", async () => {
        const store = await open();
        const caller = new AbortController();
        const attempt = store.transact(
          (tx) => {
            tx.put(counters, ["a"], { value: 1n });
            caller.abort(new Error("gone"));
          },
          { signal: caller.signal },
        );
        await expect(attempt).rejects.toThrow("gone");
        expect(await store.read((reader) => reader.get(counters, ["a"]))).toBeUndefined();
      });
    });

    describe("ranges of one read", () => {
      it("are right one after the other, forwards and backwards, inside each other, and after one was left", async () => {
        const store = await open();
        const names = ["a", "b", "c", "d", "e"];
        await store.transact((tx) => {
          for (const name of names) tx.put(counters, [name], { value: 1n });
        });
        const read = await store.read(async (reader) => {
          const from = async (start: RangeOptions<readonly [string]>, limit = 9): Promise<string> =>
            (await reader.list(counters, { ...start, limit })).map(({ key }) => key[0]).join("");
          const seen = [
            await from({ after: ["c"] }, 1),
            await from({ after: ["d"] }),
            await from({}),
            await from({}, 2),
          ];
          seen.push(await from({ reverse: true }, 2), await from({ after: ["e"] }), await from({ to: ["c"] }));
          for await (const { key } of reader.range(counters, { after: ["b"] })) {
            seen.push(`${key[0]} ${await from({ after: key }, 1)} ${await from({ to: key })}`);
            if (key[0] === "d") break;
          }
          seen.push(...(await Promise.all([from({}), from({ after: ["a"] }), from({ after: ["b"] }, 1)])));
          return seen;
        });
        const [first, ...others] = read;
        expect([first, others]).toEqual([
          "d",
          ["e", "abcde", "ab", "ed", "", "ab", "c d ab", "d e abc", "abcde", "bcde", "c"],
        ]);
      });
    });

    describe("giving up a call", () => {
      const callEnding = (givenUp: () => Error | undefined) => ({ trace: startTrace(), givenUp });

      it("writes nothing when the call in which the transaction runs is given up before the group is made", async () => {
        const store = await open();
        let reason: Error | undefined;
        const attempt = runTraced(
          callEnding(() => reason),
          () =>
            store.transact((tx) => {
              tx.put(counters, ["a"], { value: 1n });
              reason = new Error("too late");
            }),
        );
        await expect(attempt).rejects.toThrow("too late");
        expect(await store.read((reader) => reader.get(counters, ["a"]))).toBeUndefined();
      });

      it("writes what is begun outside of the call, or in a call that goes on", async () => {
        const store = await open();
        const late = callEnding(() => new Error("too late"));
        await runTraced(late, () => untraced(() => store.transact((tx) => increment(tx, "a"))));
        await runTraced(
          callEnding(() => undefined),
          () => store.transact((tx) => increment(tx, "a")),
        );
        expect((await store.read((reader) => reader.get(counters, ["a"])))?.value).toBe(2n);
      });
    });

    describe("close", () => {
      it("waits for what runs and refuses what comes", async () => {
        const store = await openEmpty();
        const gate = Promise.withResolvers<void>();
        const running = store.transact(async (tx) => {
          await gate.promise;
          tx.put(counters, ["a"], { value: 1n });
          return "written";
        });
        const closing = store.close();
        await expect(store.transact((tx) => increment(tx, "a"))).rejects.toThrow(StoreClosedError);
        await expect(store.read((reader) => reader.get(counters, ["a"]))).rejects.toThrow(StoreClosedError);
        gate.resolve();
        expect(await running).toBe("written");
        await closing;
      });

      it("may be called twice", async () => {
        const store = await openEmpty();
        expect(await Promise.all([store.close(), store.close()])).toEqual([undefined, undefined]);
      });
    });
  });
};
