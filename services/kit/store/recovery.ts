import { setTimeout as delay } from "node:timers/promises";

import type { Logger } from "../log/log.ts";
import { readDurable } from "./durable-file.ts";
import type { LostGroups } from "./errors.ts";
import { StoreDamageError } from "./errors.ts";
import type { GroupMark } from "./group-mark.ts";
import { noGroup } from "./group-mark.ts";
import type { FileDamage } from "./level-files/file-damage.ts";
import { fatalDamage, survivableDamage } from "./level-files/file-damage.ts";
import type { Inspection } from "./level-files/inspection.ts";
import { inspectFiles } from "./level-files/inspection.ts";
import type { LoggedBatches } from "./unread-logs.ts";

/** How a database is examined before it is opened. */
export interface RecoveryOptions {
  readonly directory: string;
  /** Goes on without the lost commits, and logs them. */
  readonly acceptLoss: boolean;
  /** How much of the tables is read. */
  readonly tableBytesMax: number;
  readonly log: Logger | undefined;
}

/** Where an examined database continues. */
export interface Recovery {
  /** The last group that the database has. */
  readonly last: GroupMark;
  /** Whether the durable file exists and agrees; otherwise it must be created. */
  readonly hasDurableFile: boolean;
  /** What LevelDB is about to read from its logs. */
  readonly logs: readonly LoggedBatches[];
}

interface Findings extends Recovery {
  readonly lost: readonly LostGroups[];
  readonly damages: readonly FileDamage[];
}

const nothingFound: Findings = { last: noGroup, lost: [], damages: [], hasDurableFile: false, logs: [] };

/** Damage counts if it is found this often in a row: a database that is open elsewhere changes while it is read. */
const sightings = 3;
const sightingDelayMs = 20;

/** Finds out whether a database has all that was written, before LevelDB changes its files. Throws StoreDamageError. */
export const recover = async (options: RecoveryOptions): Promise<Recovery> => {
  const { directory, acceptLoss, log } = options;
  const findings = await examineSteady(options);
  const { lost, damages } = findings;
  if (lost.length === 0 && damages.length === 0) return findings;
  const lines = damages.map(({ file, detail }) => `${file} ${detail}`);
  const error = new StoreDamageError(
    directory,
    lost,
    lines,
    damages.every(({ isSurvivable }) => isSurvivable),
  );
  if (!acceptLoss || !error.isSurvivable) throw error;
  for (const { first, last, afterMs, beforeMs } of lost)
    log?.warn(
      { directory, first, last, after: isoTime(afterMs), before: isoTime(beforeMs) },
      "goes on without commits",
    );
  for (const damage of lines) log?.warn({ directory, damage }, "goes on with a damaged file");
  return { last: findings.last, hasDurableFile: false, logs: findings.logs };
};

const isoTime = (ms: number): string | undefined => (ms === 0 ? undefined : new Date(ms).toISOString());

const examineSteady = async (options: RecoveryOptions): Promise<Findings> => {
  let findings = await examineOnce(options);
  for (let seen = 1; seen < sightings && findings.lost.length + findings.damages.length > 0; seen += 1) {
    await delay(sightingDelayMs);
    findings = await examineOnce(options);
  }
  return findings;
};

/** A file that is deleted while it is to be read is a damage like any other, which is not found again. */
const examineOnce = async (options: RecoveryOptions): Promise<Findings> => {
  try {
    return await examine(options);
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT") throw error;
    return { ...nothingFound, damages: [fatalDamage(path ?? "a file", "vanished")] };
  }
};

const examine = async ({ directory, tableBytesMax }: RecoveryOptions): Promise<Findings> => {
  // Read first, because it never runs ahead of the database, even one that is being written to.
  const durable = await readDurable(directory);
  const { damages, ...groups } = await inspectFiles(directory, tableBytesMax);
  if (damages.some(({ isSurvivable }) => !isSurvivable)) return { ...nothingFound, damages };
  const { lost, last } = follow(groups, typeof durable === "object" ? durable : noGroup);
  const allDamages = [...damages, ...durableDamage(durable, last)];
  return { last, lost, damages: allDamages, hasDurableFile: durable !== "missing", logs: groups.logs };
};

const durableDamage = (durable: GroupMark | "missing" | "damaged", last: GroupMark): FileDamage[] => {
  if (durable === "damaged") return [survivableDamage("durable", "is damaged")];
  // A database of an older version has neither numbers nor the file.
  return durable === "missing" && last.number > 0 ? [survivableDamage("durable", "is missing")] : [];
};

/** Follows the numbers from the tables through the logs to the last one that was durable. */
const follow = (
  { flushed, logged }: Pick<Inspection, "flushed" | "logged">,
  durable: GroupMark,
): { lost: LostGroups[]; last: GroupMark } => {
  const lost: LostGroups[] = [];
  let last = flushed ?? noGroup;
  for (const group of logged) {
    if (group.number > last.number + 1)
      lost.push({ first: last.number + 1, last: group.number - 1, afterMs: last.timeMs, beforeMs: group.timeMs });
    if (group.number > last.number) last = group;
  }
  if (durable.number > last.number)
    lost.push({ first: last.number + 1, last: durable.number, afterMs: last.timeMs, beforeMs: durable.timeMs });
  return { lost, last };
};
