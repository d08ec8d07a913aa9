import { Level } from "level";
import { expect, onTestFinished, test } from "vitest";

import { sealRecord } from "../../../services/kit/store/record.ts";
import type { Store } from "../../../services/kit/store/store.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { walkTable } from "../../../services/kit/store/walk-table.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { damageStoredRecord } from "../../support/damaged-record.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { events, notes } from "./tables.ts";

// limit, what a walk over ten records has of which the third and the seventh are damaged
test.for([
  [undefined, "0 1 2? 3 4 5 6? 7 8 9"],
  [9, "0 1 2? 3 4 5 6? 7 8"],
  [7, "0 1 2? 3 4 5 6?"],
  [6, "0 1 2? 3 4 5"],
  [3, "0 1 2?"],
  [2, "0 1"],
] as const)("a walk of at most %s records has those next to damaged ones", async ([limit, walked]) => {
  const directory = await temporaryDirectory();
  const first = await openStore({ directory: `${directory}/leveldb` });
  await first.transact((transaction) => {
    for (let at = 0; at < 10; at += 1) transaction.put(events, ["a", at], { value: Buffer.alloc(8) });
  });
  await first.close();
  for (const at of [2, 6]) await damageStoredRecord(directory, events, ["a", at]);
  const store = await openStore({ directory: `${directory}/leveldb` });
  const read = await store.read((reader) =>
    Array.fromAsync(walkTable(reader, events, { prefix: ["a"], ...(limit !== undefined && { limit }) })),
  );
  expect(read.map(({ key, value }) => `${key[1]}${value === undefined ? "?" : ""}`).join(" ")).toBe(walked);
  await store.close();
});

const stream = Buffer.from("a\0");
const tableOf = (number: number) => Buffer.from([0, number]);
const sequence = (hex: string) => Buffer.from(hex, "hex");
const garbage = Buffer.from("no record");

/** Puts records as LevelDB stores them, whatever their keys are. */
const putRaw = async (directory: string, records: readonly (readonly [key: Buffer, record: Buffer])[]) => {
  const level = new Level<Buffer, Buffer>(`${directory}/leveldb`, { keyEncoding: "buffer", valueEncoding: "buffer" });
  for (const [key, record] of records) await level.put(key, record);
  await level.close();
};

test("a walk has what is between a record that is no message and one that is damaged", async () => {
  const directory = await temporaryDirectory();
  const first = await openStore({ directory: `${directory}/leveldb` });
  await first.transact((transaction) => {
    for (let at = 0; at < 8; at += 1) transaction.put(events, ["a", at], { value: Buffer.alloc(8) });
  });
  await first.close();
  const key = Buffer.concat([tableOf(12), stream, sequence("0000000000000002")]);
  // Its checksum is right, and its bytes begin a field of a length that they do not have.
  await putRaw(directory, [[key, sealRecord(key, Buffer.from([0x0a, 0x7f]))]]);
  await damageStoredRecord(directory, events, ["a", 5]);
  const store = await openStore({ directory: `${directory}/leveldb` });
  onTestFinished(() => store.close());
  const walk = (limit: number) =>
    store.read((reader) => Array.fromAsync(walkTable(reader, events, { prefix: ["a"], limit })));
  const namesOf = (read: Awaited<ReturnType<typeof walk>>) =>
    read.map(({ key: [, at], value }) => `${at}${value === undefined ? "?" : ""}`).join(" ");
  expect(namesOf(await walk(100))).toBe("0 1 2? 3 4 5? 6 7");
  expect(namesOf(await walk(4))).toBe("0 1 2? 3");
  expect(namesOf(await walk(6))).toBe("0 1 2? 3 4 5?");
});

const walkNames = async (store: Store, limit?: number): Promise<string> => {
  const read = await store.read((reader) =>
    Array.fromAsync(walkTable(reader, notes, { prefix: ["a"], ...(limit !== undefined && { limit }) })),
  );
  return read.map(({ key }) => key[1]).join(" ");
};

// what the key is, its bytes after the table's number
const damagedKeys = [
  ["that is cut off", Buffer.concat([stream, sequence("00000000000000")])],
  ["with bytes after its parts", Buffer.concat([stream, sequence("000000000000000200")])],
  ["with a number above all others", Buffer.concat([stream, sequence("ff00000000000002")])],
  ["without the end of a text", Buffer.from("a")],
  ["with a text that is not UTF-8", Buffer.concat([Buffer.from("a\xff\0", "latin1"), sequence("0000000000000002")])],
  ["with a text that is escaped wrongly", Buffer.concat([Buffer.from("a\x01\x03\0"), sequence("0000000000000002")])],
] as const;

test.for(damagedKeys)("a walk passes a record at a key %s, and logs it once", async ([, rest]) => {
  const directory = await temporaryDirectory();
  const first = await openStore({ directory: `${directory}/leveldb` });
  await first.transact((transaction) => {
    for (const name of ["a", "b"])
      for (let at = 0; at < 4; at += 1) transaction.put(events, [name, at], { value: Buffer.alloc(8) });
  });
  await first.close();
  const key = Buffer.concat([tableOf(12), rest]);
  await putRaw(directory, [[key, garbage]]);
  const { log, lines } = capturingLogger();
  const store = await openStore({ directory: `${directory}/leveldb`, log });
  const walk = () => store.transact((transaction) => Array.fromAsync(walkTable(transaction, events)));
  const walked = (await walk()).map((entry) => entry.key.join("")).join(" ");
  expect(walked).toBe("a0 a1 a2 a3 b0 b1 b2 b3");
  await walk();
  const passed = lines.filter(({ msg }) => msg === "a record with a damaged key is passed");
  expect(passed).toMatchObject([{ level: 50, table: "events", key: key.toString("hex") }]);
  await store.close();
});

test("a record at a key of no table is passed though its checksum holds", async () => {
  const directory = await temporaryDirectory();
  const first = await openStore({ directory: `${directory}/leveldb` });
  await first.transact((transaction) => transaction.put(events, ["a", 5], { value: Buffer.alloc(8) }));
  await first.close();
  const key = Buffer.concat([tableOf(12), stream, sequence("0001")]);
  await putRaw(directory, [[key, sealRecord(key, Buffer.alloc(0))]]);
  const store = await openStore({ directory: `${directory}/leveldb` });
  const walked = await store.read((reader) => Array.fromAsync(walkTable(reader, events)));
  expect(walked.map((entry) => entry.key)).toEqual([["a", 5]]);
  await store.close();
});

// limit, what a walk over names has between which two damaged keys lie
test.for([
  [undefined, "a b c d"],
  [3, "a b c"],
  [2, "a b"],
  [1, "a"],
] as const)("a walk of at most %s records counts none with a damaged key", async ([limit, walked]) => {
  const directory = await temporaryDirectory();
  const first = await openStore({ directory: `${directory}/leveldb` });
  await first.transact((transaction) => {
    for (const name of ["a", "b", "c", "d"]) transaction.put(notes, ["a", name], { value: name });
  });
  await first.close();
  await putRaw(directory, [
    [Buffer.from("\0\x0aa\0a\xff\0", "latin1"), garbage],
    [Buffer.from("\0\x0aa\0b"), garbage],
  ]);
  const store = await openStore({ directory: `${directory}/leveldb` });
  expect(await walkNames(store, limit)).toBe(walked);
  await store.close();
});

test("a range is deleted with its damaged records", async () => {
  const directory = await temporaryDirectory();
  const first = await openStore({ directory: `${directory}/leveldb` });
  await first.transact((transaction) => {
    for (const name of ["a", "b"])
      for (let at = 0; at < 10; at += 1) transaction.put(events, [name, at], { value: Buffer.alloc(8) });
  });
  await first.close();
  for (const at of [2, 6]) await damageStoredRecord(directory, events, ["a", at]);
  await putRaw(directory, [[Buffer.concat([tableOf(12), stream, sequence("0001")]), garbage]]);
  const store = await openStore({ directory: `${directory}/leveldb` });
  await store.transact((transaction) => transaction.deleteRange(events, { prefix: ["a"], from: ["a", 1] }));
  const left = await store.read((reader) => reader.list(events, { limit: 20 }));
  expect(left.map(({ key }) => key.join("")).join(" ")).toBe("a0 b0 b1 b2 b3 b4 b5 b6 b7 b8 b9");
  await store.close();
});

/** A store with ten records of a stream of which the third is damaged. */
const openDamaged = async (): Promise<Store> => {
  const directory = await temporaryDirectory();
  const first = await openStore({ directory: `${directory}/leveldb` });
  await first.transact((transaction) => {
    for (let at = 0; at < 10; at += 1) transaction.put(events, ["a", at], { value: Buffer.alloc(8) });
  });
  await first.close();
  await damageStoredRecord(directory, events, ["a", 2]);
  const store = await openStore({ directory: `${directory}/leveldb` });
  onTestFinished(() => store.close());
  return store;
};

// what a transaction does with a damaged record, what it then reads in both directions
test.for([
  ["deletes", "0 1 3 4 5 6 7 8 9"],
  ["replaces", "0 1 2 3 4 5 6 7 8 9"],
] as const)("a transaction that %s a damaged record reads what it has written", async ([what, left]) => {
  const store = await openDamaged();
  const read = await store.transact(async (transaction) => {
    if (what === "deletes") transaction.delete(events, ["a", 2]);
    else transaction.put(events, ["a", 2], { value: Buffer.alloc(8) });
    const walked = await Array.fromAsync(walkTable(transaction, events, { prefix: ["a"] }));
    const reversed = await transaction.list(events, { prefix: ["a"], reverse: true, limit: 10 });
    return [walked, reversed.toReversed()].map((entries) => entries.map(({ key }) => key[1]).join(" "));
  });
  expect(read).toEqual([left, left]);
});

test("a damaged record that a transaction leaves is thrown, also if it has replaced another one", async () => {
  const store = await openDamaged();
  const reading = store.transact((transaction) => {
    transaction.put(events, ["a", 1], { value: Buffer.alloc(8) });
    return transaction.list(events, { prefix: ["a"], limit: 10 });
  });
  await expect(reading).rejects.toThrow("is damaged");
});

test("two transactions at the same time count a damaged record once when both delete what they count", async () => {
  const store = await openDamaged();
  const counts: number[] = [];
  const count = (): Promise<void> =>
    store.transact(async (transaction) => {
      let counted = 0;
      for await (const { key } of walkTable(transaction, events, { prefix: ["a"] })) {
        transaction.delete(events, key);
        counted += 1;
      }
      transaction.afterCommit(() => void counts.push(counted));
      if (counted === 0) transaction.put(notes, ["b", "nothing"], { value: "left" });
    });
  await Promise.all([count(), count(), count()]);
  expect(counts.toSorted((a, b) => a - b)).toEqual([0, 0, 10]);
});

test("a damaged record that another transaction mends meanwhile is read again", async () => {
  const store = await openDamaged();
  const [isRead, mended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const seen: string[] = [];
  const reading = store.transact(async (transaction) => {
    const walked = await Array.fromAsync(walkTable(transaction, events, { prefix: ["a"], limit: 3 }));
    seen.push(walked[2]?.value === undefined ? "damaged" : "whole");
    transaction.put(notes, ["b", "seen"], { value: seen.at(-1) ?? "" });
    isRead.resolve();
    await mended.promise;
  });
  await isRead.promise;
  await store.transact((transaction) => transaction.put(events, ["a", 2], { value: Buffer.alloc(8) }));
  mended.resolve();
  await reading;
  expect(seen).toEqual(["damaged", "whole"]);
});
