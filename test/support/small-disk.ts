import { spawnSync } from "node:child_process";
import { open, rm, statfs } from "node:fs/promises";
import { join } from "node:path";

import { onTestFinished } from "vitest";

import { temporaryDirectory } from "./temporary-directory.ts";

/**
 * Whether this user may mount file systems. CI runs as root, where a mount that is refused fails the test; an ordinary
 * user's run leaves these tests out and says so.
 */
export const canMount = (): boolean => {
  if (process.getuid?.() === 0) return true;
  process.stderr.write("tests of full disks are left out: only root may mount the small file systems that they fill\n");
  return false;
};

/** A file system of its own with this many MiB, empty; unmounted when the running test ends. */
export const smallDisk = async (mebibytes: number): Promise<string> => {
  const directory = await temporaryDirectory();
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${mebibytes}m`, "tmpfs", directory]);
  if (mounted.status !== 0) throw new Error(`a file system cannot be mounted: ${mounted.stderr.toString()}`);
  onTestFinished(() => void spawnSync("umount", ["--lazy", directory]));
  return directory;
};

/** What somebody else stored on a disk, so that this much stays free. */
export interface Filling {
  remove(): Promise<void>;
}

const chunk = Buffer.alloc(64 * 1024, 0xa5);

/** Fills a disk until `leftBytes` are free, or nothing is when others write to it too. */
export const fillDisk = async (directory: string, leftBytes = 0): Promise<Filling> => {
  const path = join(directory, "filling");
  const { bavail, bsize } = await statfs(directory);
  const file = await open(path, "a");
  try {
    for (let bytes = bavail * bsize - leftBytes; bytes > 0; bytes -= chunk.byteLength)
      await file.writeFile(chunk.subarray(0, Math.min(bytes, chunk.byteLength)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  } finally {
    await file.close();
  }
  return { remove: () => rm(path) };
};
