import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

import type { DiskSpace } from "../store/disk-space.ts";
import type { Metrics } from "./metrics.ts";

/** Adds the metrics of the disk that holds a process's data, and of its database's files. */
export const diskMetrics = (
  metrics: Metrics,
  space: Pick<DiskSpace, "freeBytes" | "isLow">,
  databaseDirectory: string,
): void => {
  const rows = [
    ["disk_free_bytes", "Bytes that are free where the data is.", () => space.freeBytes],
    ["disk_low", "1 while only reads and deletions are served.", () => (space.isLow ? 1 : 0)],
    ["store_file_bytes", "Bytes of the database's files.", () => directoryBytes(databaseDirectory)],
  ] as const;
  for (const [name, help, read] of rows)
    metrics.add({ name, type: "gauge", help, read: async () => [{ labels: {}, value: await read() }] });
};

/** The sum of the files of a directory. One that is removed meanwhile counts nothing. */
const directoryBytes = async (directory: string): Promise<number> => {
  const sizes = await Promise.all(
    (await readdir(directory)).map((name) =>
      stat(join(directory, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
};
