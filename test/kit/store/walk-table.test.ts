import { expect, test } from "vitest";

import { openStore } from "../../../services/kit/store/store.ts";
import { walkTable } from "../../../services/kit/store/walk-table.ts";
import { damageStoredRecord } from "../../support/damaged-record.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { events } from "./tables.ts";

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
