import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import type { BenchGroup, BenchRow, ComparedRows } from "./bench.ts";

/** How often each clone measures a group that cannot measure both in the same rounds. */
const rounds = 3;

const rowsOf = async (directory: string, file: string): Promise<BenchRow[]> => {
  const child = fork(join(import.meta.dirname, "peers/group.ts"), [directory, file], { cwd: directory });
  const answered = once(child, "message");
  const ended = once(child, "exit");
  const [rows] = (await Promise.race([answered, ended])) as [BenchRow[] | number | null];
  if (!Array.isArray(rows)) throw new Error(`${file} of ${directory} ended without rows`);
  await ended;
  return rows;
};

/** The row of the median ratio. */
const medianRow = (rows: readonly BenchRow[]): BenchRow =>
  rows.toSorted((a, b) => a.ratio - b.ratio)[rows.length >> 1]!;

/** The medians of rows that were measured several times. */
const medians = (measured: readonly (readonly BenchRow[])[]): BenchRow[] =>
  (measured[0] ?? []).map((_row, index) => medianRow(measured.map((rows) => rows[index]!)));

/** Measures a group of both clones, in turns, every other round in the opposite order. */
const inTurns = async (directory: string, own: string, file: string): Promise<ComparedRows> => {
  const before: BenchRow[][] = [];
  const after: BenchRow[][] = [];
  for (let round = 0; round < rounds; round += 1) {
    const turns = [
      async () => before.push(await rowsOf(directory, file)),
      async () => after.push(await rowsOf(own, file)),
    ];
    for (const turn of round % 2 === 0 ? turns : turns.toReversed()) await turn();
  }
  return { before: medians(before), after: medians(after) };
};

/** One row of both clones. */
export interface Comparison {
  readonly before: BenchRow;
  readonly after: BenchRow;
  /** How much better it became: more than 1 is better, whatever the figure measures. */
  readonly gain: number;
  /** What was compared: the costs themselves, or the ratios to the bare building blocks. */
  readonly of: "costs" | "ratios";
}

/** Compares the rows that both clones have. */
export const compareRows = ({ before, after }: ComparedRows, of: Comparison["of"]): Comparison[] =>
  after.flatMap((row) => {
    const other = before.find(({ what }) => what === row.what);
    if (other === undefined) return [];
    return [
      { before: other, after: row, gain: of === "costs" ? other.value / row.value : row.ratio / other.ratio, of },
    ];
  });

/**
 * Measures a group of this clone of the repository and of another one in turns. Where both are measured in the same
 * rounds, their costs are compared: each has a bare figure of its own, whose spread says nothing of the clones. Where
 * whole groups are measured in turns, minutes lie between them, so their ratios are compared.
 */
export const compareGroup = async (
  group: BenchGroup,
  file: string,
  directory: string,
  only?: string,
): Promise<Comparison[]> => {
  const own = join(import.meta.dirname, "../..");
  const sameRounds = await group.runAgainst?.(directory, only);
  if (sameRounds !== undefined) return compareRows(sameRounds, "costs");
  return compareRows(await inTurns(directory, own, file), "ratios");
};
