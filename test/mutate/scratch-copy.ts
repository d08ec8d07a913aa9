import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

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

/** What vitest's JSON reporter writes, as far as it is read here. */
interface Results {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** A copy of the repository, in which source files are changed and tests are run. */
export class ScratchCopy {
  readonly #base = mkdtempSync(join(tmpdir(), "quartet-mutate-"));
  readonly #root = join(this.#base, "copy");

  constructor(root: string) {
    for (const name of ["gateway", "gen", "proto", "services", "test", "package.json", "tsconfig.json"])
      cpSync(join(root, name), join(this.#root, name), { recursive: true });
    cpSync(join(root, "vitest.config.ts"), join(this.#root, "vitest.config.ts"));
    symlinkSync(join(root, "node_modules"), join(this.#root, "node_modules"));
    mkdirSync(join(this.#base, "tmp"));
  }

  read(path: string): string {
    return readFileSync(join(this.#root, path), "utf8");
  }

  write(path: string, content: string): void {
    writeFileSync(join(this.#root, path), content);
  }

  /** Runs test files in one worker, until one test fails or the limit is over. */
  async run(tests: readonly string[], limitMs: number): Promise<TestRun> {
    const output = join(this.#base, "results.json");
    rmSync(output, { force: true });
    const vitest = join(this.#root, "node_modules", ".bin", "vitest");
    const reporting = ["--reporter=json", `--outputFile=${output}`];
    const started = performance.now();
    const child = spawn(vitest, ["run", "--maxWorkers=1", "--bail=1", ...reporting, ...tests], {
      cwd: this.#root,
      env: { ...process.env, TMPDIR: join(this.#base, "tmp"), QUARTET_ROUNDS: undefined },
      stdio: "ignore",
      // A group of its own, so that whatever hangs in it can be ended.
      detached: true,
    });
    let isOver = false;
    const limit = setTimeout(() => {
      isOver = true;
      process.kill(-child.pid!, "SIGKILL");
    }, limitMs);
    const status = await new Promise<number | null>((resolve) => {
      child.once("exit", resolve);
    });
    clearTimeout(limit);
    const seconds = (performance.now() - started) / 1_000;
    if (isOver) return { passed: undefined, seconds, failure: `not over after ${limitMs / 1_000} s` };
    if (status === 0) return { passed: true, seconds, failure: "" };
    const { name, failure } = firstFailure(output);
    return { passed: false, seconds, failure, failedFile: tests.find((test) => name.endsWith(test)) };
  }

  /** The files of which the compiler complains, apart from what is merely unused. */
  filesWithTypeErrors(): Set<string> {
    const tsc = join(this.#root, "node_modules", ".bin", "tsc");
    const { stdout } = spawnSync(tsc, ["-p", "."], { cwd: this.#root, encoding: "utf8", maxBuffer: 1 << 28 });
    const lines = stdout.matchAll(/^([^\s(][^(\n]*)\(\d+,\d+\): error TS(\d+)/gm);
    return new Set([...lines].filter(([, , code]) => !/^6(?:133|192|196|198)$/.test(code!)).map(([, path]) => path!));
  }

  remove(): void {
    rmSync(this.#base, { recursive: true, force: true });
  }
}

const firstFailure = (output: string): { readonly name: string; readonly failure: string } => {
  try {
    const { testResults } = JSON.parse(readFileSync(output, "utf8")) as Results;
    const file = testResults.find(({ status }) => status === "failed");
    const failed = file?.assertionResults.find(({ status }) => status === "failed");
    return { name: file?.name ?? "", failure: failed?.fullName ?? "a file that does not load" };
  } catch {
    return { name: "", failure: "no results" };
  }
};
