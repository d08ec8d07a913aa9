import { readFileSync } from "node:fs";

/** What vitest's JSON reporter writes, as far as it is read here. */
export interface RunResults {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

export interface RunReport {
  /** How many files and tests there were, how each ended, and the files that took longest. */
  readonly summary: readonly string[];
  /** Each test that did not run; a test that a machine skips says nothing. */
  readonly skipped: readonly string[];
}

const slowestFiles = 5;

/** Reads what a run of the tests has come to. */
export const reportOf = ({ testResults }: RunResults): RunReport => {
  const tests = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.map(({ fullName, status }) => ({ title: `${name}: ${fullName}`, status })),
  );
  const count = (wanted: string): number => tests.filter(({ status }) => status === wanted).length;
  const slowest = testResults
    .map(({ name, startTime, endTime }) => ({ name, seconds: (endTime - startTime) / 1_000 }))
    .toSorted((a, b) => b.seconds - a.seconds)
    .slice(0, slowestFiles);
  const [passed, failed] = [count("passed"), count("failed")];
  return {
    summary: [
      `${testResults.length} files, ${tests.length} tests: ${passed} passed, ${failed} failed, ${tests.length - passed - failed} skipped`,
      ...slowest.map(({ name, seconds }) => `${seconds.toFixed(1)} s ${name}`),
    ],
    skipped: tests.filter(({ status }) => status !== "passed" && status !== "failed").map(({ title }) => title),
  };
};

/** `node test/tidy/run-report.ts <results>`: prints the summary; status 1 if a test was skipped. */
if (import.meta.main) {
  const { summary, skipped } = reportOf(JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as RunResults);
  for (const line of summary) process.stdout.write(`${line}\n`);
  for (const title of skipped) process.stdout.write(`SKIPPED ${title}\n`);
  if (skipped.length > 0) process.exitCode = 1;
}
