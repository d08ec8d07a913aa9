import type { FileHandle } from "node:fs/promises";
import { open } from "node:fs/promises";
import { join } from "node:path";

import type { Client } from "@connectrpc/connect";

import type { BackupService, ExportRecordsResponse } from "../../../gen/quartet/kit/backup/v1/backup_service_pb.ts";
import { currentFormat, readFormat } from "../store/data-format.ts";
import { copyContent, mebibytes } from "./content-copy.ts";
import { ContentListWriter, readContentList } from "./content-list.ts";
import { RecordFileReader } from "./record-file.ts";
import type { Damage, StoredData } from "./stored-data.ts";
import type { BackupReport, BackupTask } from "./tasks.ts";
import { contentFile, recordsFile } from "./tasks.ts";

/** The running process whose store is backed up. */
export interface BackedUpProcess {
  readonly name: string;
  /** Its own directory, which holds its content. */
  readonly directory: string;
  readonly stored: StoredData;
  readonly client: Client<typeof BackupService>;
  /** A token for the export. */
  token(): Promise<string>;
}

/**
 * Writes the records of a running process, verified, as of one instant, and then the content that they refer to, which
 * the process keeps meanwhile. Fails if the process ends before.
 */
export const backUpPart = async (
  task: BackupTask,
  source: BackedUpProcess,
  report: (progress: string) => void,
): Promise<BackupReport> => {
  const { name, directory, stored, client } = source;
  const format = (await readFormat(directory))?.version ?? currentFormat;
  const ending = new AbortController();
  const exported = client.exportRecords(
    {},
    { signal: ending.signal, headers: { authorization: `Bearer ${await source.token()}` } },
  );
  const messages = exported[Symbol.asyncIterator]();
  try {
    const written = await writeRecords(task, name, stored, messages, report);
    const { files, fileBytes, records, recordBytes, damages } = written;
    if (stored.content === undefined || files === 0)
      return { format, records, recordBytes, files, fileBytes, newFiles: 0, damages };
    const lost = new AbortController();
    const holding = keepReading(messages).catch((error: unknown) => lost.abort(error));
    const copied = await copyContent({
      files: readContentList(join(task.snapshot, contentFile(name))),
      count: files,
      from: directory,
      to: task.pool,
      stage: task.stage,
      isLinked: task.isLinked,
      content: stored.content,
      signal: lost.signal,
      report,
    });
    lost.signal.throwIfAborted();
    ending.abort();
    await holding;
    const newFiles = copied.files;
    return { format, records, recordBytes, files, fileBytes, newFiles, damages: [...damages, ...copied.damages] };
  } finally {
    ending.abort();
  }
};

type Messages = AsyncIterator<ExportRecordsResponse>;
type WrittenRecords = Omit<BackupReport, "format" | "newFiles">;

const writeRecords = async (
  task: BackupTask,
  name: string,
  stored: StoredData,
  messages: Messages,
  report: (progress: string) => void,
): Promise<WrittenRecords> =>
  withNewFile(join(task.snapshot, recordsFile(name)), (file) =>
    withNewFile(join(task.snapshot, contentFile(name)), async (listFile) => {
      const reader = new RecordFileReader();
      const list = new ContentListWriter(listFile);
      let recordBytes = 0;
      for (;;) {
        const next = await messages.next();
        if (next.done === true) throw new Error(`${name} ended before its records were complete`);
        const { chunk, isComplete, damagedKeys } = next.value;
        for (const record of reader.add(chunk)) {
          const content = stored.content?.fileOf(record);
          if (content !== undefined) await list.add(content);
        }
        await file.writeFile(chunk);
        recordBytes += chunk.byteLength;
        if (!isComplete) continue;
        await list.flush();
        const records = reader.end();
        report(`${records} records, ${mebibytes(recordBytes)} MiB`);
        const damages: Damage[] = damagedKeys.map((key) => ({
          subject: `record ${Buffer.from(key).toString("hex")}`,
          reason: "the record is damaged",
        }));
        return { records, recordBytes, files: list.count, fileBytes: list.bytes, damages };
      }
    }),
  );

/** Keeps the call open. Rejects when it ends, also if it was ended here. */
const keepReading = async (messages: Messages): Promise<never> => {
  for (;;) {
    const next = await messages.next();
    if (next.done === true) throw new Error("the process ended while its content was copied");
  }
};

/** Writes a new file, which is durable when this resolves. */
const withNewFile = async <T>(path: string, write: (file: FileHandle) => Promise<T>): Promise<T> => {
  const file = await open(path, "wx", 0o600);
  try {
    const written = await write(file);
    await file.sync();
    return written;
  } finally {
    await file.close();
  }
};
