import { ConfigError } from "./config-error.ts";
import type { ConfigFile, ConfigFilePath, Installation } from "./config-file.ts";
import { configFilePath, readConfigFile, sectionName } from "./config-file.ts";
import type { Setting, SettingsOf, SettingsTable } from "./setting.ts";
import { formatValue, textInFile } from "./setting.ts";
import { isObject } from "./shape.ts";

export { ConfigError } from "./config-error.ts";
export type { Installation } from "./config-file.ts";
export type { Address, Setting, SettingsOf, SettingsTable } from "./setting.ts";
export { address, choice, formatAddress, integer, secret, text, words } from "./setting.ts";

/** Where a process finds its settings. */
export interface ConfigSources {
  /** Arguments after the script's name. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Directory that relative paths are resolved against. */
  readonly directory: string;
}

/** Environment variables that begin like settings and are not: the launcher's words to its children. */
const reservedVariables = new Set(["QUARTET_LOG_PRETTY", "QUARTET_ROUNDS", "QUARTET_READY_JSON"]);

/** `data-dir` from `dataDir`. */
const kebabName = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const upperName = (name: string): string => kebabName(name).replaceAll("-", "_").toUpperCase();

/** The environment variable of a setting: QUARTET_DATA_DIR, QUARTET_OBJECT_STORAGE_LISTEN. */
export const variableName = (name: string, process?: string): string =>
  process === undefined ? `QUARTET_${upperName(name)}` : `QUARTET_${upperName(process)}_${upperName(name)}`;

interface Slot {
  readonly name: string;
  readonly process: string | undefined;
  readonly setting: Setting<unknown>;
}

/**
 * Reads the settings of one process: flags over `QUARTET_*` variables over the file over defaults. The file is
 * `--config` or `quartet.json` where it exists; it is checked as a whole, also where a flag or variable wins. Throws
 * ConfigError for a key that no process of the installation has and for a value that its setting does not take.
 */
export const loadConfig = <Shared extends SettingsTable, Own extends SettingsTable>(
  installation: Installation & { readonly shared: Shared },
  process: string,
  own: Own,
  sources: ConfigSources,
): SettingsOf<Shared> & SettingsOf<Own> => {
  const flags = readFlags(sources.argv);
  const path = configFilePath(flags.get("config"), sources.directory);
  flags.delete("config");
  refuseUnknown(installation, process, flags, sources.env);
  const file = readConfigFile(installation, path);
  const slots: Slot[] = [
    ...Object.entries(installation.shared).map(([name, shared]) => ({ name, process: undefined, setting: shared })),
    ...Object.entries(own).map(([name, each]) => ({ name, process, setting: each })),
  ];
  const values = slots.map((slot) => [slot.name, readSlot(slot, flags, sources.env, file)] as const);
  return Object.fromEntries(values) as SettingsOf<Shared> & SettingsOf<Own>;
};

/** The configuration file of a process with these arguments. Throws ConfigError. */
export const configFileOf = ({ argv, directory }: Pick<ConfigSources, "argv" | "directory">): ConfigFilePath =>
  configFilePath(readFlags(argv).get("config"), directory);

/** The effective settings as lines `name = value`, secrets hidden. */
export const printConfig = (tables: readonly SettingsTable[], values: Readonly<Record<string, unknown>>): string =>
  tables
    .flatMap((table) => Object.entries(table))
    .map(([name, each]) => {
      const shown = formatValue(values[name]);
      return `${name} = ${each.isSecret && shown !== "" ? "[hidden]" : shown}`;
    })
    .join("\n");

/** A line for each setting: its flag, its variable, its default and what it does. */
export const describeSettings = (tables: ReadonlyArray<readonly [string | undefined, SettingsTable]>): string =>
  tables
    .flatMap(([process, table]) =>
      Object.entries(table).map(([name, each]) => {
        const fallback = formatValue(each.fallback);
        return `  --${kebabName(name)}  (${variableName(name, process)}; default ${fallback || "none"})\n      ${each.describe}`;
      }),
    )
    .join("\n");

const readFlags = (argv: readonly string[]): Map<string, string> => {
  const flags = new Map<string, string>();
  for (let index = 0; index < argv.length; index++) {
    const match = /^--([a-z][a-z0-9-]*)(?:=(.*))?$/s.exec(argv[index] ?? "");
    if (match?.[1] === undefined) throw new ConfigError(`"${argv[index]}" is not a flag; flags begin with --`);
    const value = match[2] ?? argv[++index];
    if (value === undefined) throw new ConfigError(`--${match[1]} needs a value`);
    flags.set(match[1], value);
  }
  return flags;
};

const refuseUnknown = (
  installation: Installation,
  process: string,
  flags: ReadonlyMap<string, string>,
  env: Readonly<Record<string, string | undefined>>,
): void => {
  const tables = Object.entries(installation.processes);
  const knownFlags = [installation.shared, installation.processes[process] ?? {}].flatMap((table) =>
    Object.keys(table).map(kebabName),
  );
  for (const flag of flags.keys())
    if (!knownFlags.includes(flag)) throw new ConfigError(`${process} has no flag --${flag}; --help lists them`);
  const knownVariables = new Set([
    ...reservedVariables,
    ...Object.keys(installation.shared).map((name) => variableName(name)),
    ...tables.flatMap(([owner, table]) => Object.keys(table).map((name) => variableName(name, owner))),
  ]);
  for (const variable of Object.keys(env))
    if (variable.startsWith("QUARTET_") && !knownVariables.has(variable))
      throw new ConfigError(`${variable} is no setting of this installation`);
};

const readSlot = (
  slot: Slot,
  flags: ReadonlyMap<string, string>,
  env: Readonly<Record<string, string | undefined>>,
  file: ConfigFile,
): unknown => {
  const variable = variableName(slot.name, slot.process);
  const section = slot.process === undefined ? file : file[sectionName(slot.process)];
  const inFile = isObject(section) ? section[slot.name] : undefined;
  const [origin, given] =
    flags.get(kebabName(slot.name)) !== undefined
      ? [`--${kebabName(slot.name)}`, flags.get(kebabName(slot.name))]
      : env[variable] !== undefined
        ? [variable, env[variable]]
        : [slot.name, inFile === undefined ? undefined : textInFile(slot.setting, inFile, slot.name)];
  if (given === undefined) return slot.setting.fallback;
  try {
    return slot.setting.parse(given);
  } catch (error) {
    throw new ConfigError(`${origin}: ${(error as Error).message}`, { cause: error });
  }
};
