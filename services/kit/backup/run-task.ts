import { access } from "node:fs/promises";
import { join } from "node:path";

import { createClient } from "@connectrpc/connect";

import { BackupService } from "../../../gen/quartet/kit/backup/v1/backup_service_pb.ts";
import { createTransport } from "../client/transport.ts";
import { systemClock } from "../clock/clock.ts";
import type { Address } from "../config/config.ts";
import { formatAddress } from "../config/config.ts";
import { defaultAccountId } from "../identity/access-keys.ts";
import { rootCaller } from "../identity/caller.ts";
import { ensureKeyPair } from "../identity/key-files.ts";
import { createMinter } from "../identity/tokens.ts";
import { parseJson } from "../json/parse-json.ts";
import { createLogger } from "../log/log.ts";
import { openProcessTls } from "../process/process-tls.ts";
import type { TlsConfig } from "../process/process-tls.ts";
import { startFailure } from "../process/start-failure.ts";
import { backUpPart } from "./backup-part.ts";
import { backupIssuer } from "./backup-issuer.ts";
import { restorePart } from "./restore-part.ts";
import type { StoredData } from "./stored-data.ts";
import type { BackupTask, StoredTask, TaskMessage } from "./tasks.ts";
import { taskFlag } from "./tasks.ts";
import { verifyPart, verifySnapshots } from "./verify-part.ts";

/** The settings with which a process that runs is found. */
export interface TaskConfig extends TlsConfig {
  readonly dataDir: string;
  readonly keysDir: string;
  /** Where the process serves RPCs. */
  readonly listen: Address;
}

/** The process whose data a task is about. */
export interface TaskSubject {
  readonly name: string;
  readonly stored: StoredData;
  /** The audience of tokens for it. */
  readonly audience: string;
  readonly keysDirectory: string;
}

/** Takes the task that this process was started for out of its arguments; undefined: it was started to serve. */
export const takeTask = (argv: string[]): StoredTask | undefined => {
  const at = argv.findIndex((argument) => argument.startsWith(taskFlag));
  const [taken] = at === -1 ? [] : argv.splice(at, 1);
  return taken === undefined ? undefined : (parseJson(taken.slice(taskFlag.length)) as StoredTask);
};

/** Runs a task, reports to the process that started this one, and ends. */
export const runTask = async (task: StoredTask, subject: TaskSubject, config: TaskConfig): Promise<void> => {
  process.umask(0o077);
  process.once("disconnect", () => process.exit(1));
  const send = (message: TaskMessage): Promise<void> =>
    new Promise((resolve) => {
      if (process.send === undefined) resolve();
      else process.send(message, undefined, undefined, () => resolve());
    });
  const report = (progress: string): void => void send({ progress });
  try {
    await send({ report: await run(task, subject, config, report) });
  } catch (error) {
    await send({ failed: startFailure(error) ?? (error instanceof Error ? error.message : String(error)) });
  }
  process.exit(0);
};

const run = (task: StoredTask, subject: TaskSubject, config: TaskConfig, report: (progress: string) => void) => {
  switch (task.verb) {
    case "backup":
      return backUp(task, subject, config, report);
    case "restore":
      return restorePart(task, subject.name, subject.stored, report);
    case "verify":
      return verifyPart(task, subject.stored, report);
    case "verify-snapshots":
      return verifySnapshots(task, subject.name, subject.stored, report);
  }
};

const backUp = async (
  task: BackupTask,
  { name, stored, audience, keysDirectory }: TaskSubject,
  config: TaskConfig,
  report: (progress: string) => void,
) => {
  const tls = openProcessTls(config, systemClock, createLogger({ name, level: "silent" }));
  const transport = createTransport({
    address: await addressOf(config, name, tls.server !== undefined),
    engine: "connect",
    tls: tls.client,
  });
  const minter = createMinter({ keyPair: await ensureKeyPair(keysDirectory, backupIssuer), clock: systemClock });
  // Its connections end with this process.
  return backUpPart(
    task,
    {
      name,
      directory: join(config.dataDir, name),
      stored,
      client: createClient(BackupService, transport),
      token: () => minter.mint({ ...rootCaller(defaultAccountId), isPreauthorized: true }, audience),
    },
    report,
  );
};

/** The socket of the installation that runs in the data directory, or the address that is set. */
const addressOf = async ({ dataDir, listen }: TaskConfig, name: string, isTls: boolean): Promise<string> => {
  const socket = join(dataDir, "sockets", `${name}.sock`);
  const hasSocket = await access(socket).then(
    () => true,
    () => false,
  );
  return hasSocket && !isTls ? `unix:${socket}` : `${isTls ? "https" : "http"}://${formatAddress(listen)}`;
};
