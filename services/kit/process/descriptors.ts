import { readFileSync } from "node:fs";

/** What a process has open without serving anybody: its database, its listeners, its log, pools of its own. */
const ownDescriptors = 64;
/** One for the connection, and one for the file or the further connection that it is served from. */
const descriptorsPerConnection = 2;
/** LevelDB keeps that many tables open at most, and no more than a fifth of what its process may have open. */
const tablesMax = 1_000;
const tablesShare = 1 / 5;
/** Fewer connections than this are of no use to anybody. */
const connectionsMin = 16;

/**
 * How many connections a listener of this process may have at the same time: `limit`, or fewer where the system's limit
 * of open files (`ulimit -n`) leaves no room for them and for the files that they are served from.
 */
export const connectionsFor = (limit: number, descriptorsMax = descriptorLimit()): number => {
  const tables = Math.min(tablesMax, descriptorsMax * tablesShare);
  const room = Math.floor((descriptorsMax - ownDescriptors - tables) / descriptorsPerConnection);
  return Math.min(limit, Math.max(connectionsMin, room));
};

/** How many files and connections the system lets this process have open; infinite where it does not say. */
const descriptorLimit = (): number => {
  const soft = linuxLimit() ?? reportedLimit();
  return typeof soft === "number" ? soft : Infinity;
};

/** The platform's report costs 25 ms of the start, this file nothing. */
const linuxLimit = (): number | "unlimited" | undefined => {
  try {
    const [, soft] = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return soft === "unlimited" || soft === undefined ? soft : Number(soft);
  } catch {
    return undefined;
  }
};

const reportedLimit = (): number | "unlimited" | undefined => {
  const { userLimits } = process.report.getReport() as unknown as {
    readonly userLimits?: { readonly open_files: { readonly soft: number | "unlimited" } };
  };
  return userLimits?.open_files.soft;
};
