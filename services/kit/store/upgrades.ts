/** The data of one process, which nothing has open. */
export interface UpgradedData {
  /** The process's name, which is also that of its directory. */
  readonly process: string;
  /** Its own directory; the database is in `leveldb` below it. */
  readonly directory: string;
}

/** Brings stored data from one version of its form to the next. */
export interface DataUpgrade {
  /** What it changes, for the log. */
  readonly description: string;
  /** Changes the data of one process. It may run again on data that it has changed in part. */
  run(data: UpgradedData): Promise<void>;
}

/**
 * The upgrades of this program, in their order: the first leads from version 1 to version 2. One is added when stored
 * data of released programs would be read wrongly; none is ever removed or changed after a release.
 */
export const dataUpgrades: readonly DataUpgrade[] = [];
