import type { Level } from "level";

import type { BatchWrite } from "./level-files/write-batch.ts";

/** A database that has just been opened, as far as it is used here. */
type Database = Pick<Level<Buffer, Buffer>, "getSync" | "batch">;

/** The batches of one log, in their order. */
export type LoggedBatches = readonly (readonly BatchWrite[])[];

/**
 * Whether a database that was just opened has all that was read from its logs before. When the disk does not let
 * LevelDB read a log, it opens the database without the rest of that log, says nothing, and deletes the log.
 */
export const hasReadLogs = (database: Database, logs: readonly LoggedBatches[]): boolean => {
  const later = new Set<string>();
  for (const log of logs.toReversed()) {
    const end = log.findLast((batch) => batch.some(({ key }) => !later.has(nameOf(key))));
    if (!(end ?? []).every((write) => later.has(nameOf(write.key)) || holds(database, write))) return false;
    if (logs.length > 1) for (const batch of log) for (const { key } of batch) later.add(nameOf(key));
  }
  return true;
};

const nameOf = (key: Buffer): string => key.toString("latin1");

const holds = (database: Database, { key, value }: BatchWrite): boolean => {
  const present = database.getSync(key);
  return value === undefined || present === undefined ? present === value : present.equals(value);
};

/** Writes what was read from the logs again, in its order, before anything else is written to the database. */
export const writeAgain = async (database: Database, logs: readonly LoggedBatches[], sync: boolean): Promise<void> => {
  for (const batch of logs.flat()) {
    const again = database.batch();
    for (const { key, value } of batch)
      if (value === undefined) again.del(key);
      else again.put(key, value);
    await again.write({ sync });
  }
};
