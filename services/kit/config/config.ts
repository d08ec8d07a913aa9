import { parseArgs } from "node:util";

import type * as z from "zod";

import { ConfigError } from "./config-error.ts";
import type { ConfigFile, ConfigFilePath, Installation } from "./config-file.ts";
import { configFilePath, readConfigFile, sectionName } from "./config-file.ts";
import { readFlags } from "./flags.ts";
import { readValue } from "./read-value.ts";
import type { SettingsOf, SettingsTable } from "./setting.ts";
import { formatValue, isSecret, valueOfText } from "./setting.ts";

export { ConfigError } from "./config-error.ts";
export type { Installation } from "./config-file.ts";
export type { Address, SettingsOf, SettingsTable } from "./setting.ts";
export type { EndpointSetting } from "./setting.ts";
export {
  address,
  choice,
  endpoints,
  endpointsNamed,
  objectsNamed,
  formatAddress,
  integer,
  list,
  networks,
  placesNamed,
  secret,
  text,
  texts,
} from "./setting.ts";

/** The sources of a process's settings, next to the file. */
export interface ConfigSources {
  /** Arguments after the script's name. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Directory that relative paths are resolved against. */
  readonly directory: string;
}

/** Variables that begin like settings and are not: set by the launcher for its processes, and by `npm run soak`. */
const reservedVariables = ["QUARTET_LOG_PRETTY", "QUARTET_ROUNDS"];

/** `data-dir` from `dataDir`: the flag of a setting, without its dashes. */
export const flagName = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const upperName = (name: string): string => flagName(name).replaceAll("-", "_").toUpperCase();

/** The environment variable of a setting: QUARTET_DATA_DIR, QUARTET_OBJECT_STORAGE_LISTEN. */
export const variableName = (name: string, process?: string): string =>
  process === undefined ? `QUARTET_${upperName(name)}` : `QUARTET_${upperName(process)}_${upperName(name)}`;

/** One setting of the process that is read: its name, and the process if it is not a shared one. */
interface Slot {
  readonly name: string;
  readonly process: string | undefined;
  readonly setting: z.ZodType;
}

/**
 * Reads the settings of one process: flags over `QUARTET_*` variables over the file over defaults. The file is
 * `--config` or `quartet.json` where it exists; it is checked as a whole, also where a flag or variable wins. Throws
 * ConfigError for a name that no process of the installation has, for an invalid value and for a secret as a flag.
 */
export const loadConfig = <Shared extends SettingsTable, Own extends SettingsTable>(
  installation: Installation & { readonly shared: Shared },
  process: string,
  own: Own,
  sources: ConfigSources,
): SettingsOf<Shared> & SettingsOf<Own> => {
  const slots: Slot[] = [
    ...Object.entries(installation.shared).map(([name, setting]) => ({ name, process: undefined, setting })),
    ...Object.entries(own).map(([name, setting]) => ({ name, process, setting })),
  ];
  const refused = new Map(slots.filter(({ setting }) => isSecret(setting)).map(refusedFlag));
  const flags = readFlags(process, sources.argv, ["config", ...slots.map(({ name }) => flagName(name))], refused);
  refuseUnknownVariables(installation, sources.env);
  const file = readConfigFile(installation, configFilePath(flags.get("config"), sources.directory));
  const values = slots.map((slot) => [slot.name, readSlot(slot, flags, sources.env, file)] as const);
  return Object.fromEntries(values) as SettingsOf<Shared> & SettingsOf<Own>;
};

/** The flag of a secret, with the refusal that says how it is given instead. */
const refusedFlag = ({ name, process }: Slot): readonly [string, string] => {
  const place = process === undefined ? name : `${sectionName(process)}.${name}`;
  const ways = `set ${variableName(name, process)} or ${place} in the configuration file`;
  return [flagName(name), `--${flagName(name)} would show a secret to all who list processes; ${ways}`];
};

/** The configuration file of a process with these arguments. */
export const configFileOf = ({ argv, directory }: Pick<ConfigSources, "argv" | "directory">): ConfigFilePath => {
  const { values } = parseArgs({ args: [...argv], options: { config: { type: "string" } }, strict: false });
  return configFilePath(typeof values.config === "string" ? values.config : undefined, directory);
};

/** The effective settings as lines `name = value`, secrets hidden. */
export const printConfig = (tables: readonly SettingsTable[], values: Readonly<Record<string, unknown>>): string =>
  tables
    .flatMap((table) => Object.entries(table))
    .map(([name, setting]) => {
      const shown = formatValue(values[name]);
      return `${name} = ${isSecret(setting) && shown !== "" ? "[hidden]" : shown}`;
    })
    .join("\n");

/** A group of settings in a program's help. */
export interface DescribedSettings {
  readonly heading: string;
  /** The process whose own they are; unset: all share them. */
  readonly process?: string;
  readonly table: SettingsTable;
  /** The program takes them as flags. */
  readonly hasFlags: boolean;
}

/**
 * A group's heading, and two lines for each setting: its flag, or its name where it has none, its variable and its
 * default; its description.
 */
export const describeSettings = ({ heading, process, table, hasFlags }: DescribedSettings): string =>
  [
    `${heading}:`,
    ...Object.entries(table).map(([name, setting]) => {
      const fallback = formatValue(setting.parse(undefined));
      const plain = isSecret(setting) ? `${name}, no flag` : name;
      const shown = hasFlags && !isSecret(setting) ? `--${flagName(name)}` : plain;
      return `  ${shown}  (${variableName(name, process)}; default ${fallback || "none"})\n      ${setting.description}`;
    }),
  ].join("\n");

const refuseUnknownVariables = (
  { shared, processes }: Installation,
  env: Readonly<Record<string, string | undefined>>,
): void => {
  const known = new Set([
    ...reservedVariables,
    ...Object.keys(shared).map((name) => variableName(name)),
    ...Object.entries(processes).flatMap(([owner, table]) =>
      Object.keys(table).map((name) => variableName(name, owner)),
    ),
  ]);
  for (const variable of Object.keys(env))
    if (variable.startsWith("QUARTET_") && !known.has(variable))
      throw new ConfigError(`${variable} is not a setting of this installation`);
};

const readSlot = (
  { name, process, setting }: Slot,
  flags: ReadonlyMap<string, string>,
  env: Readonly<Record<string, string | undefined>>,
  file: ConfigFile,
): unknown => {
  const flag = flags.get(flagName(name));
  if (flag !== undefined) return readValue(setting, valueOfText(setting, flag), `--${flagName(name)}`);
  const variable = variableName(name, process);
  const inVariable = env[variable];
  if (inVariable !== undefined) return readValue(setting, valueOfText(setting, inVariable), variable);
  const section = process === undefined ? file : file[sectionName(process)];
  return readValue(setting, (section as ConfigFile | undefined)?.[name], name);
};
