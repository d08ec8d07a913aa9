import { readdirSync } from "node:fs";
import { join } from "node:path";

import type { BenchGroup, BenchRow } from "./bench.ts";

/**
 * `npm run bench [-- group …]`: measures each group, one after the other, and prints a table of ratios. A ratio below
 * its target is marked; the exit status says only whether everything could be measured, for machines differ.
 */
const wanted = process.argv.slice(2);
const files = readdirSync(import.meta.dirname).filter(
  (file) => file.endsWith(".ts") && !["main.ts", "bench.ts"].includes(file),
);

const formatted = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString("en-US") : value.toPrecision(3);

const line = (row: BenchRow): string => {
  const mark =
    row.target === undefined ? "" : row.ratio >= row.target ? `  (wanted ${row.target})` : `  BELOW ${row.target}`;
  const measured = `${formatted(row.value)} ${row.unit}`;
  const ratio = row.ratio < 0.1 ? row.ratio.toPrecision(2) : row.ratio.toFixed(2);
  const against = `${formatted(row.baseline.value)} ${row.baseline.what}`;
  return `${row.what.padEnd(58)} ${measured.padStart(18)}   ÷ ${against.padEnd(50)} = ${ratio}${mark}`;
};

for (const file of files) {
  const loaded = (await import(join(import.meta.dirname, file))) as { group?: BenchGroup };
  if (loaded.group === undefined || (wanted.length > 0 && !wanted.includes(loaded.group.name))) continue;
  process.stdout.write(`\n${loaded.group.name}\n`);
  for (const row of await loaded.group.run()) process.stdout.write(`  ${line(row)}\n`);
}
process.exit(0);
