import { mkdir, open, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

import { hasCode } from "./error-code.ts";

/**
 * Creates a directory, and those above it that are absent, one by one: Node's own way has no end where a file system
 * says that a new directory is absent itself, as /proc does. Those that were absent survive a power loss when this
 * resolves. Throws what the system says.
 */
export const makeDirectory = async (path: string, mode?: number): Promise<void> => {
  const absent: string[] = [];
  for (let at = resolve(path); await isAbsent(at); at = dirname(at)) absent.push(at);
  for (const directory of absent.toReversed())
    await mkdir(directory, { mode }).catch((error: unknown) => {
      // Another process may have created it.
      if (!hasCode(error, "EEXIST")) throw error;
    });
  // A file in its place is refused; there is nothing above it to create.
  await mkdir(path, { recursive: true, mode });
  for (const directory of absent) await syncDirectory(dirname(directory));
};

/** Makes the names in a directory survive a power loss. */
export const syncDirectory = async (directory: string): Promise<void> => {
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

const isAbsent = async (path: string): Promise<boolean> => {
  try {
    await stat(path);
    return false;
  } catch (error) {
    return hasCode(error, "ENOENT");
  }
};
