import type { ChildProcess } from "node:child_process";
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { takeReach, testOf } from "./reach.ts";

/** What came of a run of test files. */
export interface TestRun {
  /** Undefined: it did not end within its limit. */
  readonly passed: boolean | undefined;
  readonly seconds: number;
  /** The first test that failed; empty if none did. */
  readonly failure: string;
  /** Its file, as far as it is known. */
  readonly failedFile?: string | undefined;
}

/** What a test file runs, and how long it takes; undefined: it fails. */
export interface TestReach {
  readonly test: string;
  readonly seconds: number | undefined;
  readonly reached: ReadonlySet<string>;
}

/** What vitest's JSON reporter writes, as far as it is read here. */
interface Results {
  readonly testResults: readonly FileResults[];
}

interface FileResults {
  readonly name: string;
  readonly status: string;
  readonly startTime: number;
  readonly endTime: number;
  readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
}

const copied = ["gateway", "gen", "proto", "services", "test", "package.json", "tsconfig.json", "vitest.config.ts"];

/**
 * A copy of the repository, in which source files are changed and tests are run. When this process ends, in whatever
 * way, the tests that it runs end as well, and the copy is removed.
 */
export class ScratchCopy {
  readonly #base = realpathSync(mkdtempSync(join(tmpdir(), "quartet-mutate-")));
  readonly #root = join(this.#base, "copy");
  readonly #output = join(this.#base, "results.json");
  readonly #keeper: ChildProcess;

  constructor(root: string) {
    this.#keeper = spawn(process.execPath, [join(import.meta.dirname, "keeper.ts"), this.#base], {
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    });
    const filter = (path: string): boolean => !path.endsWith("/.cache");
    for (const name of copied) cpSync(join(root, name), join(this.#root, name), { recursive: true, filter });
    symlinkSync(join(root, "node_modules"), join(this.#root, "node_modules"));
    mkdirSync(join(this.#base, "tmp"));
  }

  read(path: string): string {
    return readFileSync(join(this.#root, path), "utf8");
  }

  write(path: string, content: string): void {
    writeFileSync(join(this.#root, path), content);
  }

  /**
   * Runs test files in one worker, until one test fails or the limit is over. A failure of which no test is known, as
   * of a worker that was lost, counts only if it comes again.
   */
  async run(tests: readonly string[], limitMs: number): Promise<TestRun> {
    const first = await this.#run(tests, limitMs);
    if (first.failure !== unknownFailure) return first;
    const again = await this.#run(tests, limitMs);
    return { ...again, seconds: first.seconds + again.seconds };
  }

  async #run(tests: readonly string[], limitMs: number): Promise<TestRun> {
    const { status, seconds } = await this.#vitest(["--bail=1", ...tests], limitMs);
    if (status === "over") return { passed: undefined, seconds, failure: `not over after ${limitMs / 1_000} s` };
    if (status === 0) return { passed: true, seconds, failure: "" };
    const { name, failure } = firstFailure(this.#results());
    return { passed: false, seconds, failure, failedFile: tests.find((test) => name.endsWith(test)) };
  }

  /** Runs test files on unchanged sources, and records what each of them runs. */
  async reach(tests: readonly string[], limitMs: number): Promise<TestReach[]> {
    const reachDirectory = join(this.#base, "reach");
    mkdirSync(reachDirectory);
    await this.#vitest(["--config=test/mutate/reach-config.ts", ...tests], limitMs, {
      REACH_DIRECTORY: reachDirectory,
    });
    const results = this.#results();
    const found = new Map(
      readdirSync(reachDirectory).map((name) => [testOf(name), takeReach(join(reachDirectory, name), this.#root)]),
    );
    rmSync(reachDirectory, { recursive: true });
    return tests.map((test) => {
      const result = results?.testResults.find(({ name }) => name.endsWith(`/${test}`));
      const passed = result?.status === "passed";
      const seconds = passed ? (result.endTime - result.startTime) / 1_000 : undefined;
      return { test, seconds, reached: found.get(test) ?? new Set() };
    });
  }

  /** The files of which the compiler complains, apart from what is merely unused. */
  filesWithTypeErrors(): Set<string> {
    const tsc = join(this.#root, "node_modules", ".bin", "tsc");
    const { stdout } = spawnSync(tsc, ["-p", "."], { cwd: this.#root, encoding: "utf8", maxBuffer: 1 << 28 });
    const lines = stdout.matchAll(/^([^\s(][^(\n]*)\(\d+,\d+\): error TS(\d+)/gm);
    return new Set([...lines].filter(([, , code]) => !/^6(?:133|192|196|198)$/.test(code!)).map(([, path]) => path!));
  }

  remove(): void {
    this.#keeper.stdin?.end();
    rmSync(this.#base, { recursive: true, force: true });
  }

  async #vitest(
    options: readonly string[],
    limitMs: number,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly status: number | null | "over"; readonly seconds: number }> {
    rmSync(this.#output, { force: true });
    const vitest = join(this.#root, "node_modules", ".bin", "vitest");
    const reporting = ["--reporter=json", `--outputFile=${this.#output}`];
    const started = performance.now();
    const child = spawn(vitest, ["run", "--maxWorkers=1", ...reporting, ...options], {
      cwd: this.#root,
      env: { ...process.env, ...environment, TMPDIR: join(this.#base, "tmp"), QUARTET_ROUNDS: undefined },
      stdio: "ignore",
      // A group of its own, so that whatever hangs in it can be ended.
      detached: true,
    });
    this.#keeper.stdin?.write(`${child.pid}\n`);
    let isOver = false;
    const limit = setTimeout(() => {
      isOver = true;
      process.kill(-child.pid!, "SIGKILL");
    }, limitMs);
    const status = await new Promise<number | null>((resolve) => {
      child.once("exit", resolve);
    });
    clearTimeout(limit);
    this.#keeper.stdin?.write("\n");
    return { status: isOver ? "over" : status, seconds: (performance.now() - started) / 1_000 };
  }

  #results(): Results | undefined {
    try {
      return JSON.parse(readFileSync(this.#output, "utf8")) as Results;
    } catch {
      return undefined;
    }
  }
}

/** The names of tests that come from tables may be as long as what they test. */
const failureCharactersMax = 200;

const unknownFailure = "no test is known";

const firstFailure = (results: Results | undefined): { readonly name: string; readonly failure: string } => {
  if (results === undefined) return { name: "", failure: unknownFailure };
  // Files that were not over when another one's test failed count as failed as well.
  const files = results.testResults.filter(({ status }) => status === "failed");
  const failedIn = ({ assertionResults }: FileResults) => assertionResults.find(({ status }) => status === "failed");
  const file = files.find(failedIn) ?? files[0];
  const failed = file && failedIn(file);
  const failure = (failed?.fullName ?? unknownFailure).slice(0, failureCharactersMax);
  return { name: file?.name ?? "", failure };
};
