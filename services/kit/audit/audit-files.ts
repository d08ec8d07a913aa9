import { closeSync, fstatSync, mkdirSync, openSync, readdirSync, readSync, rmSync } from "node:fs";
import { join } from "node:path";

import type { ChainEnd } from "./audit-line.ts";
import { chainStart, readLine } from "./audit-line.ts";

const namePattern = /^audit-(\d{16})\.jsonl$/;

/** The name of the file whose first line has this number: names sort as their lines follow each other. */
const auditFileName = (firstSequence: number): string => `audit-${String(firstSequence).padStart(16, "0")}.jsonl`;

/** The names of the files of a directory in the order of their lines. */
const listAuditFiles = (directory: string): string[] =>
  readdirSync(directory)
    .filter((name) => namePattern.test(name))
    .toSorted();

/** An opened file and how it ends. */
export interface OpenedFile {
  readonly descriptor: number;
  readonly sizeBytes: number;
  /** Undefined if the last whole line is not one of a chain, so that nothing can follow it. */
  readonly end: ChainEnd | undefined;
  /** Bytes after the last whole line, of a process that was killed while it wrote. */
  readonly tornBytes: number;
}

/** Opens the newest file to append to it, or the first one of a new chain. Creates the directory. */
export const openNewest = (directory: string): OpenedFile => {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const [newest, ...older] = listAuditFiles(directory).toReversed();
  if (newest === undefined) return { descriptor: openFile(directory, 1), sizeBytes: 0, tornBytes: 0, end: chainStart };
  const descriptor = openSync(join(directory, newest), "a+", 0o600);
  const { sizeBytes, lastLine, tornBytes } = readEnd(descriptor);
  // A process that was killed when it had begun a file has written no whole line to it.
  const line = lastLine ?? older.map((name) => lastLineOf(join(directory, name))).find((text) => text !== undefined);
  return { descriptor, sizeBytes, tornBytes, end: line === undefined ? chainStart : readLine(line) };
};

const lastLineOf = (path: string): string | undefined => {
  const descriptor = openSync(path, "r");
  const { lastLine } = readEnd(descriptor);
  closeFile(descriptor);
  return lastLine;
};

/** The last whole line of a file, and the bytes after it. */
const readEnd = (descriptor: number) => {
  const sizeBytes = fstatSync(descriptor).size;
  const tail = Buffer.alloc(Math.min(sizeBytes, tailBytes));
  readSync(descriptor, tail, 0, tail.length, sizeBytes - tail.length);
  const wholeEnd = tail.lastIndexOf("\n") + 1;
  const lineStart = wholeEnd < 2 ? 0 : tail.lastIndexOf("\n", wholeEnd - 2) + 1;
  const lastLine = wholeEnd === 0 ? undefined : tail.toString("utf8", lineStart, wholeEnd - 1);
  return { sizeBytes, lastLine, tornBytes: tail.length - wholeEnd };
};

/** Creates the file whose first line has this number. */
export const openFile = (directory: string, firstSequence: number): number =>
  openSync(join(directory, auditFileName(firstSequence)), "a+", 0o600);

/** Removes the oldest files until at most `kept` are left. */
export const removeOldest = (directory: string, kept: number): void => {
  const names = listAuditFiles(directory);
  for (const name of names.slice(0, Math.max(0, names.length - kept))) rmSync(join(directory, name), { force: true });
};

/** Closes a file, whatever happens: nothing more is written to it. */
export const closeFile = (descriptor: number): void => {
  try {
    closeSync(descriptor);
  } catch {
    // The system has given it up.
  }
};

/** More than the longest line. */
const tailBytes = 64 * 1024;
