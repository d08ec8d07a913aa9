import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

import type { Damage } from "../kit/backup/stored-data.ts";
import { ConfigError } from "../kit/config/config.ts";
import { syncDirectory } from "../kit/files/directories.ts";
import { currentFormat, noteRestoring, writeFormat } from "../kit/store/data-format.ts";
import type { BackupDirectory } from "./backup/backup-directory.ts";
import { backupDirectoryAt } from "./backup/backup-directory.ts";
import type { BackupCall } from "./backup/command.ts";
import { damageLines, runBackupCommand } from "./backup/command.ts";
import { runPart } from "./backup/parts.ts";
import { readManifest, verifySums, writeDurably } from "./backup/snapshot-files.ts";
import { processNames } from "./processes.ts";

/** Writes a snapshot to an empty data directory. No process starts there before all of it is written and durable. */
const restore = async ({ operands, flags, settings, print }: BackupCall): Promise<number> => {
  const [from, to] = operands as [string, string];
  const backups = backupDirectoryAt(from);
  const snapshot = backups.snapshot(await chosen(backups, flags.get("snapshot")));
  const broken = await verifySums(snapshot);
  if (broken.length > 0) throw new ConfigError(`it is damaged: ${damageLines(snapshot, broken).join("; ")}`);
  const manifest = await readManifest(snapshot);
  const names = processNames.filter((name) => manifest.processes[name] !== undefined);
  const newest = Math.max(...names.map((name) => manifest.processes[name]?.format ?? 1));
  if (newest > currentFormat)
    throw new ConfigError(
      `${snapshot} has data of format ${newest}, of Quartet ${manifest.program}; this one reads up to ${currentFormat}`,
    );
  const created = (await mkdir(to, { recursive: true, mode: 0o700 })) ?? to;
  if ((await readdir(to)).length > 0) throw new ConfigError(`${to} is not empty`);

  for (const name of names) await noteRestoring(join(to, name));
  for (let path = to; path.length >= dirname(created).length; path = dirname(path)) await syncDirectory(path);
  const damages: Damage[] = [];
  for (const name of names) {
    const directory = join(to, name);
    const task = { verb: "restore", snapshot, pool: backups.pool(name), directory, withContent: true } as const;
    const report = await runPart(name, task, { settings, report: print });
    damages.push(...report.damages);
    await rm(join(directory, "restoring"), { recursive: true, force: true });
    for (const file of ["master.keys", "credentials.json"])
      if ((await readdir(snapshot)).includes(`${name}.${file}`))
        await writeDurably(join(directory, file), await readFile(join(snapshot, `${name}.${file}`)));
  }
  // Also makes the names in each directory durable.
  for (const name of names) await writeFormat(join(to, name), manifest.processes[name]?.format ?? 1);
  for (const line of damageLines("missing", damages)) print(line);
  print(`${snapshot} was restored to ${to}`);
  if (!manifest.hasSecrets) print("it has no master keys and credentials: copy yours before the start");
  return damages.length === 0 ? 0 : 1;
};

/** The snapshot that was named, or the newest. Throws ConfigError if there is none. */
const chosen = async (backups: BackupDirectory, named: string | undefined): Promise<string> => {
  const names = await backups.snapshots();
  const name = named ?? names[0];
  if (name === undefined) throw new ConfigError(`${backups.path} has no snapshot`);
  if (!names.includes(name))
    throw new ConfigError(`${backups.path} has no snapshot ${name}; its are ${names.join(", ")}`);
  return name;
};

await runBackupCommand({
  name: "restore",
  operands: ["DIR", "DATADIR"],
  about: [
    "Writes the newest snapshot in DIR to DATADIR, which must be empty or not exist; npm start -- --data-dir DATADIR",
    "serves it. Every byte is verified. Key pairs between processes are made again at the start.",
  ],
  flags: [["snapshot", "NAME", "Restores this one; unset: the newest."]],
  run: restore,
});
