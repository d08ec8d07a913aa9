import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A new directory that is removed when the running test ends. Cleaners registered later run earlier. */
export const temporaryDirectory = async (): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), "quartet-test-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
};
