import { readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { FileDamage } from "./file-damage.ts";
import { fatalDamage, survivableDamage } from "./file-damage.ts";
import { findTableDamage } from "./table-file.ts";
import type { TableFile } from "./version.ts";

/** When each table was last checked, for databases that are too large to be checked whole at every start. */
const recordName = "checked-tables";
const readersMax = 4;

/** The name of a table's file; LevelDB called them `.sst` before. */
export const tableName = ({ number }: TableFile, names: ReadonlySet<string>): string => {
  const digits = String(number).padStart(6, "0");
  return names.has(`${digits}.sst`) ? `${digits}.sst` : `${digits}.ldb`;
};

/**
 * Checks that all tables are there with their size, and the checksum of each block in them. Of a database with more
 * than `bytesMax` in tables it reads that much: tables never checked first, then those whose check is longest ago.
 */
export const checkTables = async (
  directory: string,
  names: ReadonlySet<string>,
  tables: readonly TableFile[],
  bytesMax: number,
): Promise<FileDamage[]> => {
  const damages: FileDamage[] = [];
  const present: TableFile[] = [];
  for (const table of tables) {
    const found = await findSizeDamage(directory, tableName(table, names), table);
    if (found === undefined) present.push(table);
    else damages.push(found);
  }
  const isPartial = present.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) > bytesMax;
  const checkedMs = isPartial ? await readRecord(directory) : new Map<number, number>();
  const waiting = isPartial ? longestAgo(present, checkedMs, bytesMax) : present;
  const check = async (): Promise<void> => {
    for (let table = waiting.shift(); table !== undefined; table = waiting.shift()) {
      const name = tableName(table, names);
      const detail = findTableDamage(await readFile(join(directory, name)));
      if (detail === undefined) checkedMs.set(table.number, Date.now());
      else
        damages.push(
          survivableDamage(name, `${detail}; it holds keys ${hex(table.smallest)} to ${hex(table.largest)}`),
        );
    }
  };
  await Promise.all(Array.from({ length: readersMax }, check));
  if (isPartial) await writeRecord(directory, present, checkedMs);
  return damages;
};

const findSizeDamage = async (directory: string, name: string, table: TableFile): Promise<FileDamage | undefined> => {
  try {
    const { size } = await stat(join(directory, name));
    if (size === table.sizeBytes) return undefined;
    return survivableDamage(name, `has ${size} bytes, not ${table.sizeBytes}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return fatalDamage(name, "is missing");
  }
};

const longestAgo = (
  tables: readonly TableFile[],
  checkedMs: ReadonlyMap<number, number>,
  bytesMax: number,
): TableFile[] => {
  const chosen: TableFile[] = [];
  let bytes = 0;
  const order = ({ number }: TableFile): number => checkedMs.get(number) ?? 0;
  for (const table of tables.toSorted((left, right) => order(left) - order(right))) {
    bytes += table.sizeBytes;
    if (bytes > bytesMax) break;
    chosen.push(table);
  }
  return chosen;
};

/** Lines of a table's number and the milliseconds of its check. What cannot be read counts as never checked. */
const readRecord = async (directory: string): Promise<Map<number, number>> => {
  const text = await readFile(join(directory, recordName), "utf8").catch(() => "");
  return new Map([...text.matchAll(/^(\d+) (\d+)$/gm)].map((match) => [Number(match[1]), Number(match[2])]));
};

const writeRecord = async (
  directory: string,
  tables: readonly TableFile[],
  checkedMs: ReadonlyMap<number, number>,
): Promise<void> => {
  const lines = tables.flatMap(({ number }) => {
    const ms = checkedMs.get(number);
    return ms === undefined ? [] : [`${number} ${ms}\n`];
  });
  const path = join(directory, recordName);
  await writeFile(`${path}.new`, lines.join(""));
  await rename(`${path}.new`, path);
};

const hex = (key: Buffer): string => key.toString("hex");
