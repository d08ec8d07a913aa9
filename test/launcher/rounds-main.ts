/*
 * `npm run rounds`: kills and stops processes of an installation under writes, as kill-rounds.ts says, and fails with
 * the first answered write that is not there. Seeds are printed and recorded.
 *
 *   --seconds <n>       (60)
 *   --rounds <n>        stops at so many rounds, those of the record included (10,000)
 *   --kill-percent <n>  rounds of a hundred that kill; the others stop the process for a moment (20)
 *   --seed <n>          (the time of day)
 *   --record <file>     where runs are added up
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { RunRecord } from "../support/run-record.ts";
import { runKillRounds } from "./kill-rounds.ts";

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    rounds: { type: "string", default: "10000" },
    "kill-percent": { type: "string", default: "20" },
    seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
    record: { type: "string" },
  },
});

const of = "rounds of kill -9 and SIGSTOP";
const record = new RunRecord(options.record);
const seed = Number(options.seed);
process.stdout.write(`seed ${seed}\n`);
const directory = await mkdtemp(join(tmpdir(), "quartet-rounds-"));
try {
  const started = performance.now();
  const { counts, faults, findings } = await runKillRounds(directory, {
    seed,
    rounds: Number(options.rounds) - record.count(of, "rounds"),
    seconds: Number(options.seconds),
    killPercent: Number(options["kill-percent"]),
  });
  const seconds = (performance.now() - started) / 1_000;
  record.add({ of, seed, seconds, counts, findings });
  for (const finding of findings) process.stdout.write(`FINDING ${finding}\n`);
  process.stdout.write(`${(counts.rounds / seconds).toFixed(1)} rounds/s ${JSON.stringify(faults)}\n`);
  for (const line of record.sums()) process.stdout.write(`${line}\n`);
  if (findings.length > 0) process.exitCode = 1;
} finally {
  await rm(directory, { recursive: true, force: true });
}
