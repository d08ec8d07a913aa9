import { secretVariables } from "../kit/accounts/secret-variables.ts";
import type { SettingsTable } from "../kit/config/config.ts";
import { ConfigError, variableName } from "../kit/config/config.ts";
import type { ConfigFilePath } from "../kit/config/config-file.ts";
import { readConfigFile } from "../kit/config/config-file.ts";
import { isSecret } from "../kit/config/setting.ts";
import type { ProcessName } from "./processes.ts";
import { processes, processNames } from "./processes.ts";
import { installation } from "./settings.ts";

/**
 * The environment of each process, as of a call: that of the installation without the secrets that the process does not
 * read. Those are the root key, the variables that the configuration file names as secrets of access keys, and other
 * processes' own secret settings. Where the file cannot be read, its last good content counts.
 */
export const processEnvironments = (
  env: NodeJS.ProcessEnv,
  file: ConfigFilePath,
): ((name: ProcessName) => NodeJS.ProcessEnv) => {
  /** All that were ever declared: a variable that is no longer named still holds a secret. */
  const declared = new Set<string>();
  const note = (): void => {
    try {
      for (const variable of secretVariables(readConfigFile(installation, file))) declared.add(variable);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
    }
  };
  return (name) => {
    note();
    const hidden = new Set([
      ...processNames.filter((other) => other !== name).flatMap(ownSecrets),
      ...(processes[name].hasAccessKeys ? [] : [...rootKey, ...declared]),
    ]);
    return Object.fromEntries(Object.entries(env).filter(([variable]) => !hidden.has(variable)));
  };
};

const secretNames = (table: SettingsTable): string[] => Object.keys(table).filter((name) => isSecret(table[name]!));

/** The shared secrets, and the id of the root key, which is of no use without its secret. */
const rootKey = ["accessKeyId", ...secretNames(installation.shared)].map((setting) => variableName(setting));

const ownSecrets = (name: ProcessName): readonly string[] =>
  secretNames(installation.processes[name]).map((setting) => variableName(setting, name));
