import { join } from "node:path";

import { makeDirectory } from "../files/directories.ts";
import type { Logger } from "../log/log.ts";
import { ensureDataFormat } from "../store/data-format.ts";
import { DiskSpace } from "../store/disk-space.ts";
import type { Store, StoreLimits } from "../store/store.ts";
import { openStore } from "../store/store.ts";
import type { ProcessControl } from "./process.ts";

/** The settings by which a service keeps what it stores. */
export interface StorageConfig {
  readonly acceptLoss: "no" | "yes";
  readonly freeMebibytesMin: number;
  readonly freePercentMin: number;
  readonly ballastMebibytes: number;
}

/** The store of a process and its share of the disk. */
export interface ProcessStore {
  /** The process's own directory under the data directory. */
  readonly directory: string;
  readonly store: Store;
  readonly space: DiskSpace;
}

/**
 * Opens the store of a process in its directory, and upgrades data of an older program before. A write that the disk
 * refuses ends the process: it is unknown then what is stored, until the store is opened again. Throws DataFormatError
 * and StoreDamageError.
 */
export const openProcessStore = async (
  config: StorageConfig & { readonly dataDir: string },
  name: string,
  log: Logger,
  control: Pick<ProcessControl, "end">,
  limits: Partial<StoreLimits> = {},
): Promise<ProcessStore> => {
  const directory = join(config.dataDir, name);
  await makeDirectory(directory);
  const space = openDiskSpace(directory, config, log);
  await ensureDataFormat({ directory, log });
  const store = await openStore({
    directory: join(directory, "leveldb"),
    acceptLoss: config.acceptLoss === "yes",
    hasRoomFor: space.hasRoomFor,
    limits,
    log,
    onBroken: (error) => control.end(error),
  });
  space.tend();
  return { directory, store, space };
};

const mebibyte = 1024 * 1024;

const openDiskSpace = (directory: string, config: StorageConfig, log: Logger): DiskSpace =>
  new DiskSpace({
    directory,
    freeBytesMin: config.freeMebibytesMin * mebibyte,
    freePercentMin: config.freePercentMin,
    ballastBytes: config.ballastMebibytes * mebibyte,
    log,
  });
