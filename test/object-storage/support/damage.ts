import { join } from "node:path";

import { Level } from "level";

import type { KeyTuple, Table } from "../../../services/kit/store/table.ts";
import { keyBytes } from "../../../services/kit/store/table.ts";
import type { Harness, HarnessOptions } from "../harness.ts";
import { startHarness } from "../harness.ts";

/** Restarts the service after a change of a stored record. */
export const damageRecord = async <K extends KeyTuple>(
  harness: Harness,
  table: Table<K>,
  key: K,
  options: HarnessOptions = {},
): Promise<Harness> => {
  await harness.stop();
  const level = new Level<Buffer, Buffer>(join(harness.directory, "leveldb"), {
    keyEncoding: "buffer",
    valueEncoding: "buffer",
  });
  const at = Buffer.from(keyBytes(table, key));
  const record = await level.get(at);
  if (record === undefined) throw new Error("there is no such record");
  record[record.length - 1] = (record.at(-1) as number) ^ 1;
  await level.put(at, record);
  await level.close();
  return startHarness({ ...options, directory: harness.directory });
};
