import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

/**
 * What only a file says whose tests look at their process, or start others: its memory, time of the processor, event
 * loop, descriptors, environment and signals, and what they replace in it.
 */
const ofTheProcess =
  /node:child_process|support\/(logged-system|open-files|process-memory|run-program|service-process|system|turns)\.ts|process\.(chdir|cpuUsage|emit|env|memoryUsage|on|once|resourceUsage|umask)\b|performance\.now|eventLoopUtilization|\bheap|\bvi\./u;

const files = globSync("test/**/*.test.ts", { cwd: import.meta.dirname }).toSorted();
const isAlone = (file: string): boolean => ofTheProcess.test(readFileSync(join(import.meta.dirname, file), "utf8"));
const { alone = [], together = [] } = Object.groupBy(files, (file) => (isAlone(file) ? "alone" : "together"));

/** How tests run, whatever they share. */
export const settings = {
  globalSetup: "test/support/leaves-nothing.ts",
  pool: "forks",
  maxWorkers: 2,
  // These end what hangs; none of them is near what a test takes, however busy the machine is.
  expect: { poll: { timeout: 60_000 } },
  testTimeout: 120_000,
  hookTimeout: 120_000,
} as const;

/** Files have two processes together, which load the sources once, but for those that need one of their own. */
export default defineConfig({
  test: {
    ...settings,
    projects: [
      { extends: true, test: { name: "alone", include: alone } },
      { extends: true, test: { name: "together", include: together, isolate: false } },
    ],
  },
});
