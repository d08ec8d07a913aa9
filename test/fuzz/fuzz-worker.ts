// Run by main.ts as a worker: fuzzes one target, guided by the blocks that its inputs reach.
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parentPort, workerData } from "node:worker_threads";

import { seededRandom } from "../kit/store/seeded-random.ts";
import { countBlocks } from "./block-counters.ts";
import type { WorkerOrder, WorkerReport } from "./fuzz-orders.ts";
import { inflated, mutated } from "./random-bytes.ts";

const root = join(import.meta.dirname, "../..");
const counted = ["gateway", "services", "node_modules/saxes"];
const counters = countBlocks(counted.map((name) => `${pathToFileURL(realpathSync(join(root, name))).href}/`));
// Imported only now, so that their sources are counted.
const { targets } = await import("./targets.ts");
const { readCorpus, textOf, writeCorpus } = await import("./corpus.ts");
const { runWithin } = await import("./limits.ts");

const { name, seconds, seed, state } = workerData as WorkerOrder;
const target = targets.find((each) => each.name === name);
if (target === undefined) throw new Error(`there is no target ${name}`);
const [current, length, executed] = [
  new Uint8Array(state, 16),
  new Int32Array(state, 0, 1),
  new Int32Array(state, 4, 1),
];

/** The classes of counts that were seen of each block, as bits. */
const seen = new Uint8Array(counters.counts.length);
const classOf = (count: number): number => (count === 1 ? 1 : count < 4 ? 2 : count < 16 ? 4 : count < 64 ? 8 : 16);

/** Runs one input; returns whether it reached a block, or a class of its count, for the first time. */
const isNew = async (input: Buffer): Promise<boolean> => {
  current.set(input);
  Atomics.store(length, 0, input.length);
  Atomics.add(executed, 0, 1);
  const { counts } = counters;
  counts.fill(0);
  await runWithin(target, input);
  const size = counters.size();
  let found = false;
  for (let block = 0; block < size; block += 1) {
    const count = counts[block] as number;
    if (count === 0) continue;
    const bit = classOf(count);
    if (((seen[block] as number) & bit) !== 0) continue;
    seen[block] = (seen[block] as number) | bit;
    found = true;
  }
  return found;
};

const reached = (): number => seen.reduce((sum, classes) => sum + (classes === 0 ? 0 : 1), 0);
const inputsMax = 150;

/** Keeps the smallest inputs that together reach all that was reached. */
const minimized = async (corpus: readonly Buffer[]): Promise<Buffer[]> => {
  seen.fill(0);
  const kept: Buffer[] = [];
  for (const input of corpus.toSorted((a, b) => a.length - b.length)) if (await isNew(input)) kept.push(input);
  return kept;
};

// eslint-disable-next-line unicorn/require-post-message-target-origin -- a port between threads has no origin
const report = (message: WorkerReport): void => parentPort?.postMessage(message);
try {
  const random = seededRandom(seed);
  const corpus: Buffer[] = [];
  for (const input of readCorpus(target)) {
    await isNew(input);
    corpus.push(input);
  }
  const startedWith = reached();
  const dictionary = [...target.dictionary, ...[...counters.literals].filter((text) => text.length > 1)];
  const endMs = Date.now() + seconds * 1_000;
  while (Date.now() < endMs) {
    // Newer inputs are nearer to what was not reached yet.
    const index = random.chance(0.5) ? random.below(corpus.length) : Math.max(0, corpus.length - 1 - random.below(16));
    // One literal in four is from the sources, of which most have nothing to do with the target.
    const source = { corpus, dictionary: random.chance(0.75) ? target.dictionary : dictionary };
    const input = mutated(corpus[index]!, random, source);
    if (await isNew(input)) corpus.push(input);
    if (random.chance(0.002)) await isNew(inflated(input, random));
  }
  const executedCount = Atomics.load(executed, 0);
  const blocks = reached();
  const kept = await minimized(corpus);
  writeCorpus(name, kept.slice(0, inputsMax));
  const { user, system } = process.threadCpuUsage();
  const cpuSeconds = Math.round((user + system) / 1e6);
  report({ executed: executedCount, cpuSeconds, blocks, startedWith, inputs: kept.length });
} catch (error) {
  const input = Buffer.from(current.slice(0, Atomics.load(length, 0)));
  report({ finding: textOf(input), error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
} finally {
  const { stopServer } = await import("./targets/rpc.ts");
  await stopServer();
  parentPort?.close();
}
