import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { temporaryDirectory } from "../../support/temporary-directory.ts";

/** Calls at which a disk may fail. */
const diskCalls = "openat,read,pread64,preadv,write,writev,pwrite64,pwritev,fsync,fdatasync,rename,mkdir,unlink,mmap";

/** What a process of a test does on a disk. */
export interface DiskProcess {
  readonly command: readonly string[];
  /** The files and directories whose calls count. Those of the program itself never fail. */
  readonly paths: readonly string[];
}

/** How a process ended, and what it printed. */
export interface FaultyRun {
  /** Undefined: it was ended by a signal. */
  readonly status: number | null;
  readonly lines: readonly string[];
}

/** A call that fails: the `at`-th of its kind that each thread makes, and with `isLasting` all that follow. */
export interface DiskFault {
  readonly call: string;
  readonly at: number;
  readonly isLasting: boolean;
}

const stracePrefix = (paths: readonly string[], record: string): string[] => [
  "-f",
  "-qq",
  "-o",
  record,
  ...paths.flatMap((path) => ["-P", path]),
  "-e",
  `trace=${diskCalls}`,
];

const run = (prefix: readonly string[], { command }: DiskProcess): FaultyRun => {
  const { status, stdout, stderr } = spawnSync("strace", [...prefix, ...command], {
    encoding: "utf8",
    // One thread makes the calls, so that their numbers are the same in each run.
    env: { ...process.env, UV_THREADPOOL_SIZE: "1" },
    timeout: 60_000,
    killSignal: "SIGKILL",
  });
  if (stderr.includes("strace:")) throw new Error(stderr);
  return { status, lines: stdout.split("\n").filter(Boolean) };
};

/** How often a process makes each call, by name: the most of any thread. */
export const countDiskCalls = async (traced: DiskProcess): Promise<Map<string, number>> => {
  const record = join(await temporaryDirectory(), "calls");
  run(stracePrefix(traced.paths, record), traced);
  const byThread = new Map<string, number>();
  for (const line of readFileSync(record, "latin1").split("\n")) {
    const [, thread, call] = /^(\d+)\s+(\w+)\(/.exec(line) ?? [];
    if (call !== undefined) byThread.set(`${thread} ${call}`, (byThread.get(`${thread} ${call}`) ?? 0) + 1);
  }
  const counts = new Map<string, number>();
  for (const [key, count] of byThread) {
    const call = key.slice(key.indexOf(" ") + 1);
    counts.set(call, Math.max(count, counts.get(call) ?? 0));
  }
  return counts;
};

/** Runs a process on a disk that answers EIO at a call. */
export const runWithFault = (traced: DiskProcess, { call, at, isLasting }: DiskFault): FaultyRun =>
  run(
    [...stracePrefix(traced.paths, "/dev/null"), "-e", `inject=${call}:error=EIO:when=${at}${isLasting ? "+" : ""}`],
    traced,
  );

/** Numbers from 1 to `count`, as many as wanted, in equal steps; all if there are no more. */
export const spread = (count: number, wanted: number): number[] => {
  const steps = Math.min(count, wanted);
  return Array.from({ length: steps }, (_, index) => 1 + Math.floor(((index + 0.5) * count) / steps));
};
