import { readFileSync, statSync } from "node:fs";

import type { Clock } from "../clock/clock.ts";
import { ConfigError } from "./config-error.ts";

/** What is made from files, made again when one of them changes. */
export interface Watched<T> {
  /** The value of the last reading that succeeded. Looks at the files at most once a second. */
  current(): T;
  /** Looks at the files at once. */
  refresh(): void;
}

/** Gives the text of a file and keeps it watched; undefined when there is none. Throws when it cannot be read. */
export type ReadText = (path: string) => string | undefined;

export interface WatchedOptions<T> {
  /** Makes the value from what the files hold now. What it throws at the start is thrown on. */
  readonly read: (readText: ReadText) => T;
  readonly clock: Clock;
  /** A later reading succeeded. */
  readonly onChange: (value: T, former: T) => void;
  /** A later reading failed; the former value stays until a file changes again. */
  readonly onFailure: (reason: string) => void;
}

const checkIntervalMs = 1_000;
/** Far above any real file; what is larger was named by mistake. */
const fileBytesMax = 16 * 1024 * 1024;

/**
 * Reads files and reads them again when one of them was replaced, written, made or removed. Nothing runs in between:
 * the files are looked at when the value is asked for. Also a failed reading is not repeated before a file changes.
 */
export const openWatched = <T>(options: WatchedOptions<T>): Watched<T> => {
  const { clock } = options;
  let seen = new Map<string, string | undefined>();
  const read = (): T => {
    const noted = new Map<string, string | undefined>();
    seen = noted;
    return options.read((path) => {
      // The version is taken first, so that a change during the reading is met by the next look.
      noted.set(path, fileVersion(path));
      return textOf(path);
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

/** Changes whenever the file is replaced or written; undefined when there is none. */
const fileVersion = (path: string): string | undefined => {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stat === undefined ? undefined : `${stat.ino}-${stat.mtimeNs}-${stat.size}`;
};

const textOf = (path: string): string | undefined => {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (stat.size > fileBytesMax) throw new ConfigError(`${path} has more than ${fileBytesMax} bytes`);
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
};
