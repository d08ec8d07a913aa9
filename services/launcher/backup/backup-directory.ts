import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { ConfigError } from "../../kit/config/config.ts";
import { readTextFile } from "../../kit/config/text-file.ts";
import { syncDirectory } from "../../kit/files/directories.ts";

/**
 * A directory of backups:
 *
 *     snapshots/20261122T003012.123Z/   one snapshot: records, lists of content, secrets, manifest.json, SHA256SUMS
 *     content/object-storage/…          the content files of all snapshots, each once
 *     temporary/                        what is not whole yet; removed by the next run
 *     lock-0b8f…                        the process that works here
 *     lock-0b8f….new                    what a process makes its lock of; removed by the next one that works here
 */
export interface BackupDirectory {
  readonly path: string;
  /** The content files of a process. */
  pool(process: string): string;
  temporary(name: string): string;
  snapshot(name: string): string;
  /** The names of all snapshots, the newest first. */
  snapshots(): Promise<readonly string[]>;
  /** Gives a complete directory the name of a snapshot, by which it appears. */
  publish(temporary: string, name: string): Promise<void>;
  /** Removes a snapshot. Its content stays. */
  remove(name: string): Promise<void>;
}

/** A directory of backups in which this process works alone. */
export interface LockedBackupDirectory extends BackupDirectory {
  /** Lets others work here. */
  release(): Promise<void>;
}

/** The paths of a directory of backups, without changing anything in it. */
export const backupDirectoryAt = (path: string): BackupDirectory => {
  const snapshot = (name: string): string => join(path, "snapshots", name);
  const temporary = (name: string): string => join(path, "temporary", name);
  return {
    path,
    snapshot,
    temporary,
    pool: (process) => join(path, "content", process),
    snapshots: async () => {
      const names = await readdir(join(path, "snapshots")).catch(emptyWhenAbsent);
      return names.filter((name) => snapshotName.test(name)).toSorted((one, other) => (one < other ? 1 : -1));
    },
    publish: async (whole, name) => {
      await mkdir(join(path, "snapshots"), { recursive: true });
      await syncDirectory(whole);
      await rename(whole, snapshot(name));
      await syncDirectory(join(path, "snapshots"));
      await syncDirectory(path);
    },
    remove: async (name) => {
      const removed = temporary(`removed-${name}`);
      await mkdir(join(path, "temporary"), { recursive: true });
      await rename(snapshot(name), removed);
      await syncDirectory(join(path, "snapshots"));
      await rm(removed, { recursive: true, force: true });
    },
  };
};

/** Opens a directory of backups to work in, alone. Throws ConfigError if another process does. */
export const openBackupDirectory = async (path: string): Promise<LockedBackupDirectory> => {
  await mkdir(path, { recursive: true });
  const lockPath = await lock(path);
  for (const name of await readdir(path)) if (unfinishedName.test(name)) await rm(join(path, name), { force: true });
  await rm(join(path, "temporary"), { recursive: true, force: true });
  await mkdir(join(path, "temporary"));
  return {
    ...backupDirectoryAt(path),
    release: async () => {
      await rm(join(path, "temporary"), { recursive: true, force: true });
      await rm(lockPath, { force: true });
    },
  };
};

/** Whether a directory is one of backups. */
export const isBackupDirectory = (path: string): Promise<boolean> =>
  stat(join(path, "snapshots")).then(
    (found) => found.isDirectory(),
    () => false,
  );

const snapshotName = /^\d{8}T\d{6}\.\d{3}Z$/;

/** The name of a snapshot of this instant; later ones sort after it. */
export const snapshotNameAt = (ms: number): string => new Date(ms).toISOString().replaceAll(/[-:]/g, "");

/**
 * Takes the lock of a directory for this process and returns its path. Each lock has a name of its own that no process
 * uses again, so one that is left can be removed at any time; whoever finds another that is held removes its own. One
 * is left if its process is gone: it was killed, or this machine was started again since, as after a power loss.
 */
const lock = async (directory: string): Promise<string> => {
  const boot = await bootId();
  for (let attempt = 1; ; attempt += 1) {
    const name = `lock-${randomUUID()}`;
    const own = join(directory, name);
    try {
      const isCreated = await createWhole(own, `${process.pid} ${hostname()} ${boot}\n`);
      const held = await heldLock(directory, name, boot);
      if (isCreated && held === undefined) return own;
      await rm(own, { force: true });
      // Two that begin at once find each other, and neither works here.
      if (attempt === attemptsMax) throw new ConfigError(held ?? `other processes begin to work in ${directory}`);
    } catch (error) {
      await rm(own, { force: true });
      throw error;
    }
    await delay(againMsMax * Math.random());
  }
};

const attemptsMax = 5;
const againMsMax = 200;

/** Says which other process works in a directory; undefined: none. Removes the locks that are left. */
const heldLock = async (directory: string, ownName: string, boot: string): Promise<string | undefined> => {
  for (const name of await readdir(directory)) {
    if (name === ownName || !lockName.test(name)) continue;
    const path = join(directory, name);
    const text = readTextFile(path, lockBytesMax);
    if (text === undefined) continue;
    const [pid = "", host = "", holderBoot] = text.trim().split(" ");
    const isOfEarlierBoot = holderBoot !== undefined && boot !== "" && holderBoot !== boot;
    if (host !== hostname() || (!isOfEarlierBoot && isRunning(Number(pid))))
      return `process ${pid} on ${host} works in this directory; if it does not, remove ${path}`;
    await rm(path, { force: true });
  }
  return undefined;
};

/** Of a lock; earlier versions had one name for all. */
const lockName = /^lock(?:-[0-9a-f-]{36})?$/;
/** Of a file that becomes a lock. */
const unfinishedName = /^lock-[0-9a-f-]{36}\.new$/;
const lockBytesMax = 4_096;

/**
 * Creates a file that has its whole content when it has its name, also if the disk is full or the process is killed.
 * Returns false if the process that works here has removed it meanwhile, as one that was left.
 */
const createWhole = async (path: string, content: string): Promise<boolean> => {
  const unfinished = `${path}.new`;
  try {
    await writeFile(unfinished, content, { mode: 0o600, flush: true });
    await rename(unfinished, path);
    return true;
  } catch (error) {
    await rm(unfinished, { force: true });
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
};

/** Differs from one start of the machine to the next; empty where the system does not say. */
const bootId = (): Promise<string> =>
  readFile("/proc/sys/kernel/random/boot_id", "utf8").then(
    (text) => text.trim(),
    () => "",
  );

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
};

const emptyWhenAbsent = (error: NodeJS.ErrnoException): string[] => {
  if (error.code === "ENOENT") return [];
  throw error;
};
