import { readlinkSync, statSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { open } from "node:fs/promises";

import { onTestFinished, vi } from "vitest";

/** Notes the directories that are synced from now on. */
export const syncedDirectories = async (): Promise<string[]> => {
  const synced: string[] = [];
  const handle = await open("/", "r");
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const sync = vi.spyOn(prototype, "sync").mockImplementation(async function (this: FileHandle) {
    const path = readlinkSync(`/proc/self/fd/${this.fd}`);
    if (statSync(path).isDirectory()) synced.push(path);
  });
  onTestFinished(() => sync.mockRestore());
  return synced;
};
