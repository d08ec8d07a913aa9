import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/*
 * What a disk would hold if the power failed while a process ran. `strace` records every call that changes files, with
 * its bytes and in its order; the record is replayed here on a disk that keeps two truths: what the process sees, and
 * what is certain. File data is certain up to the last fsync or fdatasync of the file. A name is certain when its
 * directory was synced or, as on every common file system, when the file itself was synced after it was created.
 * Whether other changes of names survive is open, so a loss can be played both ways.
 */

/** How much of what is not certain a loss leaves. */
export interface Loss {
  /** Names created, renamed or deleted since the directory was last synced: kept or undone. */
  readonly names: "kept" | "undone";
  /** Which part of a file's unsynced writes survives, from 0 to 1: the earlier ones, and one of them in part. */
  readonly tail: number;
}

interface FileWrite {
  readonly offset: number;
  readonly bytes: Buffer;
}

/** A file of a replayed disk. */
export interface File {
  readonly writes: FileWrite[];
  /** Where the next write goes that names no place. */
  end: number;
  /** How many of the writes are synced. */
  syncedCount: number;
}

/** A call that a traced process made: its arguments and its result as the record has them. */
export type Call = { readonly name: string; readonly args: string; readonly result: string };

const traced =
  "openat,write,writev,pwrite64,pwritev,fsync,fdatasync,rename,renameat2,link,unlink,unlinkat,mkdir,rmdir,ftruncate," +
  "fallocate";

/** Whether processes can be traced here. */
export const canTrace = (): boolean => spawnSync("strace", ["-o", "/dev/null", "true"]).status === 0;

/** Runs a command to its end and gives the calls that it made, in their order. */
export const traceCalls = (command: readonly string[], record: string): Call[] => {
  const run = spawnSync("strace", [
    "-f",
    "--seccomp-bpf",
    "-y",
    "-xx",
    "-s",
    "100000000",
    "-e",
    `trace=${traced}`,
    "-o",
    record,
    ...command,
  ]);
  if (run.status !== 0) throw new Error(`the traced process failed: ${run.stderr.toString()}`);
  const unfinished = new Map<string, string>();
  const calls: Call[] = [];
  for (const line of readFileSync(record, "latin1").split("\n")) {
    const [, process, rest] = /^(\d+)\s+(.*)$/s.exec(line) ?? [];
    if (process === undefined || rest === undefined) continue;
    if (rest.endsWith("<unfinished ...>")) {
      unfinished.set(process, rest.slice(0, -"<unfinished ...>".length));
      continue;
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/s.exec(rest);
    const whole = resumed === null ? rest : `${unfinished.get(process) ?? ""}${resumed[1]}`;
    const call = /^(\w+)\((.*)\)\s+= (.*)$/s.exec(whole);
    if (call !== null && !call[3]?.startsWith("-1")) calls.push({ name: call[1]!, args: call[2]!, result: call[3]! });
  }
  return calls;
};

const bytesOf = (quoted: string): Buffer => Buffer.from(quoted.replaceAll(/["\\x]/g, ""), "hex");
/** The texts among the arguments of a call, in their order. */
export const strings = (args: string): Buffer[] =>
  [...args.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map((match) => bytesOf(match[1]!));
/** The path of a call's descriptor. */
export const pathOf = (descriptor: string): string =>
  bytesOf(/<((?:\\x[0-9a-f]{2})*)>/.exec(descriptor)?.[1] ?? "").toString();

/** A call by which a file or a name becomes certain, or by which a process reports on its standard output. */
export interface Step {
  readonly name: "fsync" | "fdatasync" | "rename" | "write";
  /** Of the file or directory; of a rename, the former name. */
  readonly path: string;
  /** What was written on standard output. */
  readonly text: string;
}

/** The syncs, renames and lines of standard output among the calls, in their order. */
export const stepsOf = (calls: readonly Call[]): Step[] =>
  calls.flatMap(({ name, args }): Step[] => {
    if (name === "fsync" || name === "fdatasync") return [{ name, path: pathOf(args), text: "" }];
    if (name === "rename") return [{ name, path: strings(args)[0]!.toString(), text: "" }];
    if (name !== "write" || !args.startsWith("1<")) return [];
    return [{ name, path: "standard output", text: strings(args)[0]!.toString().trim() }];
  });

/** One directory of files that are appended to or, with `pwrite`, overwritten in place. */
export class TracedDisk {
  readonly #directory: string;
  readonly #seen = new Map<string, File>();
  #certain = new Map<string, File>();
  /** The lines written on standard output so far. */
  readonly lines: string[] = [];

  constructor(directory: string) {
    this.#directory = directory;
  }

  apply(call: Call): void {
    const { name, args, result } = call;
    if (name === "write" && args.startsWith("1<")) {
      this.lines.push(...strings(args)[0]!.toString().trim().split("\n"));
      return;
    }
    const [first] = strings(args);
    if (name === "openat") {
      const path = first!.toString();
      if (!this.#holds(path) || !args.includes("O_CREAT")) return;
      if (!this.#seen.has(basename(path)) || args.includes("O_TRUNC"))
        this.#seen.set(basename(path), { writes: [], end: 0, syncedCount: 0 });
      return;
    }
    if (name === "rename" || name === "unlink") {
      const path = first!.toString();
      const file = this.#seen.get(basename(path));
      if (!this.#holds(path) || file === undefined) return;
      this.#seen.delete(basename(path));
      if (name === "rename") this.#seen.set(basename(strings(args)[1]!.toString()), file);
      return;
    }
    const path = pathOf(args);
    if (path === this.#directory && name === "fsync") this.#certain = new Map(this.#seen);
    const file = this.#seen.get(basename(path));
    if (!this.#holds(path) || file === undefined) return;
    if (name === "write") {
      const bytes = first!.subarray(0, Number(result));
      file.writes.push({ offset: file.end, bytes });
      file.end += bytes.byteLength;
    } else if (name === "pwrite64") {
      file.writes.push({ offset: Number(/, (\d+)\s*$/.exec(args)![1]), bytes: first!.subarray(0, Number(result)) });
    } else if (name === "fsync" || name === "fdatasync") {
      file.syncedCount = file.writes.length;
      this.#certain.set(basename(path), file);
    } else throw new Error(`${name} of ${path} is not known here`);
  }

  /** Makes a directory with what is left after a loss. */
  async leave(loss: Loss, directory: string): Promise<void> {
    await mkdir(directory);
    for (const [name, file] of loss.names === "kept" ? this.#seen : this.#certain) {
      if (name !== "LOCK") await writeFile(join(directory, name), contentAfter(file, loss.tail));
    }
  }

  #holds(path: string): boolean {
    return dirname(path) === this.#directory;
  }
}

/** What a file holds when of its unsynced bytes only this part was written, in the order of the writes. */
export const contentAfter = ({ writes, syncedCount }: File, tail: number): Buffer => {
  const unsynced = writes.slice(syncedCount);
  let left = Math.floor(unsynced.reduce((sum, { bytes }) => sum + bytes.byteLength, 0) * tail);
  const kept = writes.slice(0, syncedCount);
  for (const { offset, bytes } of unsynced) {
    kept.push({ offset, bytes: bytes.subarray(0, left) });
    left = Math.max(0, left - bytes.byteLength);
  }
  const content = Buffer.alloc(Math.max(0, ...kept.map(({ offset, bytes }) => offset + bytes.byteLength)));
  for (const { offset, bytes } of kept) bytes.copy(content, offset);
  return content;
};
