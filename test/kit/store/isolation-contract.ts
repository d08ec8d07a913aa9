import { setTimeout as delay } from "node:timers/promises";

import { describe, expect, it, onTestFinished } from "vitest";

import { StoreContentionError } from "../../../services/kit/store/errors.ts";
import type { RangeOptions } from "../../../services/kit/store/range.ts";
import { increment, put, titles } from "./note-keeping.ts";
import type { NoteKey } from "./note-keeping.ts";
import type { OpenEmptyStore } from "./store-contract.ts";
import { counters, notes } from "./tables.ts";
import { unhurriedMs } from "./unhurried.ts";

/** What every store promises to those who work at the same time, whatever engine is under it. */
export const isolationContract = (engine: string, openEmpty: OpenEmptyStore): void => {
  const open: OpenEmptyStore = async (limits) => {
    const store = await openEmpty({ rerunMsMax: unhurriedMs, ...limits });
    onTestFinished(() => store.close());
    return store;
  };

  describe(`isolation over ${engine}`, () => {
    it("gives one consistent state to a reader", async () => {
      const store = await open();
      await put(store, ["a", "1", "old"], ["a", "2", "old"]);
      await store.read(async (reader) => {
        expect((await reader.get(notes, ["a", "1"]))?.value).toBe("old");
        await put(store, ["a", "1", "new"], ["a", "2", "new"]);
        expect((await reader.get(notes, ["a", "2"]))?.value).toBe("old");
      });
    });

    it("shows an answered write to everyone who begins later", async () => {
      const store = await open();
      for (let round = 0; round < 50; round += 1) {
        await put(store, ["a", "1", `${round}`]);
        expect((await store.read((reader) => reader.get(notes, ["a", "1"])))?.value).toBe(`${round}`);
      }
    });

    it("loses no update when many change the same record at once", async () => {
      const store = await open();
      await Promise.all(Array.from({ length: 200 }, () => store.transact((tx) => increment(tx, "hot"))));
      expect((await store.read((reader) => reader.get(counters, ["hot"])))?.value).toBe(200n);
    });

    it("writes callers who change the same record together, not one after the other", async () => {
      const store = await open();
      const before = store.stats().groups;
      await Promise.all(Array.from({ length: 100 }, () => store.transact((tx) => increment(tx, "hot"))));
      expect(store.stats().groups - before).toBeLessThan(20);
    });

    it("runs a transaction again that expected a record to be unchanged which another has written", async () => {
      const store = await open();
      const runs: string[] = [];
      const seesFlag = async (name: string, change: () => Promise<void> | undefined): Promise<void> =>
        store.transact(async (tx) => {
          runs.push(name);
          tx.expectUnchanged(notes, ["flag", name]);
          tx.put(notes, ["seen", name], { value: "" });
          if (runs.filter((run) => run === name).length === 1) await change();
        });
      await seesFlag("written", () => put(store, ["flag", "written", "up"]));
      await seesFlag("other", () => put(store, ["flag", "of another", "up"]));
      expect(runs).toEqual(["written", "written", "other"]);
    });

    it("prevents write skew: of two who each leave because the other stays, one stays", async () => {
      const store = await open();
      await put(store, ["ward", "alice", "on call"], ["ward", "bob", "on call"]);
      const leave = (who: string): Promise<boolean> =>
        store.transact(async (tx) => {
          const onCall = await tx.list(notes, { prefix: ["ward"], limit: 10 });
          await new Promise(setImmediate);
          if (onCall.length < 2) return false;
          tx.delete(notes, ["ward", who]);
          return true;
        });
      const left = await Promise.all([leave("alice"), leave("bob")]);
      expect(left.filter((hasLeft) => hasLeft)).toHaveLength(1);
      expect(await store.read((reader) => reader.list(notes, { limit: 10 }))).toHaveLength(1);
    });

    it("prevents phantoms: what appears in a range that was found empty makes the transaction run again", async () => {
      const store = await open();
      let runs = 0;
      const counted = await store.transact(async (tx) => {
        runs += 1;
        const found = await titles(tx, { prefix: ["a"] });
        if (runs === 1) await put(store, ["a", "late", ""]);
        tx.put(counters, ["a"], { value: BigInt(found.length) });
        return found;
      });
      expect(counted).toEqual(["a/late"]);
      expect(runs).toBe(2);
    });

    it.each([
      // what was read, what another writes, runs
      ["a missing record", { get: ["a", "x"] }, ["a", "x"], 2],
      ["another record", { get: ["a", "x"] }, ["a", "y"], 1],
      ["a range that ends before", { list: { prefix: ["a"], limit: 2 } }, ["a", "4"], 1],
      ["a range that was cut by its limit, in the part seen", { list: { prefix: ["a"], limit: 2 } }, ["a", "1"], 2],
      ["a range with room left", { list: { prefix: ["a"], limit: 10 } }, ["a", "9"], 2],
      ["a reversed range, in the part seen", { list: { prefix: ["a"], reverse: true, limit: 1 } }, ["a", "6"], 2],
      ["a reversed range, in the part not seen", { list: { prefix: ["a"], reverse: true, limit: 1 } }, ["a", "4"], 1],
      ["the last record seen", { list: { prefix: ["a"], limit: 2 } }, ["a", "3"], 2],
    ] as [string, { get?: NoteKey; list?: RangeOptions<NoteKey> & { limit: number } }, NoteKey, number][])(
      "notices changes exactly where it has read: %s",
      async (_what, read, changed, expectedRuns) => {
        for (const isDecoded of [true, false]) {
          const store = await open();
          await put(store, ["a", "0", ""], ["a", "3", ""], ["a", "5", ""]);
          let runs = 0;
          await store.transact(async (tx) => {
            runs += 1;
            if (read.get !== undefined) await (isDecoded ? tx.get(notes, read.get) : tx.getStored(notes, read.get));
            if (read.list !== undefined)
              await (isDecoded ? tx.list(notes, read.list) : tx.listStored(notes, read.list, (key) => key));
            if (runs === 1) await put(store, [changed[0], changed[1], "changed"]);
            tx.put(counters, ["done"], { value: 1n });
          });
          expect(runs).toBe(expectedRuns);
        }
      },
    );

    it("does not check what was read by the snapshot, which shows the same state and the transaction's own writes", async () => {
      const store = await open();
      await put(store, ["a", "1", "old"]);
      let runs = 0;
      await store.transact(async (tx) => {
        runs += 1;
        await tx.snapshot.get(notes, ["a", "1"]);
        await put(store, ["a", "1", "new"], ["a", "2", "new"]);
        tx.put(notes, ["a", "3"], { value: "own" });
        const found = await tx.snapshot.list(notes, { limit: 10 });
        expect(found.map(({ key, value }) => `${key[1]} ${value.value}`)).toEqual(["1 old", "3 own"]);
      });
      expect(runs).toBe(1);
    });

    it("never runs a transaction that only reads twice", async () => {
      const store = await open();
      let runs = 0;
      await store.transact(async (tx) => {
        runs += 1;
        await tx.get(notes, ["a", "1"]);
        await put(store, ["a", "1", "changed"]);
      });
      expect(runs).toBe(1);
    });

    it("refuses with a contention error after the allowed attempts", async () => {
      const store = await open({ attemptsMax: 3, rerunMsMax: 0 });
      let runs = 0;
      const attempt = store.transact(async (tx) => {
        runs += 1;
        await increment(tx, "hot");
        await store.transact((other) => increment(other, "hot"));
      });
      await expect(attempt).rejects.toThrow(new StoreContentionError(3));
      expect(runs).toBe(3);
      expect((await store.read((reader) => reader.get(counters, ["hot"])))?.value).toBe(3n);
    });

    it("lets a slow transaction win once before it would be refused", async () => {
      const rerunMsMax = 200;
      const store = await open({ attemptsMax: 4, rerunMsMax });
      let runs = 0;
      await store.transact(async (tx) => {
        runs += 1;
        await increment(tx, "hot");
        // A rival wins against the first and the third run. The second is inside a group, which is not written before
        // the run has ended or was given up.
        if (runs < 4) await store.transact((other) => increment(other, "hot"));
        else await delay(2 * rerunMsMax);
      });
      expect(runs).toBe(4);
      expect((await store.read((reader) => reader.get(counters, ["hot"])))?.value).toBe(4n);
    });

    it("goes on when a transaction that runs again waits for another one", async () => {
      const store = await open({ rerunMsMax: 5 });
      let runs = 0;
      await store.transact(async (tx) => {
        runs += 1;
        await increment(tx, "hot");
        // The second run happens inside a group; this commit cannot happen before that group is closed.
        if (runs < 3) await store.transact((other) => increment(other, "hot"));
      });
      expect((await store.read((reader) => reader.get(counters, ["hot"])))?.value).toBe(3n);
    });

    it("makes a transaction that is older than the memory of changes run again", async () => {
      const store = await open({ conflictKeysMax: 5 });
      let runs = 0;
      await store.transact(async (tx) => {
        runs += 1;
        await tx.get(notes, ["unrelated", ""]);
        if (runs === 1) for (let index = 0; index < 10; index += 1) await put(store, ["a", `${index}`, ""]);
        tx.put(counters, ["done"], { value: 1n });
      });
      expect(runs).toBe(2);
    });

    it("remembers no more changes than its limit, and none when nobody asks", async () => {
      const store = await open({ conflictKeysMax: 5 });
      await store.transact(async (tx) => {
        await tx.get(notes, ["a", ""]);
        for (let index = 0; index < 10; index += 1) await put(store, ["a", `${index}`, ""]);
        expect(store.stats().conflictKeys).toBeLessThanOrEqual(5);
      });
      await put(store, ["a", "last", ""]);
      expect(store.stats().conflictKeys).toBe(0);
    });
  });
};
