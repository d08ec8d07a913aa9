import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { open, rename, rm } from "node:fs/promises";
import { join } from "node:path";

import type { Arn } from "../../kit/arn/arn.ts";
import { parseArn } from "../../kit/arn/arn.ts";
import { makeDirectory, syncDirectory } from "../../kit/files/directories.ts";
import { hasCode } from "../../kit/files/error-code.ts";
import { attemptText } from "./attempt-content.ts";
import type { Connector } from "./connector.ts";
import { oneLine } from "./one-line.ts";
import { logGroupName } from "./service-request.ts";

/** Bounds of the files of one log group. */
interface LogGroupLimits {
  /** Bytes after which a file is followed by a new one. */
  readonly fileBytesMax: number;
  /** Files of a group; the oldest is removed. */
  readonly filesMax: number;
}

const defaultLogGroupLimits: LogGroupLimits = { fileBytesMax: 64 * 1024 * 1024, filesMax: 8 };

/** The file that is written; the others are `events.1.log`, the latest, `events.2.log` and so on. */
const currentFile = "events.log";

/** Characters of an encoded name that a directory may have. */
const nameCharactersMax = 180;

/** Bytes of lines that wait after which the next ones are written after them. */
const waitingBytesMax = 1024 * 1024;

const newlineByte = 0x0a;
/** Bytes that are read at once where the end of the last whole line is looked for. */
const pieceBytes = 64 * 1024;

/** Lines of a group that are written together, because they came while others were being written. */
interface WaitingLines {
  readonly lines: string[];
  bytes: number;
  readonly written: Promise<void>;
}

/**
 * Log groups where no endpoint for them is configured: files under `<directory>/<account>/<log group>/`. The name of a
 * group is encoded as in URLs.
 */
export class LogGroupFiles {
  readonly #directory: string;
  readonly #limits: LogGroupLimits;
  readonly #waiting = new Map<string, WaitingLines>();
  readonly #writing = new Map<string, Promise<void>>();

  constructor(directory: string, limits = defaultLogGroupLimits) {
    this.#directory = directory;
    this.#limits = limits;
  }

  /** Appends texts to a group of an account, each as one line; resolves when they are on disk. */
  async append(arn: Arn, account: string, texts: readonly string[]): Promise<void> {
    const group = join(this.#directory, arn.account || account, directoryName(logGroupName(arn)));
    const lines = texts.map((text) => `${oneLine(text)}\n`).join("");
    let waiting = this.#waiting.get(group);
    if (waiting === undefined || waiting.bytes >= waitingBytesMax) waiting = this.#begin(group);
    waiting.lines.push(lines);
    waiting.bytes += Buffer.byteLength(lines);
    await waiting.written;
  }

  /** Lines that are written after those that are being written or wait. */
  #begin(group: string): WaitingLines {
    const before = this.#writing.get(group) ?? Promise.resolve();
    const lines: string[] = [];
    const write = async (): Promise<void> => {
      await before.catch(() => {});
      if (this.#waiting.get(group) === waiting) this.#waiting.delete(group);
      try {
        await append(group, lines, this.#limits);
      } finally {
        if (this.#writing.get(group) === waiting.written) this.#writing.delete(group);
      }
    };
    const waiting: WaitingLines = { lines, bytes: 0, written: Promise.resolve().then(write) };
    this.#waiting.set(group, waiting);
    this.#writing.set(group, waiting.written);
    return waiting;
  }
}

/** Delivers to log groups in files: a line of the input, on disk before the delivery ends. */
export const logGroupConnector =
  (groups: Pick<LogGroupFiles, "append">): Connector =>
  async (attempt) => {
    const arn = parseArn(attempt.target.arn);
    const input = attemptText(attempt);
    if (typeof input !== "string") return input;
    if (arn === undefined) throw new Error(`${attempt.target.arn} is not an ARN`);
    await groups.append(arn, attempt.account, [input]);
    return { kind: "delivered" };
  };

const directoryName = (group: string): string => {
  const encoded = encodeURIComponent(group).replace(/^\.+$/, (dots) => dots.replaceAll(".", "%2E"));
  if (encoded.length <= nameCharactersMax) return encoded;
  return encoded.slice(0, 100) + createHash("sha256").update(group).digest("hex");
};

const append = async (group: string, lines: readonly string[], limits: LogGroupLimits): Promise<void> => {
  await makeDirectory(group);
  const current = join(group, currentFile);
  for (let begin = 0; begin < lines.length;) {
    const file = await open(current, "a+");
    try {
      const size = await cutAfterWholeLines(file);
      const end = endOfFitting(lines, begin, size, limits.fileBytesMax);
      await file.appendFile(lines.slice(begin, end).join(""));
      await file.datasync();
      if (size === 0) await syncDirectory(group);
      begin = end;
    } finally {
      await file.close();
    }
    if (begin < lines.length) await rotate(group, limits.filesMax);
  }
};

/** Where the lines that fit into a file of a size end; an empty file has room for one, however long. */
const endOfFitting = (lines: readonly string[], begin: number, size: number, bytesMax: number): number => {
  let bytes = size;
  let end = begin;
  for (; end < lines.length; end += 1) {
    bytes += Buffer.byteLength(lines[end] as string);
    if (bytes > bytesMax && !(size === 0 && end === begin)) break;
  }
  return end;
};

/**
 * Removes the beginning of a line that a full disk or a crash cut off; its delivery has not ended, so it is written
 * again. Returns the bytes that the file has then.
 */
const cutAfterWholeLines = async (file: FileHandle): Promise<number> => {
  const { size } = await file.stat();
  const end = await endOfWholeLines(file, size);
  if (end < size) await file.truncate(end);
  return end;
};

/** Where the last whole line of a file of a size ends. */
const endOfWholeLines = async (file: FileHandle, size: number): Promise<number> => {
  let piece = Buffer.alloc(1);
  for (let end = size; end > 0;) {
    const begin = Math.max(0, end - piece.length);
    const { bytesRead } = await file.read(piece, 0, end - begin, begin);
    const newline = piece.subarray(0, bytesRead).lastIndexOf(newlineByte);
    if (newline !== -1) return begin + newline + 1;
    end = begin;
    piece = Buffer.alloc(pieceBytes);
  }
  return 0;
};

const rotate = async (group: string, filesMax: number): Promise<void> => {
  const numbered = (number: number): string => join(group, number === 0 ? currentFile : `events.${number}.log`);
  await rm(numbered(filesMax - 1), { force: true });
  for (let number = filesMax - 2; number >= 0; number -= 1)
    await rename(numbered(number), numbered(number + 1)).catch((error: unknown) => {
      if (!hasCode(error, "ENOENT")) throw error;
    });
};
