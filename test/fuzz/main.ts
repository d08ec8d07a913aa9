/*
 * `npm run fuzz`: coverage-guided fuzzing of the parsers that meet other people's bytes. Fails with the input that
 * breaks an invariant, takes too long, hangs or needs more memory than 512 MiB. The corpora in test/fuzz/corpus
 * are rewritten with the smallest inputs that reach all blocks that were reached.
 *
 *   --target <name>   only this one
 *   --seconds <n>     for each target (60)
 *   --seed <n>        (the time of day)
 *   --at-once <n>     how many targets are fuzzed at the same time (1)
 *   --record <file>   where runs are added up
 */
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";

import { RunRecord } from "../support/run-record.ts";
import { textOf } from "./corpus.ts";
import type { WorkerOrder, WorkerReport } from "./fuzz-orders.ts";
import { longBytesMax } from "./random-bytes.ts";
import { targets } from "./targets.ts";

/** An input hangs if it needs so much time of the processor, or has not come to its end after so long a time. */
const hangMs = { cpu: 10_000, passed: 300_000 };

const { values: options } = parseArgs({
  options: {
    target: { type: "string" },
    seconds: { type: "string", default: "60" },
    seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
    "at-once": { type: "string", default: "1" },
    record: { type: "string" },
  },
});

const atOnce = Number(options["at-once"]);

/** The time that the processor has worked for this process, its workers included. */
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

/** Fuzzes one target in a worker; resolves with its report. */
const fuzz = (name: string): Promise<WorkerReport> =>
  new Promise((resolve) => {
    const state = new SharedArrayBuffer(16 + longBytesMax * 2);
    const workerData: WorkerOrder = { name, seconds: Number(options.seconds), seed: Number(options.seed), state };
    const worker = new Worker(new URL("fuzz-worker.ts", import.meta.url), {
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: 512 },
    });
    const finding = (error: string): WorkerReport => {
      const length = Atomics.load(new Int32Array(state, 0, 1), 0);
      return { finding: textOf(new Uint8Array(state, 16, length).slice()), error };
    };
    const executed = new Int32Array(state, 4, 1);
    const count = (): number => Atomics.load(executed, 0);
    let before = { executed: -1, cpuMs: cpuMs(), sinceMs: Date.now() };
    const watch = setInterval(() => {
      if (before.executed !== count()) before = { executed: count(), cpuMs: cpuMs(), sinceMs: Date.now() };
      const isLong = cpuMs() - before.cpuMs > hangMs.cpu * atOnce || Date.now() - before.sinceMs > hangMs.passed;
      if (count() > 0 && isLong) settle(finding("the input hangs"));
    }, 500);
    const settle = (report: WorkerReport): void => {
      clearInterval(watch);
      resolve(report);
      void worker.terminate();
    };
    worker.once("message", settle);
    worker.once("error", (error) => settle(finding(String(error))));
    worker.once("exit", () => settle(finding("the worker ended")));
  });

const seed = Number(options.seed);
const seconds = Number(options.seconds);
const record = new RunRecord(options.record);
process.stdout.write(`seed ${seed}\n`);
const chosen = targets.filter(({ name }) => options.target === undefined || options.target === name);
if (chosen.length === 0) throw new Error(`there is no target ${options.target}`);
let total = 0;

/** Fuzzes the targets that nobody has taken yet, one after the other. */
const fuzzChosen = async (): Promise<void> => {
  for (let target = chosen.shift(); target !== undefined; target = chosen.shift()) {
    const { name } = target;
    const report = await fuzz(name);
    const [inputs, cpuSeconds] = "finding" in report ? [0, 0] : [report.executed, report.cpuSeconds];
    const findings = "finding" in report ? [`${report.finding}\n${report.error}`] : [];
    record.add({ of: `parser ${name}`, seed, seconds, counts: { inputs, cpuSeconds }, findings });
    if ("finding" in report) {
      process.stdout.write(`${name}: FINDING ${findings.join("")}\n`);
      process.exitCode = 1;
      continue;
    }
    total += inputs;
    const blocks = `${report.blocks} blocks (${report.startedWith} at the beginning)`;
    process.stdout.write(
      `${name}: ${inputs} inputs, ${cpuSeconds} s of the processor, ${blocks}, ${report.inputs} kept\n`,
    );
  }
};

await Promise.all(Array.from({ length: atOnce }, fuzzChosen));
process.stdout.write(`${total} inputs in this run\n`);
for (const line of record.sums()) process.stdout.write(`${line}\n`);
