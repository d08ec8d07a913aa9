/*
 * `npm run mutate`: changes guards of the gateway, the kit, the store and the blobs, one at a time, in a copy of the
 * repository, and runs the tests that run the changed function, the nearest and quickest first, until one fails. Which
 * tests these are is found out by one run of all tests with coverage. Fails if less than 97 % are caught, or if a
 * change survives that survivors.json does not list with a reason.
 *
 *   --count <n>      how many changes to run, in the order that the seed draws (300)
 *   --seed <n>       (1)
 *   --only <text>    only files whose path contains the text
 *   --shard <i>/<n>  only every n-th of them, so that several runs share the work
 *   --minutes <n>    stops after so many minutes; with --record, the next run goes on
 *   --record <file>  where findings are kept between runs; without it, nothing is kept
 *   --quick          leaves those that the quicker tests do not catch to a later run without this option
 *   --again <text>   forgets the verdicts in files whose path contains the text, for example after new tests
 *   --report         runs nothing: prints the share and the survivors of the record
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { seededRandom } from "../kit/store/seeded-random.ts";
import type { Mutant } from "./mutants.ts";
import { mutantsOf } from "./mutants.ts";
import { testsOf } from "./reach.ts";
import { ScratchCopy } from "./scratch-copy.ts";
import type { Judged, KnownSurvivor } from "./verdicts.ts";
import { idOf, RunRecord, summaryOf } from "./verdicts.ts";

const root = join(import.meta.dirname, "../..");
const sources = "{gateway,services/kit,services/object-storage/blobs,services/object-storage/content}/**/*.ts";
/** What only documents or shows, and guards nothing. */
const excluded = /^gateway\/exports\/|^services\/kit\/(?:log|metrics|trace)\//;
const testFiles = "test/{gateway,kit,launcher,object-storage,stories}/**/*.test.ts";
const sharePercentMin = 97;

/** How many test files are recorded together. */
const reachedTogether = 12;
/** How many mutants are compiled, in few runs of the compiler, before they are run. */
const compiledTogether = 60;
/** Seconds of tests, on unchanged sources, that run together, until one fails; later ones are not run. */
const batchesSeconds = [3, 8, 20];
const quickBatches = 2;
/** What a test file takes besides its tests. */
const fileSeconds = 0.7;
/** The failure of a test file that takes longer counts only if the file passes on unchanged sources right after it. */
const quickSecondsMax = 1.5;
const limitMsMin = 60_000;

const { values: options } = parseArgs({
  options: {
    count: { type: "string", default: "300" },
    seed: { type: "string", default: "1" },
    only: { type: "string", default: "" },
    shard: { type: "string", default: "1/1" },
    minutes: { type: "string", default: "1000000" },
    record: { type: "string" },
    quick: { type: "boolean", default: false },
    again: { type: "string" },
    report: { type: "boolean", default: false },
  },
});

/** All changes in the order in which they are drawn. */
const drawnMutants = (): Mutant[] => {
  const paths = globSync(sources, { cwd: root }).filter((path) => !excluded.test(path) && path.includes(options.only));
  const all = paths.toSorted().flatMap((path) => mutantsOf(path, readFileSync(join(root, path), "utf8")));
  const random = seededRandom(Number(options.seed));
  const drawn = all.map((mutant) => ({ mutant, order: random.fraction() })).toSorted((a, b) => a.order - b.order);
  const [shard = 1, shards = 1] = options.shard.split("/").map(Number);
  return drawn.map(({ mutant }) => mutant).filter((_mutant, index) => index % shards === shard - 1);
};

const record = new RunRecord(options.record);
const endMs = Date.now() + Number(options.minutes) * 60_000;
const isOver = (): boolean => Date.now() > endMs;

/** Runs work on the copy with mutants in it, at most one of each file. */
const withMutants = async <T>(
  copy: ScratchCopy,
  mutants: readonly Mutant[],
  work: () => Promise<T> | T,
): Promise<T> => {
  const originals = mutants.map(({ path }) => [path, copy.read(path)] as const);
  for (const [index, [path, content]] of originals.entries()) {
    const { start, end, after } = mutants[index]!;
    copy.write(path, content.slice(0, start) + after + content.slice(end));
  }
  try {
    return await work();
  } finally {
    for (const [path, content] of originals) copy.write(path, content);
  }
};

/** Finds out what each test file runs. */
const recordReach = async (copy: ScratchCopy): Promise<void> => {
  const open = globSync(testFiles, { cwd: root }).filter((test) => !record.knowsTest(test));
  while (open.length > 0 && !isOver()) {
    const tests = open.splice(0, reachedTogether);
    for (const { test, seconds, reached } of await copy.reach(tests, 600_000)) {
      record.add({ test, seconds, reached: [...reached] });
      process.stdout.write(`${seconds?.toFixed(1) ?? "fails"} s  ${reached.size} functions  ${test}\n`);
    }
  }
};

/** Finds those that do not compile, one of each file at a time. They are no merit of a test, and are not run. */
const judgeTypes = async (copy: ScratchCopy, mutants: readonly Mutant[]): Promise<void> => {
  const isOpen = (id: string): boolean => !record.compiles(id) && record.find(id)?.verdict !== "type error";
  const open = Map.groupBy(
    mutants.filter((mutant) => isOpen(idOf(mutant))),
    ({ path }) => path,
  );
  while (open.size > 0) {
    const round = [...open.values()].map((list) => list.pop()!);
    for (const [path, list] of open) if (list.length === 0) open.delete(path);
    const refused = await withMutants(copy, round, () => copy.filesWithTypeErrors());
    for (const mutant of round)
      if (refused.has(mutant.path)) add(mutant, "type error", "the compiler", 0);
      else record.add({ compiles: idOf(mutant) });
  }
};

const add = (mutant: Mutant, verdict: Judged["verdict"], by: string, seconds: number): void => {
  const judged = { id: idOf(mutant), line: mutant.line, verdict, by, seconds: Math.round(seconds * 10) / 10 };
  record.add({ judged });
  process.stdout.write(`${verdict.padEnd(10)} ${seconds.toFixed(1).padStart(5)} s  ${idOf(mutant)}  [${by}]\n`);
};

/** Quick test files that have passed on unchanged sources in this run. */
const trusted = new Set<string>();

const secondsOf = (file: string): number => record.reaches.find(({ test }) => test === file)?.seconds ?? Infinity;

/**
 * Leaves out, in this run, those test files that fail on unchanged sources; returns how many. One that is not over in
 * time says nothing about them: the machine may be too busy for it now.
 */
const leaveOut = async (copy: ScratchCopy, tests: readonly string[], limitMs: number): Promise<number> => {
  let count = 0;
  for (const test of tests) {
    const { passed, failure } = await copy.run([test], limitMs);
    if (passed !== false) continue;
    process.stdout.write(`${test} is left out, because it fails on unchanged sources: ${failure}\n`);
    record.add({ test, seconds: undefined, reached: [] });
    count += 1;
  }
  return count;
};

const judge = async (copy: ScratchCopy, mutant: Mutant): Promise<void> => {
  const tests = testsOf(mutant, record.reaches);
  let seconds = 0;
  let count = 0;
  for (const batchSeconds of options.quick ? batchesSeconds.slice(0, quickBatches) : batchesSeconds) {
    const batch: string[] = [];
    for (let left = batchSeconds; tests.length > 0 && (batch.length === 0 || tests[0]!.seconds <= left);) {
      const test = tests.shift()!;
      left -= test.seconds + fileSeconds;
      batch.push(test.test);
    }
    if (batch.length === 0) break;
    // A machine that is busy proves nothing: the same tests on unchanged sources decide what too long is.
    const limitMs = Math.max(limitMsMin, batchSeconds * 5_000);
    const run = await withMutants(copy, [mutant], () => copy.run(batch, limitMs));
    seconds += run.seconds;
    count += batch.length;
    if (run.passed === true) continue;
    const isTimeout = run.passed === undefined;
    const failing = run.failedFile === undefined ? batch : [run.failedFile];
    const isTrusted = !isTimeout && run.failedFile !== undefined && trusted.has(run.failedFile);
    if (isTrusted || (await copy.run(failing, limitMs)).passed === true) {
      if (run.failedFile !== undefined && secondsOf(run.failedFile) < quickSecondsMax) trusted.add(run.failedFile);
      add(mutant, isTimeout ? "timeout" : "caught", `${run.failedFile ?? ""}: ${run.failure}`, seconds);
      return;
    }
    const unusable = await leaveOut(copy, failing, limitMs);
    // What a machine that is too busy cannot decide is left to the next run.
    return unusable === 0 ? undefined : judge(copy, mutant);
  }
  if (options.quick && tests.length > 0) process.stdout.write(`not caught ${seconds.toFixed(1)} s  ${idOf(mutant)}\n`);
  else if (count === 0) add(mutant, "no test", "no test file runs it", seconds);
  else add(mutant, "survived", `${count} test files pass`, seconds);
};

/** Runs mutants until so many of those that compile have a verdict, or the time is over. */
const judgeAll = async (copy: ScratchCopy, mutants: readonly Mutant[], countMax: number): Promise<void> => {
  let count = 0;
  for (let from = 0; from < mutants.length; from += compiledTogether) {
    const next = mutants.slice(from, from + compiledTogether);
    await judgeTypes(copy, next);
    for (const mutant of next.filter((each) => record.compiles(idOf(each)))) {
      if (count === countMax || isOver()) return;
      if (record.find(idOf(mutant)) === undefined) await judge(copy, mutant);
      count += 1;
    }
  }
};

if (options.again !== undefined) record.forget(options.again);
const mutants = drawnMutants();
const ids = new Set(mutants.map(idOf));
if (!options.report) {
  record.retryTests();
  const copy = new ScratchCopy(root);
  try {
    await recordReach(copy);
    if (!isOver()) await judgeAll(copy, mutants, Number(options.count));
  } finally {
    copy.remove();
  }
}
const judged = record.judged.filter(({ id }) => ids.has(id));
const known = JSON.parse(readFileSync(join(import.meta.dirname, "survivors.json"), "utf8")) as KnownSurvivor[];
const { counts, run, sharePercent, unknown } = summaryOf(judged, known);
for (const { id, line, by } of unknown) process.stdout.write(`NEW SURVIVOR line ${line}: ${id}  [${by}]\n`);
const share = `${sharePercent.toFixed(1)} % caught of those that differ`;
process.stdout.write(`${run} of ${ids.size} mutants run: ${JSON.stringify(counts)}; ${share}\n`);
if (unknown.length > 0 || sharePercent < sharePercentMin) process.exitCode = 1;
