import { createHash } from "node:crypto";
import { appendFile, mkdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";

import type { Arn } from "../../kit/arn/arn.ts";
import { parseArn } from "../../kit/arn/arn.ts";
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
  await mkdir(group, { recursive: true });
  const current = join(group, currentFile);
  let size = await sizeOf(current);
  for (let begin = 0; begin < lines.length;) {
    let end = begin;
    let bytes = 0;
    for (; end < lines.length; end += 1) {
      const next = Buffer.byteLength(lines[end] as string);
      if (size + bytes > 0 && size + bytes + next > limits.fileBytesMax) break;
      bytes += next;
    }
    if (end > begin) await appendFile(current, lines.slice(begin, end).join(""), { flush: true });
    if (end < lines.length) await rotate(group, limits.filesMax);
    size = 0;
    begin = end;
  }
};

const sizeOf = async (file: string): Promise<number> => {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return 0;
    throw error;
  }
};

const rotate = async (group: string, filesMax: number): Promise<void> => {
  const numbered = (number: number): string => join(group, number === 0 ? currentFile : `events.${number}.log`);
  await rm(numbered(filesMax - 1), { force: true });
  for (let number = filesMax - 2; number >= 0; number -= 1)
    if ((await sizeOf(numbered(number))) > 0) await rename(numbered(number), numbered(number + 1));
};
