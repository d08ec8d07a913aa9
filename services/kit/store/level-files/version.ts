import { ByteCursor } from "./byte-cursor.ts";
import type { LogRecord } from "./log-file.ts";

/** One table file of a database. */
export interface TableFile {
  readonly number: number;
  readonly sizeBytes: number;
  /** The least and the greatest key, as the store writes them. */
  readonly smallest: Buffer;
  readonly largest: Buffer;
}

/** The files that a database consists of, after all edits of its manifest. */
export interface Version {
  /** Logs with this number or a greater one hold writes that are in no table. */
  readonly logNumber: number;
  /** An older log that holds such writes too; 0: none does. */
  readonly previousLogNumber: number;
  readonly tables: readonly TableFile[];
}

/** What follows each key in a table: sequence number and kind of the write. */
export const internalSuffixBytes = 8;

const fields = {
  comparator: 1,
  logNumber: 2,
  nextFileNumber: 3,
  lastSequence: 4,
  compactPointer: 5,
  deletedFile: 6,
  newFile: 7,
  previousLogNumber: 9,
} as const;

/** Applies the edits of a manifest. Throws RangeError if an edit is malformed or a required number is missing. */
export const readVersion = (edits: readonly LogRecord[]): Version => {
  const numbers = new Map<number, number>();
  const tables = new Map<number, TableFile>();
  for (const { payload } of edits) applyEdit(new ByteCursor(payload), numbers, tables);
  for (const name of ["logNumber", "nextFileNumber", "lastSequence"] as const)
    if (!numbers.has(fields[name])) throw new RangeError(`the manifest has no ${name}`);
  return {
    logNumber: numbers.get(fields.logNumber) ?? 0,
    previousLogNumber: numbers.get(fields.previousLogNumber) ?? 0,
    tables: [...tables.values()],
  };
};

const applyEdit = (edit: ByteCursor, numbers: Map<number, number>, tables: Map<number, TableFile>): void => {
  // Within one edit deletions come first, whatever their place: a table that changes its level is deleted and added.
  const added: TableFile[] = [];
  while (!edit.isAtEnd) {
    const field = edit.varint();
    if (field === fields.comparator) edit.lengthPrefixed();
    else if (field === fields.compactPointer) {
      edit.varint();
      edit.lengthPrefixed();
    } else if (field === fields.deletedFile) {
      edit.varint();
      tables.delete(edit.varint());
    } else if (field === fields.newFile) {
      edit.varint();
      added.push({
        number: edit.varint(),
        sizeBytes: edit.varint(),
        smallest: userKey(edit.lengthPrefixed()),
        largest: userKey(edit.lengthPrefixed()),
      });
    } else if (Object.values<number>(fields).includes(field)) numbers.set(field, edit.varint());
    else throw new RangeError(`the manifest has an unknown field ${field}`);
  }
  for (const table of added) tables.set(table.number, table);
};

const userKey = (internal: Buffer): Buffer => internal.subarray(0, -internalSuffixBytes);
