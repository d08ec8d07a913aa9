import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";

/** The processes that a process started, and those that they did. */
export const descendants = (pid: number): number[] => {
  const lines = execFileSync("ps", ["-e", "-o", "pid=,ppid="]).toString().trim().split("\n");
  const pairs = lines.map((line) => line.trim().split(/\s+/).map(Number));
  const below = (parent: number): number[] =>
    pairs.flatMap(([child = 0, of]) => (of === parent ? [child, ...below(child)] : []));
  return below(pid);
};

/** MiB of a process, of which pages that several processes share count in parts. */
export interface ProportionalMemory {
  readonly all: number;
  /** Without the pages of files, which the system takes back where it needs them. */
  readonly anonymous: number;
}

export const proportionalMemory = async (pid: number): Promise<ProportionalMemory> => {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, "utf8");
  const mebibytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1]) / 1024;
  return { all: mebibytes("Pss"), anonymous: mebibytes("Pss_Anon") };
};
