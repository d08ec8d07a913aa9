import type { Clock } from "../clock/clock.ts";
import type { ConfigFilePath, Installation } from "../config/config-file.ts";
import { readConfigFile } from "../config/config-file.ts";
import { readValue } from "../config/read-value.ts";
import { openWatched } from "../config/watched-files.ts";
import type { Logger } from "../log/log.ts";
import { keySections } from "./declaration.ts";
import type { KeyNames } from "./key-names.ts";
import { anyKeyNames, declaredKeyNames } from "./key-names.ts";

export interface KeysFileOptions {
  readonly installation: Installation;
  readonly file: ConfigFilePath;
  readonly clock: Clock;
  readonly log?: Logger;
}

/**
 * Opens the keys that the configuration file declares. A change takes effect within a second, also for keys that are
 * already wrapped; one that cannot be used is logged and the last good declarations stay. Throws ConfigError when the
 * file cannot be used now.
 */
export const openKeyNames = ({ installation, file, clock, log }: KeysFileOptions): KeyNames => {
  const watched = openWatched<KeyNames>({
    read: (readText) => {
      const { keys } = readConfigFile(installation, file, readText);
      return keys === undefined ? anyKeyNames : declaredKeyNames(readValue(keySections.keys, keys, "keys"));
    },
    clock,
    onChange: () => log?.info({ path: file.path }, "keys were read again"),
    onFailure: (reason) => log?.error({ path: file.path, reason }, "keys were not read; the last good ones stay"),
  });
  return { usableId: (name) => watched.current().usableId(name) };
};
