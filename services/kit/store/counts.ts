import { Int64ValueSchema } from "@bufbuild/protobuf/wkt";

import type { CountsTable, Reader } from "./transaction.ts";
import { defineTable, text } from "./table.ts";

/**
 * A table of counts: what a database holds or has taken, by name. Transactions only add to them (`Transaction.add`), so
 * that counting makes none of them run again.
 */
export const countsTable = (number: number): CountsTable =>
  defineTable({ number, name: "counts", key: [text("name")], value: Int64ValueSchema });

/** A count; 0 if nothing was added to it. */
export const readCount = async (reader: Reader, table: CountsTable, name: string): Promise<number> =>
  Number((await reader.get(table, [name]))?.value ?? 0n);
