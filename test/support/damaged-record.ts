import { join } from "node:path";

import { Level } from "level";

import type { KeyTuple, Table } from "../../services/kit/store/table.ts";
import { keyBytes } from "../../services/kit/store/table.ts";

/** Changes a bit of a record that is stored in the directory of a service, which must not run. */
export const damageStoredRecord = async <K extends KeyTuple>(
  directory: string,
  table: Table<K>,
  key: K,
): Promise<void> => {
  const level = new Level<Buffer, Buffer>(join(directory, "leveldb"), {
    keyEncoding: "buffer",
    valueEncoding: "buffer",
  });
  const at = Buffer.from(keyBytes(table, key));
  const record = await level.get(at);
  if (record === undefined) throw new Error("there is no such record");
  record[record.length - 1] = (record.at(-1) as number) ^ 1;
  await level.put(at, record);
  await level.close();
};
