import { mkdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";

import { mebibytes } from "../kit/backup/content-copy.ts";
import type { BackupReport } from "../kit/backup/tasks.ts";
import { ConfigError, loadConfig } from "../kit/config/config.ts";
import { programVersion } from "../kit/config/usage.ts";
import { masterKeysFile } from "../kit/keyring/master-keys.ts";
import { openBackupDirectory, snapshotNameAt } from "./backup/backup-directory.ts";
import type { BackupCall } from "./backup/command.ts";
import { damageLines, runBackupCommand } from "./backup/command.ts";
import { runPart } from "./backup/parts.ts";
import { prune } from "./backup/prune.ts";
import { completeSnapshot, writeDurably } from "./backup/snapshot-files.ts";
import type { ProcessName } from "./processes.ts";
import { processNames } from "./processes.ts";
import { credentialsFile, gatewaySettings, installation } from "./settings.ts";

const keepMax = 10_000;

/**
 * Backs up a running installation: the store of each process as of one instant, the content that it refers to, and the
 * secrets without which both cannot be read. The snapshot appears when all of it is written, verified and durable.
 */
const backUp = async ({ operands, flags, settings, config, print }: BackupCall): Promise<number> => {
  const keep = flags.get("keep");
  if (keep !== undefined && !(/^\d+$/.test(keep) && Number(keep) >= 1 && Number(keep) <= keepMax))
    throw new ConfigError(`--keep takes a number from 1 to ${keepMax}`);
  const backups = await openBackupDirectory(operands[0] as string);
  try {
    const name = snapshotNameAt(Date.now());
    const snapshot = backups.temporary(name);
    await mkdir(snapshot, { mode: 0o700 });
    const reports: Record<string, BackupReport> = {};
    for (const process of backedUpProcesses(settings))
      reports[process] = await runPart(
        process,
        {
          verb: "backup",
          snapshot,
          pool: backups.pool(process),
          stage: backups.temporary(`content-${process}`),
          isLinked: flags.has("link"),
        },
        { settings, report: print },
      );
    const hasSecrets = !flags.has("without-secrets");
    // After the records, so that every master key that wrapped something in them is in the file.
    if (hasSecrets) await copySecrets(config.dataDir, Object.keys(reports), snapshot);
    await completeSnapshot(snapshot, {
      backup: 1,
      program: programVersion,
      createTime: new Date().toISOString(),
      hasSecrets,
      processes: Object.fromEntries(Object.entries(reports).map(([process, report]) => [process, kept(report)])),
    });
    await backups.publish(snapshot, name);
    print(`${backups.snapshot(name)}: ${summary(Object.values(reports))}`);
    const damages = Object.entries(reports).flatMap(([process, report]) => damageLines(process, report.damages));
    for (const line of damages) print(`not backed up, because it is damaged: ${line}`);
    if (keep !== undefined) {
      const removed = await prune(backups, Number(keep));
      print(`${removed.snapshots} older snapshots and ${removed.files} files removed`);
    }
    return damages.length === 0 ? 0 : 1;
  } finally {
    await backups.release();
  }
};

/** All processes that keep something. A gateway that follows another one keeps nothing. */
const backedUpProcesses = (settings: readonly string[]): readonly ProcessName[] => {
  const sources = { argv: settings, env: process.env, directory: process.cwd() };
  const { identityAddress } = loadConfig(installation, "gateway", gatewaySettings, sources);
  return identityAddress === "" ? processNames : processNames.filter((name) => name !== "gateway");
};

/** Copies the master keys and the credentials of processes that have such files. */
const copySecrets = async (dataDir: string, names: readonly string[], snapshot: string): Promise<void> => {
  for (const name of names)
    for (const path of [masterKeysFile(join(dataDir, name)), credentialsFile(dataDir)]) {
      const isOwn = path.startsWith(join(dataDir, name));
      const content = isOwn ? await readFile(path).catch(undefinedWhenAbsent) : undefined;
      if (content !== undefined) await writeDurably(join(snapshot, `${name}.${basename(path)}`), content);
    }
};

const undefinedWhenAbsent = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== "ENOENT") throw error;
};

const kept = ({ format, records, recordBytes, files, fileBytes, damages }: BackupReport) => ({
  format,
  records,
  recordBytes,
  files,
  fileBytes,
  damages: [...damages],
});

const summary = (reports: readonly BackupReport[]): string => {
  const sum = (read: (report: BackupReport) => number) => reports.reduce((total, report) => total + read(report), 0);
  const records = `${sum(({ records: count }) => count)} records (${mebibytes(sum(({ recordBytes }) => recordBytes))} MiB)`;
  const files = `${sum(({ files: count }) => count)} files (${mebibytes(sum(({ fileBytes }) => fileBytes))} MiB)`;
  return `${records}, ${files}, of which ${sum(({ newFiles }) => newFiles)} are new`;
};

await runBackupCommand({
  name: "backup",
  operands: ["DIR"],
  about: [
    "Writes a snapshot of the running installation to DIR, which is created if it does not exist.",
    "Content that an earlier snapshot in DIR has is not copied again. Run it where the data directory is.",
  ],
  flags: [
    ["keep", "N", "Removes all but the newest N snapshots afterwards, with the content that only they had."],
    ["link", "", "Gives content a further name instead of copying it, where DIR is on the same file system."],
    ["without-secrets", "", "Leaves out master keys and credentials; without them encrypted data cannot be read."],
  ],
  run: backUp,
});
