import type { Store } from "../../../services/kit/store/store.ts";
import { events } from "./tables.ts";

/*
 * What the tests of crashes commit: transaction number n writes three records, events/"n"/0 to 2, each filled with a
 * byte that follows from n and the record. It is whole when all three are there as written.
 */
const partCount = 3;

const fillOf = (number: number, part: number): number => (number * partCount + part) % 251;

export const commitParts = (store: Store, number: number, bytes: number): Promise<void> =>
  store.transact((tx) => {
    for (let part = 0; part < partCount; part += 1)
      tx.put(events, [`${number}`, part], { value: new Uint8Array(bytes).fill(fillOf(number, part)) });
  });

/**
 * What a store has of such transactions: the numbers that are whole, and those of which something is missing or wrong.
 */
export const surveyParts = (store: Store, bytes: number): Promise<{ whole: Set<number>; broken: Set<number> }> =>
  store.read(async (reader) => {
    const counts = new Map<number, number>();
    const broken = new Set<number>();
    for await (const { key, value } of reader.range(events, {})) {
      const number = Number(key[0]);
      const expected = fillOf(number, key[1]);
      if (value.value.byteLength !== bytes || value.value.some((byte) => byte !== expected)) broken.add(number);
      counts.set(number, (counts.get(number) ?? 0) + 1);
    }
    for (const [number, count] of counts) if (count !== partCount) broken.add(number);
    return { whole: new Set([...counts.keys()].filter((number) => !broken.has(number))), broken };
  });
