import { stat } from "node:fs/promises";
import { join } from "node:path";

import { ConfigError } from "../kit/config/config.ts";
import { readFormat } from "../kit/store/data-format.ts";
import { isBackupDirectory, openBackupDirectory } from "./backup/backup-directory.ts";
import type { BackupCall } from "./backup/command.ts";
import { damageLines, runBackupCommand } from "./backup/command.ts";
import { runPart } from "./backup/parts.ts";
import { readManifest, verifySums } from "./backup/snapshot-files.ts";
import { processNames } from "./processes.ts";

/** Reads everything in a directory of backups, or in a data directory that no process uses. */
const verify = async (call: BackupCall): Promise<number> => {
  const path = call.operands[0] as string;
  const damages = (await isBackupDirectory(path))
    ? await verifyBackups(path, call)
    : await verifyDataDirectory(path, call);
  call.print(damages === 0 ? `${path} is whole` : `${path} has ${damages} damages`);
  return damages === 0 ? 0 : 1;
};

/** The files of all snapshots, their records and references, and the content that they share. Returns the damages. */
const verifyBackups = async (path: string, { settings, print }: BackupCall): Promise<number> => {
  const backups = await openBackupDirectory(path);
  let found = 0;
  const say = (lines: readonly string[]): void => {
    found += lines.length;
    for (const line of lines) print(line);
  };
  try {
    const whole: { readonly name: string; readonly processes: readonly string[] }[] = [];
    for (const name of await backups.snapshots()) {
      const broken = await verifySums(backups.snapshot(name));
      say(damageLines(name, broken));
      // Its other files are not read: they cannot be restored.
      if (broken.length > 0) continue;
      const { processes } = await readManifest(backups.snapshot(name));
      whole.push({ name, processes: Object.keys(processes) });
    }
    for (const process of processNames) {
      const names = whole.filter(({ processes }) => processes.includes(process)).map(({ name }) => name);
      if (names.length === 0) continue;
      const reports = await runPart(
        process,
        {
          verb: "verify-snapshots",
          snapshots: names.map((name) => backups.snapshot(name)),
          pool: backups.pool(process),
          scratch: backups.temporary(process),
        },
        { settings, report: print },
      );
      for (const [index, { records, files, damages }] of reports.entries()) {
        print(`${names[index]}: ${process}: ${records} records, ${files} files`);
        say(damageLines(`${names[index]}: ${process}`, damages));
      }
    }
    return found;
  } finally {
    await backups.release();
  }
};

/** Each process's database, its references and its content. Returns the damages. */
const verifyDataDirectory = async (path: string, { settings, print }: BackupCall): Promise<number> => {
  let found = 0;
  let checked = 0;
  for (const name of processNames) {
    const directory = join(path, name);
    if (!(await exists(join(directory, "leveldb")))) continue;
    await readFormat(directory);
    checked += 1;
    const report = await runPart(name, { verb: "verify", directory }, { settings, report: print });
    print(`${name}: ${report.records} records, ${report.files} files`);
    const lines = damageLines(name, report.damages);
    for (const line of lines) print(line);
    found += lines.length;
  }
  if (checked === 0) throw new ConfigError(`${path} is neither a directory of backups nor a data directory`);
  return found;
};

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

await runBackupCommand({
  name: "verify",
  operands: ["DIR"],
  about: [
    "Reads everything in a directory of backups, or in a data directory that no process uses: every record, every file",
    "and what they refer to. Prints what is damaged, and ends with status 1 if anything is.",
  ],
  flags: [],
  run: verify,
});
