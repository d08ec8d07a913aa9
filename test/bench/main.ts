import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

import type { Comparison } from "./against.ts";
import { compareGroup } from "./against.ts";
import type { BenchGroup, BenchRow } from "./bench.ts";

/**
 * `npm run bench [-- group …]`: measures each group, one after the other, and prints a table of ratios. A ratio below
 * its target is marked; the exit status says only whether everything could be measured, for machines differ.
 *
 * `npm run bench -- --against <directory> [group …]`: measures another clone of the repository in turns with this one,
 * and prints both figures of each row, and how much better this one is: by the costs themselves where both were
 * measured in the same rounds, otherwise by the ratios, which is said. What is more than 5 % worse is marked.
 *
 * `--rows <text>`: only the rows of requests whose names have the text, for example `"GET 4 KiB, 16"`.
 */
const { values: options, positionals: wanted } = parseArgs({
  options: { against: { type: "string" }, rows: { type: "string" } },
  allowPositionals: true,
});
const files = readdirSync(import.meta.dirname).filter(
  (file) => /^[^.]+\.ts$/.test(file) && !["main.ts", "bench.ts", "against.ts"].includes(file),
);

/** Rows that became worse by more are marked. */
const gainMin = 0.95;

const formatted = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString("en-US") : value.toPrecision(3);

const formattedRatio = (ratio: number): string => (ratio < 0.1 ? ratio.toPrecision(2) : ratio.toFixed(2));

const mark = (row: BenchRow): string => {
  if (row.target === undefined) return "";
  return row.ratio >= row.target ? `  (wanted ${row.target})` : `  BELOW ${row.target}`;
};

const line = (row: BenchRow): string => {
  const measured = `${formatted(row.value)} ${row.unit}`;
  const against = `${formatted(row.baseline.value)} ${row.baseline.what}`;
  const ratio = formattedRatio(row.ratio);
  return `${row.what.padEnd(58)} ${measured.padStart(18)}   ÷ ${against.padEnd(50)} = ${ratio}${mark(row)}`;
};

const comparedLine = ({ before, after, gain, of }: Comparison): string => {
  const figures = `${formatted(before.value)} → ${formatted(after.value)} ${after.unit}`;
  const ratios = `${formattedRatio(before.ratio)} → ${formattedRatio(after.ratio)}${mark(after)}`;
  return `${after.what.padEnd(72)} ${figures.padStart(26)}   ${gain.toFixed(2)}x${of === "ratios" ? " by ratio" : ""}${gain < gainMin ? "  WORSE" : ""}   ${ratios}`;
};

for (const file of files) {
  const { group } = (await import(join(import.meta.dirname, file))) as { group?: BenchGroup };
  if (group === undefined || (wanted.length > 0 && !wanted.includes(group.name))) continue;
  process.stdout.write(`\n${group.name}\n`);
  const lines =
    options.against === undefined
      ? (await group.run(options.rows)).map(line)
      : (await compareGroup(group, file, resolve(options.against), options.rows)).map(comparedLine);
  for (const each of lines) process.stdout.write(`  ${each}\n`);
}
process.exit(0);
