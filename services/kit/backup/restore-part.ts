import { createReadStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import type { RawEntry } from "../store/engine.ts";
import { fillDatabase } from "../store/fill.ts";
import { copyContent } from "./content-copy.ts";
import { readContentList } from "./content-list.ts";
import { RecordFileReader } from "./record-file.ts";
import type { StoredData } from "./stored-data.ts";
import type { RestoreReport, RestoreTask } from "./tasks.ts";
import { contentFile, recordsFile } from "./tasks.ts";

const pieceBytes = 256 * 1024;

/** Fills the directory of a process from a snapshot. Throws if any part of it is not as it was written. */
export const restorePart = async (
  { snapshot, pool, directory, withContent }: RestoreTask,
  name: string,
  { content }: StoredData,
  report: (progress: string) => void,
): Promise<RestoreReport> => {
  await mkdir(directory, { recursive: true });
  const reader = new RecordFileReader();
  await fillDatabase(join(directory, "leveldb"), readRecords(join(snapshot, recordsFile(name)), reader));
  const records = reader.end();
  report(`${records} records`);
  if (content === undefined || !withContent) return { records, files: 0, damages: [] };
  const list = join(snapshot, contentFile(name));
  const { files, damages } = await copyContent({
    files: readContentList(list),
    count: await lengthOf(readContentList(list)),
    from: pool,
    to: directory,
    stage: join(directory, "restoring"),
    isLinked: false,
    content,
    signal: new AbortController().signal,
    report,
  });
  return { records, files, damages };
};

async function* readRecords(path: string, reader: RecordFileReader): AsyncGenerator<RawEntry> {
  for await (const piece of createReadStream(path, { highWaterMark: pieceBytes })) yield* reader.add(piece as Buffer);
  reader.end();
}

const lengthOf = async (items: AsyncIterable<unknown>): Promise<number> => {
  let count = 0;
  for await (const _item of items) count += 1;
  return count;
};
