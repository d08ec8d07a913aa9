import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** Bytes of the logs of what a LevelDB has in memory, and how many tables there are. */
export const databaseFiles = async (
  directory: string,
): Promise<{ readonly logBytes: number; readonly tables: number }> => {
  const names = await readdir(directory);
  const logs = names.filter((name) => name.endsWith(".log"));
  const sizes = await Promise.all(logs.map(async (name) => (await stat(join(directory, name))).size));
  return {
    logBytes: sizes.reduce((sum, size) => sum + size, 0),
    tables: names.filter((name) => name.endsWith(".ldb")).length,
  };
};
