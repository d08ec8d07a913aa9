import { appendFileSync, existsSync, readFileSync } from "node:fs";

import type { Mutant } from "./mutants.ts";
import type { Reach } from "./reach.ts";

/** What a mutant came to. Type errors are refused by the compiler, which is no merit of a test; they are not run. */
export type Verdict = "caught" | "timeout" | "survived" | "type error" | "no test";

export interface Judged {
  /** The mutant, without its line, so that it is the same after changes elsewhere in its file. */
  readonly id: string;
  readonly line: number;
  readonly verdict: Verdict;
  /** The first test that failed, or why there is none. */
  readonly by: string;
  readonly seconds: number;
}

/** A survivor that is known, and why no test is to catch it. */
export interface KnownSurvivor {
  readonly id: string;
  /** Whether nothing that a test could see differs; such a mutant does not count. */
  readonly isEquivalent: boolean;
  readonly reason: string;
}

export const idOf = ({ path, kind, before, after, occurrence }: Mutant): string =>
  `${path}: ${kind}: ${before} => ${after}${occurrence === 1 ? "" : ` (${occurrence})`}`;

/** One line of a record. */
type Line =
  | { readonly judged: Judged }
  | { readonly compiles: string }
  | { readonly forgotten: string }
  | { readonly test: string; readonly seconds: number | undefined; readonly reached: readonly string[] };

/** What a run has found out, written to a file line by line, so that an interrupted run goes on where it was. */
export class RunRecord {
  readonly #path: string | undefined;
  readonly #judged = new Map<string, Judged>();
  readonly #compiling = new Set<string>();
  readonly #reaches = new Map<string, Reach | undefined>();

  /** Without a path nothing is kept. */
  constructor(path: string | undefined) {
    this.#path = path;
    if (path === undefined || !existsSync(path)) return;
    for (const line of readFileSync(path, "utf8").split("\n").filter(Boolean)) this.#take(JSON.parse(line) as Line);
  }

  find(id: string): Judged | undefined {
    return this.#judged.get(id);
  }

  compiles(id: string): boolean {
    return this.#compiling.has(id);
  }

  knowsTest(test: string): boolean {
    return this.#reaches.has(test);
  }

  /**
   * Gives test files that failed on unchanged sources another chance, as on a machine that is less busy now. What
   * survived without them is open again.
   */
  retryTests(): void {
    const failed = [...this.#reaches].filter(([, reach]) => reach === undefined).map(([test]) => test);
    if (failed.length === 0) return;
    for (const test of failed) this.#reaches.delete(test);
    for (const { id, verdict } of this.judged)
      if (verdict === "survived" || verdict === "no test") this.add({ forgotten: id });
  }

  /** The test files that pass on unchanged sources, with what they reach. */
  get reaches(): Reach[] {
    return [...this.#reaches.values()].filter((reach) => reach !== undefined);
  }

  /** All mutants that were run or refused by the compiler. */
  get judged(): Judged[] {
    return [...this.#judged.values()];
  }

  add(line: Line): void {
    this.#take(line);
    if (this.#path !== undefined) appendFileSync(this.#path, `${JSON.stringify(line)}\n`);
  }

  /** Forgets the verdicts in files whose path contains the text. */
  forget(text: string): void {
    for (const { id } of this.judged) if (id.slice(0, id.indexOf(":")).includes(text)) this.add({ forgotten: id });
  }

  #take(line: Line): void {
    if ("forgotten" in line) this.#judged.delete(line.forgotten);
    else if ("judged" in line) this.#judged.set(line.judged.id, line.judged);
    else if ("compiles" in line) this.#compiling.add(line.compiles);
    else this.#reaches.set(line.test, reachOf(line));
  }
}

const reachOf = ({ test, seconds, reached }: Extract<Line, { readonly test: string }>): Reach | undefined =>
  seconds === undefined ? undefined : { test, seconds, reached: new Set(reached) };

export interface Summary {
  readonly counts: Readonly<Record<Verdict, number>>;
  /** How many compile. */
  readonly run: number;
  /** Of the mutants that a test could catch. */
  readonly sharePercent: number;
  /** Survivors that are not in the list. */
  readonly unknown: readonly Judged[];
}

/** The share that was caught of all mutants that compile and differ, and the survivors without a reason. */
export const summaryOf = (judged: readonly Judged[], known: readonly KnownSurvivor[]): Summary => {
  const reasons = new Map(known.map((survivor) => [survivor.id, survivor]));
  const counts: Record<Verdict, number> = { caught: 0, timeout: 0, survived: 0, "type error": 0, "no test": 0 };
  for (const { verdict } of judged) counts[verdict] += 1;
  const survivors = judged.filter(({ verdict }) => verdict === "survived" || verdict === "no test");
  const differing = survivors.filter(({ id }) => reasons.get(id)?.isEquivalent !== true);
  const caught = counts.caught + counts.timeout;
  const sharePercent = judged.length === 0 ? 100 : (100 * caught) / Math.max(1, caught + differing.length);
  const run = judged.length - counts["type error"];
  return { counts, run, sharePercent, unknown: survivors.filter(({ id }) => !reasons.has(id)) };
};
