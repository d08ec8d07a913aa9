import type { Message } from "@bufbuild/protobuf";

import { undefinedIfDamaged } from "../../kit/store/damage.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import type { Table } from "../../kit/store/table.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import { accountCounts } from "./layout.ts";

/** A table whose records are counted for each account. */
type CountedTable<V extends Message> = Table<readonly [account: string, name: string], V>;

/**
 * The number of an account's records in a table. Reads one record, or all where they were never counted or the count is
 * damaged; they are no more than a limit of the account. The next change stores the count again.
 */
export const countRecords = async <V extends Message>(
  reader: Reader,
  table: CountedTable<V>,
  account: string,
): Promise<number> => {
  const counted = await reader.get(accountCounts, [account, table.name]).catch(undefinedIfDamaged);
  if (counted !== undefined) return Number(counted.count);
  let count = 0;
  for await (const _entry of walkTable(reader, table, { prefix: [account] })) count += 1;
  return count;
};

/** Changes the number of an account's records in a table. To be called before the record is put or deleted. */
export const changeCount = async <V extends Message>(
  transaction: Transaction,
  table: CountedTable<V>,
  account: string,
  difference: 1 | -1,
): Promise<void> => {
  const count = await countRecords(transaction, table, account);
  transaction.put(accountCounts, [account, table.name], { count: BigInt(count + difference) });
};
