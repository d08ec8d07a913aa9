import type { Message } from "@bufbuild/protobuf";

import type { RangeOptions, Reader } from "../../kit/store/store.ts";
import type { Table } from "../../kit/store/table.ts";
import { walkTable } from "../../kit/store/walk-table.ts";

/**
 * The accounts that have records in a table whose keys begin with the account, damaged ones included. Reads one record
 * of each account.
 */
export const listAccounts = async <K extends readonly [account: string, ...rest: unknown[]], V extends Message>(
  reader: Reader,
  table: Table<K, V>,
): Promise<string[]> => {
  const accounts: string[] = [];
  for (;;) {
    const last = accounts.at(-1);
    const range = (last === undefined ? {} : { after: [last] }) as RangeOptions<K>;
    const [entry] = await Array.fromAsync(walkTable<K, V>(reader, table, { ...range, limit: 1 }));
    if (entry === undefined) return accounts;
    accounts.push(entry.key[0]);
  }
};
