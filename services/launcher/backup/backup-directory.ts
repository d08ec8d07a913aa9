import { randomUUID } from "node:crypto";
import { link, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";

import { syncDirectory } from "../../kit/backup/content-copy.ts";
import { ConfigError } from "../../kit/config/config.ts";

/**
 * A directory of backups:
 *
 *     snapshots/20261122T003012.123Z/   one snapshot: records, lists of content, secrets, manifest.json, SHA256SUMS
 *     content/object-storage/…          the content files of all snapshots, each once
 *     temporary/                        what is not whole yet; removed by the next run
 *     lock                              the process that works here
 *     lock-0b8f…                        what a process makes its lock of; removed by the next one that works here
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
    release: async () => {
      await rm(join(path, "temporary"), { recursive: true, force: true });
      await rm(join(path, "lock"), { force: true });
    },
  };
};

/** Opens a directory of backups to work in, alone. Throws ConfigError if another process does. */
export const openBackupDirectory = async (path: string): Promise<BackupDirectory> => {
  await mkdir(path, { recursive: true });
  await lock(path);
  for (const name of await readdir(path))
    if (/^lock-[0-9a-f-]{36}$/.test(name)) await rm(join(path, name), { force: true });
  await rm(join(path, "temporary"), { recursive: true, force: true });
  await mkdir(join(path, "temporary"));
  return backupDirectoryAt(path);
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
 * Creates the lock; one whose process is gone is replaced: it was killed, or this machine was started again since, as
 * after a power loss.
 */
const lock = async (directory: string): Promise<void> => {
  const path = join(directory, "lock");
  const boot = await bootId();
  for (;;) {
    if (await createWhole(path, `${path}-${randomUUID()}`, `${process.pid} ${hostname()} ${boot}\n`)) return;
    const [pid = "", host = "", holderBoot] = (await readFile(path, "utf8").catch(() => "")).trim().split(" ");
    const isOfEarlierBoot = holderBoot !== undefined && boot !== "" && holderBoot !== boot;
    if (host !== hostname() || (!isOfEarlierBoot && isRunning(Number(pid))))
      throw new ConfigError(`process ${pid} on ${host} works in this directory; if it does not, remove ${path}`);
    await rm(path, { force: true });
  }
};

/**
 * Creates a file that has its whole content when it has its name, also if the disk is full or the process is killed
 * meanwhile. Returns false if it exists.
 */
const createWhole = async (path: string, temporary: string, content: string): Promise<boolean> => {
  try {
    await writeFile(temporary, content, fileOptions);
    return (await linked(temporary, path)) ?? (await createWithoutLink(path, content));
  } finally {
    await rm(temporary, { force: true });
  }
};

const fileOptions = { mode: 0o600, flush: true } as const;

/** Gives a file a second name. Returns false if that exists; undefined: the file system cannot. */
const linked = async (from: string, to: string): Promise<boolean | undefined> => {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    // The process that works here may have removed the file as one that was left.
    if (code === "EEXIST" || code === "ENOENT") return false;
    if (withoutLinks.includes(code)) return undefined;
    throw error;
  }
};

const withoutLinks = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"];

const createWithoutLink = async (path: string, content: string): Promise<boolean> => {
  try {
    await writeFile(path, content, { ...fileOptions, flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    // It is the lock of this process, which could not write it.
    await rm(path, { force: true });
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
