/*
 * `npm run mutate`: changes guards of the gateway, the kit, the store and the blobs, one at a time, in a copy of the
 * repository, and runs the nearest tests of the changed file. Fails if less than 97 % are caught, or if a change
 * survives that survivors.json does not list with a reason.
 *
 *   --count <n>      how many of all changes, chosen by the seed (300)
 *   --seed <n>       (1)
 *   --only <text>    only files whose path contains the text
 *   --minutes <n>    stops after so many minutes; with --record, the next run goes on
 *   --record <file>  where verdicts are kept between runs
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { seededRandom } from "../kit/store/seeded-random.ts";
import { ImportGraph } from "./import-graph.ts";
import type { Mutant } from "./mutants.ts";
import { mutantsOf } from "./mutants.ts";
import { ScratchCopy } from "./scratch-copy.ts";
import type { Judged, KnownSurvivor } from "./verdicts.ts";
import { idOf, summaryOf, RunRecord } from "./verdicts.ts";

const root = join(import.meta.dirname, "../..");
const sources = "{gateway,services/kit,services/object-storage/blobs,services/object-storage/content}/**/*.ts";
/** What only documents or shows, and guards nothing. */
const excluded = /^gateway\/exports\/|^services\/kit\/(?:log|metrics|trace)\//;
const sharePercentMin = 97;

/** How many test files run together, the nearest ones first, until one fails. */
const batchSizes = [2, 4, 8];
const limitMs = 90_000;
/** A test file that takes longer, unchanged, is not run for a mutant. */
const secondsMax = 30;

const { values: options } = parseArgs({
  options: {
    count: { type: "string", default: "300" },
    seed: { type: "string", default: "1" },
    only: { type: "string", default: "" },
    minutes: { type: "string", default: "1000000" },
    record: { type: "string" },
  },
});

const chosenMutants = (): Mutant[] => {
  const paths = globSync(sources, { cwd: root }).filter((path) => !excluded.test(path) && path.includes(options.only));
  const all = paths.toSorted().flatMap((path) => mutantsOf(path, readFileSync(join(root, path), "utf8")));
  const random = seededRandom(Number(options.seed));
  const drawn = all.map((mutant) => ({ mutant, order: random.fraction() })).toSorted((a, b) => a.order - b.order);
  const chosen = new Map(drawn.slice(0, Number(options.count)).map(({ mutant }) => [idOf(mutant), mutant]));
  return [...chosen.values()];
};

const copy = new ScratchCopy(root);
const graph = new ImportGraph(root);
const record = new RunRecord(options.record);
const endMs = Date.now() + Number(options.minutes) * 60_000;

/** Runs work on the copy with a mutant in it. */
const withMutants = async <T>(mutants: readonly Mutant[], work: () => Promise<T> | T): Promise<T> => {
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

/** Finds the mutants that do not compile, one of each file at a time. */
const judgeTypes = async (mutants: readonly Mutant[]): Promise<void> => {
  const open = Map.groupBy(
    mutants.filter((mutant) => record.find(idOf(mutant)) === undefined && !record.compiles(idOf(mutant))),
    ({ path }) => path,
  );
  while (open.size > 0) {
    const round = [...open.values()].map((list) => list.pop()!);
    for (const [path, list] of open) if (list.length === 0) open.delete(path);
    const refused = await withMutants(round, () => copy.filesWithTypeErrors());
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

/** Whether test files pass in time on unchanged sources, together. */
const isUsable = async (tests: readonly string[], inMs: number): Promise<boolean> => {
  const name = tests.join(" ");
  if (!record.knowsTest(name)) {
    const run = await copy.run(tests, inMs);
    record.add({ test: name, seconds: run.passed === true ? run.seconds : undefined });
  }
  return record.secondsOf(name) !== undefined;
};

/** Test files that are known to fail on unchanged sources, or to take too long, are left out. */
const isLeftOut = (test: string): boolean => record.knowsTest(test) && record.secondsOf(test) === undefined;

const judge = async (mutant: Mutant): Promise<void> => {
  const tests = graph.testsOf(mutant.path);
  let seconds = 0;
  let count = 0;
  for (const size of batchSizes) {
    const batch = tests.splice(0, size).filter((test) => !isLeftOut(test));
    while (batch.length > 0) {
      const run = await withMutants([mutant], () => copy.run(batch, limitMs));
      seconds += run.seconds;
      if (run.passed === true) break;
      const isOver = run.passed === undefined;
      const failing = isOver ? [...batch] : [run.failedFile ?? batch[0]!];
      // A machine that is busy proves nothing: unchanged, they must end in half of the time.
      if (await isUsable(failing, isOver ? limitMs / 2 : secondsMax * 1_000)) {
        add(mutant, isOver ? "timeout" : "caught", run.failure, seconds);
        return;
      }
      for (const test of failing) batch.splice(batch.indexOf(test), 1);
    }
    count += batch.length;
  }
  if (count === 0) add(mutant, "no test", "no test file runs it", seconds);
  else add(mutant, "survived", `${count} test files pass`, seconds);
};

try {
  const mutants = chosenMutants();
  await judgeTypes(mutants);
  for (const mutant of mutants) {
    if (Date.now() > endMs) break;
    if (record.find(idOf(mutant)) === undefined) await judge(mutant);
  }
  const judged = mutants.map((mutant) => record.find(idOf(mutant))).filter((each) => each !== undefined);
  const known = JSON.parse(readFileSync(join(import.meta.dirname, "survivors.json"), "utf8")) as KnownSurvivor[];
  const { counts, sharePercent, unknown } = summaryOf(judged, known);
  for (const { id, line } of unknown) process.stdout.write(`NEW SURVIVOR line ${line}: ${id}\n`);
  const share = `${sharePercent.toFixed(1)} % caught of those that differ`;
  process.stdout.write(`${judged.length} of ${mutants.length} judged: ${JSON.stringify(counts)}; ${share}\n`);
  if (unknown.length > 0 || sharePercent < sharePercentMin) process.exitCode = 1;
} finally {
  copy.remove();
}
