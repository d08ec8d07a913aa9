import { statSync } from "node:fs";

import type { Clock } from "../clock/clock.ts";
import { readTextFile } from "./text-file.ts";

/** A value that is read from files, and read again when one of them changes. */
export interface Watched<T> {
  /** The value of the last reading that succeeded. Checks the files at most once a second. */
  current(): T;
  /** Checks the files now. */
  refresh(): void;
}

/** Returns the text of a file and watches it; undefined if it does not exist. Throws ConfigError. */
export type ReadText = (path: string) => string | undefined;

export interface WatchedOptions<T> {
  /** Reads the value from the files. `openWatched` throws the errors of the first reading. */
  readonly read: (readText: ReadText) => T;
  readonly clock: Clock;
  /** A later reading succeeded. */
  readonly onChange: (value: T, former: T) => void;
  /** A later reading failed; the former value stays until a file changes again. */
  readonly onFailure: (reason: string) => void;
}

const checkIntervalMs = 1_000;

/**
 * Reads files, and reads them again after one of them was replaced, written, created or removed. There is no timer: the
 * files are checked when the value is used. A failed reading too is repeated only after a file has changed.
 */
export const openWatched = <T>(options: WatchedOptions<T>): Watched<T> => {
  const { clock } = options;
  let seen = new Map<string, string | undefined>();
  const read = (): T => {
    const noted = new Map<string, string | undefined>();
    seen = noted;
    return options.read((path) => {
      // The version is read first, so that the next check sees a change during the reading.
      noted.set(path, fileVersion(path));
      return readTextFile(path);
    });
  };
  let value = read();
  let checkedAtMs = clock.now();
  const refresh = (): void => {
    checkedAtMs = clock.now();
    if ([...seen].every(([path, version]) => fileVersion(path) === version)) return;
    const former = value;
    try {
      value = read();
    } catch (error) {
      options.onFailure(error instanceof Error ? error.message : "unknown");
      return;
    }
    options.onChange(value, former);
  };
  return {
    current: () => {
      if (Math.abs(clock.now() - checkedAtMs) >= checkIntervalMs) refresh();
      return value;
    },
    refresh,
  };
};

/** Changes whenever the file is replaced or written; undefined if it does not exist, or why it cannot be looked at. */
const fileVersion = (path: string): string | undefined => {
  try {
    const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
    return stat === undefined ? undefined : `${stat.ino}-${stat.mtimeNs}-${stat.size}`;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "unreadable";
  }
};
