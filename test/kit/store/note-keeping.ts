import type { RangeOptions } from "../../../services/kit/store/range.ts";
import type { Reader, Store, Transaction } from "../../../services/kit/store/store.ts";
import { counters, notes } from "./tables.ts";

export type NoteKey = readonly [owner: string, title: string];

/** Writes notes in one transaction. */
export const put = (store: Store, ...entries: [owner: string, title: string, text: string][]): Promise<void> =>
  store.transact((tx) => {
    for (const [owner, title, value] of entries) tx.put(notes, [owner, title], { value });
  });

/** The keys of a range as `owner/title`. */
export const titles = async (reader: Reader, range: RangeOptions<NoteKey>): Promise<string[]> => {
  const found: string[] = [];
  for await (const { key } of reader.range(notes, range)) found.push(key.join("/"));
  return found;
};

/** Adds one to a counter. */
export const increment = async (tx: Transaction, name: string): Promise<void> => {
  const counter = await tx.get(counters, [name]);
  tx.put(counters, [name], { value: (counter?.value ?? 0n) + 1n });
};
