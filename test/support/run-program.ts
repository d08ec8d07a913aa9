import { execFile } from "node:child_process";
import { join } from "node:path";

const root = join(import.meta.dirname, "..", "..");

/** How a program ended, and what it wrote. */
export interface Ended {
  readonly status: number;
  readonly output: string;
  readonly errors: string;
}

/** Runs a script of the repository to its end, in the repository unless another directory is given. */
export const runProgram = (
  script: string,
  argv: readonly string[],
  options: { readonly env?: NodeJS.ProcessEnv; readonly cwd?: string; readonly limitMs?: number } = {},
): Promise<Ended> =>
  new Promise((resolve) => {
    const env = { ...process.env, ...options.env };
    execFile(
      process.execPath,
      [join(root, script), ...argv],
      { cwd: options.cwd ?? root, env, timeout: options.limitMs ?? 60_000 },
      (error, output, errors) => resolve({ status: error === null ? 0 : Number(error.code), output, errors }),
    );
  });
