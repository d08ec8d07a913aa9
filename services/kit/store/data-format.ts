import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";

import { programVersion } from "../config/usage.ts";
import { syncDirectory } from "../files/directories.ts";
import { parseJson } from "../json/parse-json.ts";
import type { Logger } from "../log/log.ts";
import { DataFormatError } from "./errors.ts";
import type { DataUpgrade } from "./upgrades.ts";
import { dataUpgrades } from "./upgrades.ts";

/**
 * The file `format` in the directory of a process, next to its database: the version of the form in which everything
 * below the directory is stored, and the program that wrote the file. Data of programs that wrote no such file has
 * version 1. Each upgrade leads from one version to the next, so their number is that of the newest version less one.
 */
const fileName = "format";

/** What the file says. */
interface FormatFile {
  readonly version: number;
  /** The version of the program that wrote it. */
  readonly program: string;
}

/** The version of the data that this program writes. */
export const currentFormat: number = dataUpgrades.length + 1;

/** How the data of a process is brought to the version of this program. */
export interface DataFormatOptions {
  /** The process's own directory; the database is in `leveldb` below it. */
  readonly directory: string;
  readonly log?: Logger | undefined;
  /** Unset: those of this program. */
  readonly upgrades?: readonly DataUpgrade[];
}

/**
 * Makes sure that the data in a directory has the form that this program reads, before anything opens it: notes the
 * version of new data, and upgrades older data step by step. The version is noted after each step, so that an upgrade
 * that was interrupted goes on with the same step. Throws DataFormatError for data of a newer program, data
 * that a restore left incomplete, and a file that names no version.
 */
export const ensureDataFormat = async ({
  directory,
  log,
  upgrades = dataUpgrades,
}: DataFormatOptions): Promise<void> => {
  const newest = upgrades.length + 1;
  const noted = await readFormat(directory);
  if (noted === undefined && !(await hasDatabase(directory))) {
    await mkdir(directory, { recursive: true });
    return writeFormat(directory, newest);
  }
  const { version, program } = noted ?? { version: 1, program: "" };
  if (version > newest)
    throw new DataFormatError(
      `the data in ${directory} has format ${version}, of Quartet ${program}, and this is Quartet ${programVersion}, ` +
        `which reads formats up to ${newest}; start that version, or restore a backup that this one wrote`,
    );
  for (const [index, upgrade] of upgrades.slice(version - 1).entries()) {
    const [from, to] = [version + index, version + index + 1];
    log?.info({ directory, from, to, change: upgrade.description }, "upgrades the stored data");
    await upgrade.run({ process: basename(directory), directory });
    await writeFormat(directory, to);
  }
  if (noted === undefined && version === newest) await writeFormat(directory, newest);
};

/** Notes the version of a directory's data. */
export const writeFormat = (directory: string, version: number): Promise<void> =>
  write(directory, { format: version, program: programVersion });

/** Notes that a directory is being filled, so that no process starts with a part of its data. */
export const noteRestoring = async (directory: string): Promise<void> => {
  await mkdir(directory, { recursive: true });
  await write(directory, { restoring: true });
};

/** What is noted in a directory; undefined where nothing is. Throws DataFormatError. */
export const readFormat = async (directory: string): Promise<FormatFile | undefined> => {
  const path = join(directory, fileName);
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const { format, program, restoring } = membersOf(text);
  if (restoring === true)
    throw new DataFormatError(`the restore into ${directory} did not end; empty the directory and restore again`);
  if (typeof format !== "number" || !Number.isSafeInteger(format) || format < 1)
    throw new DataFormatError(`${path} does not name a version; restore the directory from a backup`);
  return { version: format, program: typeof program === "string" ? program : "" };
};

const membersOf = (text: string): Readonly<Record<string, unknown>> => {
  try {
    return { ...(parseJson(text) as object) };
  } catch {
    return {};
  }
};

const hasDatabase = (directory: string): Promise<boolean> =>
  stat(join(directory, "leveldb", "CURRENT")).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );

/** Replaces the file, whole or not at all; it survives a power loss when this resolves. */
const write = async (directory: string, members: object): Promise<void> => {
  const path = join(directory, fileName);
  await rm(`${path}.new`, { force: true });
  await writeFile(`${path}.new`, `${JSON.stringify(members)}\n`, { flag: "wx", mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
  await syncDirectory(directory);
};
