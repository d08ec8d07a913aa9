import { rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";

import { fromBinary } from "@bufbuild/protobuf";

import { bytesOf } from "../store/byte-string.ts";
import type { DumpedRecord } from "../store/dump.ts";
import { openStore } from "../store/store.ts";
import type { Table } from "../store/table.ts";
import { decodeKey, pretty } from "../store/table.ts";
import { RecordFileError } from "./record-file.ts";
import { restorePart } from "./restore-part.ts";
import type { ContentFile, Damage, StoredData } from "./stored-data.ts";
import type { VerifyReport, VerifySnapshotsTask, VerifyTask } from "./tasks.ts";
import { recordsFile } from "./tasks.ts";

/** Damages of one process that are listed; more are counted. */
const listedMax = 1_000;
/** Files that are read at the same time. */
const readsMax = 4;
/** Files of snapshots that are not read again for older ones. */
const knownFilesMax = 1_000_000;
const progressMs = 2_000;

/**
 * Reads everything in the directory of a process that is not running: every record, what records refer to, every file
 * of content. Opening the database verifies the checksums of its files, and throws StoreDamageError if one fails.
 */
export const verifyPart = async (
  { directory }: VerifyTask,
  stored: StoredData,
  report: (progress: string) => void,
): Promise<VerifyReport> => verifyData(directory, stored, () => contentReader(stored, directory), report);

/** Reads everything that snapshots have of a process. A file that several of them share is read once. */
export const verifySnapshots = async (
  { snapshots, pool, scratch }: VerifySnapshotsTask,
  name: string,
  stored: StoredData,
  report: (progress: string) => void,
): Promise<readonly VerifyReport[]> => {
  const read = await contentReader(stored, pool);
  const reports: VerifyReport[] = [];
  for (const snapshot of snapshots) {
    const progress = (done: string): void => report(`${basename(snapshot)}: ${done}`);
    const task = { verb: "restore", snapshot, pool, directory: scratch, withContent: false } as const;
    await rm(scratch, { recursive: true, force: true });
    try {
      await restorePart(task, name, stored, () => undefined);
      reports.push(await verifyData(scratch, stored, () => Promise.resolve(read), progress));
    } catch (error) {
      if (!(error instanceof RecordFileError)) throw error;
      const damage = { subject: recordsFile(name), reason: error.message };
      reports.push({ records: 0, files: 0, damages: [damage] });
    }
  }
  await rm(scratch, { recursive: true, force: true });
  return reports;
};

type ReadContent = (files: readonly ContentFile[]) => Promise<readonly Damage[]>;

/** Reads files of content below a directory, each once, and returns the damages of those that it was asked for. */
const contentReader = async ({ content }: StoredData, directory: string): Promise<ReadContent> => {
  if (content === undefined) return () => Promise.resolve([]);
  const check = await content.openCheck(directory);
  const whole = new Set<string>();
  const damageOf = async (file: ContentFile): Promise<readonly Damage[]> => {
    const name = `${file.sizeBytes} ${file.path}`;
    if (whole.has(name)) return [];
    try {
      await check(file);
    } catch (error) {
      return [{ subject: file.path, reason: error instanceof Error ? error.message : String(error) }];
    }
    if (whole.size < knownFilesMax) whole.add(name);
    return [];
  };
  return async (files) => {
    const damages: Damage[] = [];
    for (let first = 0; first < files.length; first += readsMax)
      damages.push(...(await Promise.all(files.slice(first, first + readsMax).map(damageOf))).flat());
    return damages;
  };
};

const verifyData = async (
  directory: string,
  { layout, content, findBroken }: StoredData,
  openContent: () => Promise<ReadContent>,
  report: (progress: string) => void,
): Promise<VerifyReport> => {
  // LevelDB would create a database where there is none.
  await stat(join(directory, "leveldb", "CURRENT"));
  const store = await openStore({ directory: join(directory, "leveldb") });
  const tables = new Map(layout.map((table) => [table.number, table]));
  const damages = new Map<string, Damage>();
  let [records, files, unlisted, saidMs] = [0, 0, 0, performance.now()];
  const note = (damage: Damage): void => {
    if (damages.size < listedMax) damages.set(damage.subject, damage);
    else unlisted += 1;
  };
  try {
    // Only when the database is open is it certain that no process uses the content.
    const read = await openContent();
    for await (const page of store.dump()) {
      const contents: ContentFile[] = [];
      for (const record of page) {
        records += 1;
        const damage = damageOf(tables, record);
        if (damage !== undefined) note(damage);
        const file = damage === undefined && record.payload !== undefined ? content?.fileOf(record) : undefined;
        if (file !== undefined) contents.push(file);
      }
      for (const damage of await read(contents)) note(damage);
      files += contents.length;
      if (performance.now() - saidMs < progressMs) continue;
      saidMs = performance.now();
      report(`${records} records, ${files} files`);
    }
    for (const damage of (await findBroken?.(store)) ?? []) note(damage);
  } finally {
    await store.close();
  }
  const more = unlisted === 0 ? [] : [{ subject: "more", reason: `${unlisted} further damages` }];
  return { records, files, damages: [...damages.values(), ...more] };
};

/** Why a record cannot be read; undefined if it can. */
const damageOf = (tables: ReadonlyMap<number, Table>, { key, payload }: DumpedRecord): Damage | undefined => {
  const table = tables.get(key.charCodeAt(0) * 256 + key.charCodeAt(1));
  let subject = `record ${bytesOf(key).toString("hex")}`;
  if (table === undefined) return { subject, reason: "no table of this program has it" };
  try {
    subject = pretty(table, decodeKey(table, key));
    if (payload === undefined) return { subject, reason: "the record is damaged" };
    fromBinary(table.schema, payload);
    return undefined;
  } catch {
    return { subject, reason: `the record is not one of ${table.name}` };
  }
};
