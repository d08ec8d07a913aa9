/*
 * `npm run fuzz`: coverage-guided fuzzing of the parsers that meet other people's bytes. Fails with the input that
 * breaks an invariant, takes too long, hangs (10 s) or needs more memory than 512 MiB. The corpora in test/fuzz/corpus
 * are rewritten with the smallest inputs that reach all blocks that were reached.
 *
 *   --target <name>   only this one
 *   --seconds <n>     for each target (60)
 *   --seed <n>        (the time of day)
 */
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";

import { textOf } from "./corpus.ts";
import type { WorkerOrder, WorkerReport } from "./fuzz-orders.ts";
import { longBytesMax } from "./random-bytes.ts";
import { targets } from "./targets.ts";

const hangMs = 10_000;

const { values: options } = parseArgs({
  options: {
    target: { type: "string" },
    seconds: { type: "string", default: "60" },
    seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
  },
});

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
    let before = { executed: -1, sinceMs: Date.now() };
    const watch = setInterval(() => {
      if (before.executed !== count()) before = { executed: count(), sinceMs: Date.now() };
      else if (count() > 0 && Date.now() - before.sinceMs > hangMs) settle(finding("the input hangs"));
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

process.stdout.write(`seed ${options.seed}\n`);
const chosen = targets.filter(({ name }) => options.target === undefined || options.target === name);
if (chosen.length === 0) throw new Error(`there is no target ${options.target}`);
let total = 0;
for (const { name } of chosen) {
  const report = await fuzz(name);
  if ("finding" in report) {
    process.stdout.write(`${name}: FINDING ${report.finding}\n${report.error}\n`);
    process.exitCode = 1;
    continue;
  }
  total += report.executed;
  const rate = Math.round(report.executed / Number(options.seconds));
  const blocks = `${report.blocks} blocks (${report.startedWith} at the beginning)`;
  process.stdout.write(`${name}: ${report.executed} inputs, ${rate}/s, ${blocks}, ${report.inputs} kept\n`);
}
process.stdout.write(`${total} inputs in all\n`);
