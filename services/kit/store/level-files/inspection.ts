import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";

import type { GroupMark } from "../group-mark.ts";
import { decodeGroupMark, groupKey } from "../group-mark.ts";
import type { LoggedBatches } from "../unread-logs.ts";
import type { FileDamage } from "./file-damage.ts";
import { fatalDamage, messageOfDamage, survivableDamage } from "./file-damage.ts";
import type { DamagedBytes, LogRecord } from "./log-file.ts";
import { loadCrc32c } from "./crc32c.ts";
import { readLog } from "./log-file.ts";
import { checkTables, tableName } from "./table-checks.ts";
import type { TableEntry } from "./table-file.ts";
import { firstEntry } from "./table-file.ts";
import type { TableFile, Version } from "./version.ts";
import { readVersion } from "./version.ts";
import type { BatchWrite } from "./write-batch.ts";
import { readBatch } from "./write-batch.ts";

/** The files of a database as they are before it is opened. */
export interface Inspection {
  readonly damages: readonly FileDamage[];
  /** The newest group that is in a table; undefined: none is. */
  readonly flushed: GroupMark | undefined;
  /** The groups that are only in logs, in the order in which LevelDB will apply them. */
  readonly logged: readonly GroupMark[];
  /** What these logs hold, log by log. */
  readonly logs: readonly LoggedBatches[];
}

/**
 * Reads what LevelDB is about to recover and verifies every checksum in it, which LevelDB itself does not: it drops
 * damaged blocks of a log without an error and does not verify the blocks of tables. Changes nothing. `tableBytesMax`
 * bounds how much of the tables is read. The database may be open elsewhere; what is found then may be wrong.
 */
export const inspectFiles = async (directory: string, tableBytesMax: number): Promise<Inspection> => {
  await loadCrc32c();
  const names = new Set(await readdir(directory));
  const damages: FileDamage[] = [];
  const version = await findVersion(directory, names, damages);
  if (version === undefined) return { damages, flushed: undefined, logged: [], logs: [] };
  damages.push(...(await checkTables(directory, names, version.tables, tableBytesMax)));
  const logs: LoggedBatches[] = [];
  for (const name of logsOf(version, names, damages)) {
    const file = await readFile(join(directory, name));
    const { records, damages: bytes } = readLog(file);
    damages.push(...bytes.map((each) => survivableDamage(name, describeBytes(each))));
    logs.push(batchesOf(records, name, damages));
  }
  const logged = logs.flat(2).flatMap((write) => markIn(write) ?? []);
  const flushed = await findFlushed(directory, names, version.tables, damages);
  return { damages, flushed, logged, logs };
};

/** The version that CURRENT points to; undefined for a database that is not there yet or cannot be read. */
const findVersion = async (
  directory: string,
  names: ReadonlySet<string>,
  damages: FileDamage[],
): Promise<Version | undefined> => {
  if (!names.has("CURRENT")) {
    const data = await findData(directory, names);
    if (data !== undefined) damages.push(fatalDamage("CURRENT", `is missing, although there is ${data}`));
    return undefined;
  }
  const current = await readFile(join(directory, "CURRENT"), "latin1");
  const manifest = /^(MANIFEST-\d+)\n$/.exec(current)?.[1];
  if (manifest === undefined || !names.has(manifest)) {
    const found = [...names].filter((name) => name.startsWith("MANIFEST-")).join(", ");
    damages.push(fatalDamage("CURRENT", `does not name a manifest of the directory, which has ${found || "none"}`));
    return undefined;
  }
  const { records, damages: bytes } = readLog(await readFile(join(directory, manifest)));
  damages.push(...bytes.map((each) => fatalDamage(manifest, describeBytes(each))));
  if (bytes.length > 0) return undefined;
  try {
    return readVersion(records);
  } catch (error) {
    damages.push(fatalDamage(manifest, messageOfDamage(error)));
    return undefined;
  }
};

const describeBytes = ({ offset, length }: DamagedBytes): string => `${length} bytes at ${offset} are damaged`;

/** A file that only a used database has. LevelDB would create a new, empty one where CURRENT is missing. */
const findData = async (directory: string, names: ReadonlySet<string>): Promise<string | undefined> => {
  for (const name of names) {
    if (/^\d+\.(?:ldb|sst)$/.test(name)) return name;
    if (logNumberOf(name) !== undefined && (await stat(join(directory, name))).size > 0) return name;
  }
  return undefined;
};

const logNumberOf = (name: string): number | undefined => {
  const digits = /^(\d+)\.log$/.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
};

/** The logs that LevelDB will apply, oldest first. */
const logsOf = (version: Version, names: ReadonlySet<string>, damages: FileDamage[]): string[] => {
  const logs = [...names]
    .flatMap((name) => {
      const number = logNumberOf(name);
      return number === undefined ? [] : [{ name, number }];
    })
    .filter(({ number }) => number >= version.logNumber || number === version.previousLogNumber)
    .toSorted((left, right) => left.number - right.number);
  if (version.logNumber > 0 && !logs.some(({ number }) => number === version.logNumber))
    damages.push(survivableDamage(`${String(version.logNumber).padStart(6, "0")}.log`, "is missing"));
  return logs.map(({ name }) => name);
};

const batchesOf = (records: readonly LogRecord[], name: string, damages: FileDamage[]): LoggedBatches =>
  records.flatMap(({ offset, payload }) => {
    try {
      const batch = readBatch(payload);
      for (const write of batch) markIn(write);
      return [batch];
    } catch (error) {
      damages.push(survivableDamage(name, `the batch at ${offset} is malformed: ${messageOfDamage(error)}`));
      return [];
    }
  });

/** The group that a write marks; undefined for all other writes. Throws RangeError when the mark is malformed. */
const markIn = ({ key, value }: BatchWrite): GroupMark | undefined =>
  value !== undefined && key.equals(groupKey) ? decodeGroupMark(value) : undefined;

/** The mark is the least key, so a table that has it begins with it. */
const findFlushed = async (
  directory: string,
  names: ReadonlySet<string>,
  tables: readonly TableFile[],
  damages: FileDamage[],
): Promise<GroupMark | undefined> => {
  const files = tables
    .filter(({ smallest }) => smallest.equals(groupKey))
    .map((table) => tableName(table, names))
    .filter((name) => names.has(name));
  const marks: GroupMark[] = [];
  for (const name of files) {
    const entry = firstEntryOrDamage(await readFile(join(directory, name)));
    try {
      if (entry !== undefined) marks.push(decodeGroupMark(entry.value));
    } catch (error) {
      damages.push(fatalDamage(name, `the mark of its newest group is malformed: ${messageOfDamage(error)}`));
    }
  }
  return marks.toSorted((left, right) => right.number - left.number)[0];
};

/** Undefined for a table that is damaged there, which the check of the tables reports. */
const firstEntryOrDamage = (file: Buffer): TableEntry | undefined => {
  try {
    return firstEntry(file);
  } catch (error) {
    messageOfDamage(error);
    return undefined;
  }
};
