import type { Dirent } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";

import { readContentList } from "../../kit/backup/content-list.ts";
import { contentFile } from "../../kit/backup/tasks.ts";
import { processNames } from "../processes.ts";
import type { BackupDirectory } from "./backup-directory.ts";
import { readManifest } from "./snapshot-files.ts";

/** Files that are compared with the lists of the snapshots at the same time. */
const comparedMax = 200_000;

/** Removes all snapshots but the newest, and the content that none of the others has. Returns what was removed. */
export const prune = async (
  backups: BackupDirectory,
  keep: number,
): Promise<{ readonly snapshots: number; readonly files: number }> => {
  const removed = (await backups.snapshots()).slice(keep);
  for (const name of removed) await backups.remove(name);
  const kept = await Promise.all(
    (await backups.snapshots()).map(async (name) => ({
      directory: backups.snapshot(name),
      processes: Object.keys((await readManifest(backups.snapshot(name))).processes),
    })),
  );
  let files = 0;
  for (const process of processNames) {
    const pool = backups.pool(process);
    const lists = kept
      .filter(({ processes }) => processes.includes(process))
      .map(({ directory }) => join(directory, contentFile(process)));
    let candidates = new Set<string>();
    const removeUnlisted = async (): Promise<void> => {
      for (const list of lists) for await (const { path } of readContentList(list)) candidates.delete(path);
      for (const path of candidates) await rm(join(pool, path), { force: true });
      files += candidates.size;
      candidates = new Set();
    };
    for await (const path of filesBelow(pool)) {
      candidates.add(path);
      if (candidates.size >= comparedMax) await removeUnlisted();
    }
    if (candidates.size > 0) await removeUnlisted();
  }
  return { snapshots: removed.length, files };
};

/** The paths of all files below a directory, with `/`; none if it does not exist. */
async function* filesBelow(directory: string, below = ""): AsyncGenerator<string, void> {
  const entries = await readdir(join(directory, below), { withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException): Dirent[] => {
      if (error.code === "ENOENT") return [];
      throw error;
    },
  );
  for (const entry of entries) {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) yield* filesBelow(directory, path);
    else yield path;
  }
}
