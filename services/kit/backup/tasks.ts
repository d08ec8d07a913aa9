import type { Damage } from "./stored-data.ts";

/** Writes what the running process stores to a new snapshot. */
export interface BackupTask {
  readonly verb: "backup";
  /** Receives the files of records and of content. */
  readonly snapshot: string;
  /** The content files of all snapshots, by their paths below the directory of their process. */
  readonly pool: string;
  /** On the file system of the pool; receives content that is not yet verified. */
  readonly stage: string;
  /** Content gets a further name instead of a copy, where the file system allows it. */
  readonly isLinked: boolean;
}

/** Writes what a snapshot has of the process to a new directory. */
export interface RestoreTask {
  readonly verb: "restore";
  readonly snapshot: string;
  readonly pool: string;
  readonly directory: string;
  /** False: only the database. */
  readonly withContent: boolean;
}

/** Checks everything that is stored in the directory of a process, which is not running. */
export interface VerifyTask {
  readonly verb: "verify";
  readonly directory: string;
}

/** Checks everything that snapshots have of the process. */
export interface VerifySnapshotsTask {
  readonly verb: "verify-snapshots";
  /** The newest first. */
  readonly snapshots: readonly string[];
  readonly pool: string;
  /** Receives the database of one snapshot at a time. */
  readonly scratch: string;
}

export type StoredTask = BackupTask | RestoreTask | VerifyTask | VerifySnapshotsTask;

/** What a snapshot has of a process. */
export interface BackupReport {
  /** The version of the form of its data. */
  readonly format: number;
  readonly records: number;
  readonly recordBytes: number;
  readonly files: number;
  readonly fileBytes: number;
  /** Of these files, those that no earlier snapshot had. */
  readonly newFiles: number;
  /** What is damaged or missing in the installation, and so not in the snapshot. */
  readonly damages: readonly Damage[];
}

/** What was restored, and what the snapshot has damaged or lacks. */
export interface RestoreReport {
  readonly records: number;
  readonly files: number;
  readonly damages: readonly Damage[];
}

/** What was read, and what of it is damaged or missing. */
export interface VerifyReport {
  readonly records: number;
  readonly files: number;
  readonly damages: readonly Damage[];
}

/** The result of each task. */
export interface Reports {
  readonly backup: BackupReport;
  readonly restore: RestoreReport;
  readonly verify: VerifyReport;
  /** In the order of the snapshots. */
  readonly "verify-snapshots": readonly VerifyReport[];
}

/** What a process that runs a task sends to the one that started it. */
export type TaskMessage =
  | { readonly progress: string }
  | { readonly report: Reports[keyof Reports] }
  | { readonly failed: string };

/** The flag with which a process is started for a task, as JSON. */
export const taskFlag = "--stored-task=";

/** The names of a process's files in a snapshot. */
export const recordsFile = (process: string): string => `${process}.records`;
export const contentFile = (process: string): string => `${process}.content`;
