import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import { expect, test } from "vitest";

import { platformEnvironment } from "../../../services/launcher/platform-environment.ts";

interface Report {
  readonly isTrimmed: boolean;
  /** Resident MiB after the collection, and after the allocator was trimmed. */
  readonly collected: number;
  readonly trimmed: number;
  readonly kept: number;
}

/** Only glibc has what trims it; macOS and musl return what is free by rules of their own. */
const isGlibc = "glibcVersionRuntime" in (process.report.getReport() as { header: object }).header;

const freeAmongUsed = async (): Promise<Report> => {
  const child = fork(join(import.meta.dirname, "trim-child.ts"), { env: { ...process.env, ...platformEnvironment } });
  const exited = once(child, "exit");
  const [report] = (await Promise.race([once(child, "message"), exited])) as [Report];
  await exited;
  return report;
};

test("free memory between blocks in use goes back to the system where the C library is glibc", async () => {
  const { isTrimmed, collected, trimmed, kept } = await freeAmongUsed();
  expect(isTrimmed).toBe(isGlibc);
  expect(kept).toBe(64);
  expect(collected - trimmed).toBeGreaterThan(isGlibc ? 25 : -5);
});
