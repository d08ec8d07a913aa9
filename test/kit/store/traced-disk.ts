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
  /** Which part of a file's unsynced end survives, from 0 to 1. */
  readonly tail: number;
}

interface File {
  readonly chunks: Buffer[];
  length: number;
  syncedLength: number;
}

type Call = { readonly name: string; readonly args: string; readonly result: string };

const traced = "openat,write,writev,pwrite64,pwritev,fsync,fdatasync,rename,renameat2,unlink,ftruncate,fallocate";

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
const strings = (args: string): Buffer[] =>
  [...args.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map((match) => bytesOf(match[1]!));
/** The path that strace shows behind a descriptor. */
const pathOf = (descriptor: string): string =>
  bytesOf(/<((?:\\x[0-9a-f]{2})*)>/.exec(descriptor)?.[1] ?? "").toString();

/** One directory of files that are only ever appended to, as LevelDB's are. */
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
        this.#seen.set(basename(path), { chunks: [], length: 0, syncedLength: 0 });
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
      const written = first!.subarray(0, Number(result));
      file.chunks.push(written);
      file.length += written.byteLength;
    } else if (name === "fsync" || name === "fdatasync") {
      file.syncedLength = file.length;
      this.#certain.set(basename(path), file);
    } else throw new Error(`${name} of ${path} is not known here`);
  }

  /** Makes a directory with what is left after a loss. */
  async leave(loss: Loss, directory: string): Promise<void> {
    await mkdir(directory);
    for (const [name, file] of loss.names === "kept" ? this.#seen : this.#certain) {
      const kept = file.syncedLength + Math.floor((file.length - file.syncedLength) * loss.tail);
      if (name !== "LOCK") await writeFile(join(directory, name), Buffer.concat(file.chunks).subarray(0, kept));
    }
  }

  #holds(path: string): boolean {
    return dirname(path) === this.#directory;
  }
}
