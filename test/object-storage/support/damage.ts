import type { KeyTuple, Table } from "../../../services/kit/store/table.ts";
import { damageStoredRecord } from "../../support/damaged-record.ts";
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
  await damageStoredRecord(harness.directory, table, key);
  return startHarness({ ...options, directory: harness.directory });
};
