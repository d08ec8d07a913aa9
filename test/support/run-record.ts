import { appendFileSync, existsSync, readFileSync } from "node:fs";

/** What one of several runs has come to: counts by name, and how it can be run again. */
export interface Run {
  /** What was run. */
  readonly of: string;
  readonly seed: number;
  readonly seconds: number;
  readonly counts: Readonly<Record<string, number>>;
  /** What went wrong. */
  readonly findings: readonly string[];
}

/** A file of runs, a line each, which add up. Without a path nothing is kept beyond the process. */
export class RunRecord {
  readonly #path: string | undefined;
  readonly #runs: Run[] = [];

  constructor(path: string | undefined) {
    this.#path = path;
    if (path === undefined || !existsSync(path)) return;
    for (const line of readFileSync(path, "utf8").split("\n").filter(Boolean)) this.#runs.push(JSON.parse(line) as Run);
  }

  add(run: Run): void {
    this.#runs.push(run);
    if (this.#path !== undefined) appendFileSync(this.#path, `${JSON.stringify(run)}\n`);
  }

  /** The sum of one count. */
  count(of: string, name: string): number {
    return this.#runs.reduce((sum, run) => sum + (run.of === of ? (run.counts[name] ?? 0) : 0), 0);
  }

  /** One line for everything that was run: the sums of all runs, and the seeds of those with findings. */
  sums(): string[] {
    return [...Map.groupBy(this.#runs, (run) => run.of)].map(([of, runs]) => {
      const counts: Record<string, number> = {};
      for (const run of runs)
        for (const [name, count] of Object.entries(run.counts)) counts[name] = (counts[name] ?? 0) + count;
      const seconds = Math.round(runs.reduce((sum, run) => sum + run.seconds, 0));
      const failed = runs.filter(({ findings }) => findings.length > 0).map(({ seed }) => seed);
      return `${of}: ${JSON.stringify({ runs: runs.length, seconds, ...counts, seedsWithFindings: failed })}`;
    });
  }
}
