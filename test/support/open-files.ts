import { readdirSync, readlinkSync } from "node:fs";

/** The files and directories below a directory that this process has open. */
export const openFilesBelow = (directory: string): string[] =>
  readdirSync("/proc/self/fd").flatMap((descriptor) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${descriptor}`);
      return path.startsWith(directory) ? [path] : [];
    } catch {
      // The descriptor of the listing itself.
      return [];
    }
  });
